#include "models/scsi/iscsi_codec.hpp"
#include "models/scsi/iscsi_pdu.hpp"

namespace storlab {

using namespace iscsi_wire;

IscsiCodec::IscsiCodec(const Profile& profile, uint32_t block) : p_(profile), block_(block) {
    STORLAB_ENSURE(block >= 512 && block % 4 == 0);
}

uint32_t& IscsiCodec::readies(uint32_t tag) {
    if (readies_.size() <= tag) readies_.resize(tag + size_t{1});
    return readies_[tag];
}

// A PDU with so much data behind its header, padded. What is not set is zero.
std::byte* IscsiCodec::begin(std::vector<std::byte>& out, const Header& h) {
    std::byte* const at = extend(out, header + padded(static_cast<uint32_t>(h.data)));
    put_byte(at, h.opcode);
    put_byte(at + 1, h.flags);
    put_big<3>(at + 5, h.data);
    put_big<4>(at + 16, h.task);
    const bool from_target = (h.opcode & 0x3f) >= nop_in;
    if (from_target) {
        put_big<4>(at + 24, h.counted ? status_sn_++ : status_sn_);
        put_big<4>(at + 28, peer_sn_ + 1); // ExpCmdSN
        put_big<4>(at + 32, peer_sn_ + 1 + 0xfff);
    } else {
        if ((h.opcode & 0x3f) != data_to_target) // a data PDU has no CmdSN
            put_big<4>(at + 24, h.counted ? command_sn_++ : command_sn_);
        put_big<4>(at + 28, peer_sn_ + 1); // ExpStatSN
    }
    return at;
}

std::byte* IscsiCodec::begin_scsi(std::vector<std::byte>& out, const Header& h, uint16_t unit,
                                  uint32_t length) {
    std::byte* const at = begin(out, h);
    put_lun(at + 8, unit);
    put_big<4>(at + 20, length); // expected data transfer length
    return at;
}

void IscsiCodec::encode(const Message& m, std::vector<std::byte>& out) {
    const uint32_t task = task_tag(m.tag, m.generation);
    switch (kind_of(m)) {
    case Kind::command: return encode_command(m, out);
    case Kind::ready: {
        std::byte* const at = begin(out, {r2t, final_bit, task});
        put_lun(at + 8, m.unit);
        put_big<4>(at + 20, task); // target transfer tag
        put_big<4>(at + 36, readies(m.tag)++);
        put_big<4>(at + 40, uint64_t{m.offset} * block_);
        put_big<4>(at + 44, uint64_t{m.blocks} * block_);
        return;
    }
    case Kind::data_out:
    case Kind::data_in: return encode_data(m, out);
    case Kind::response: return encode_response(m, out);
    case Kind::hello: return encode_hello(m, out);
    case Kind::welcome: return encode_welcome(m, out);
    case Kind::access_report: return encode_report(m, out);
    default: return encode_control(m, out);
    }
}

void IscsiCodec::encode_control(const Message& m, std::vector<std::byte>& out) {
    const uint32_t task = task_tag(m.tag, m.generation);
    switch (kind_of(m)) {
    case Kind::abort: {
        std::byte* const at =
            begin(out, {task_request | immediate, final_bit | abort_task, other_tag(abort_code)});
        put_lun(at + 8, m.unit);
        put_big<4>(at + 20, task);
        put_big<4>(at + 32, command_sn_ - 1); // RefCmdSN: not after it
        return;
    }
    case Kind::abort_answer:
        begin(out, {task_response, final_bit, other_tag(abort_code), 0, true});
        return;
    case Kind::ping:
        put_big<4>(begin(out, {nop_out | immediate, final_bit, other_tag(ping_code)}) + 20, none);
        return;
    case Kind::pong:
        put_big<4>(begin(out, {nop_in, final_bit, other_tag(ping_code), 0, true}) + 20, none);
        return;
    case Kind::access_changed: { // event 0: sense data follows
        std::byte* const at = begin(out, {async_message, final_bit, none, sense, true});
        put_sense(at + header, Outcome::attention);
        return;
    }
    case Kind::access_query: {
        std::byte* const at = begin_scsi(
            out, {scsi_command, final_bit | read_bit | simple_task, other_tag(query_code), 0, true},
            0, 0xffff);
        put_byte(at + 32, cdb_maintenance_in);
        put_byte(at + 33, report_groups);
        put_big<4>(at + 38, 0xffff);
        return;
    }
    default: STORLAB_ENSURE(!"a kind of message that iSCSI has");
    }
}

void IscsiCodec::encode_command(const Message& m, std::vector<std::byte>& out) {
    const bool flush = m.op == Op::flush, write = m.op == Op::write;
    STORLAB_ENSURE(m.tag < first_other_tag && m.payload.size() == size_t{m.offset} * block_);
    const WritePlan plan = write ? plan_write(p_, m.blocks, block_) : WritePlan{};
    uint8_t flags = simple_task;
    if (plan.unasked == plan.in_command) flags |= final_bit; // no data follows unasked
    if (!flush) flags |= write ? write_bit : read_bit;
    const uint32_t blocks = flush ? 0 : m.blocks;
    std::byte* const at = begin_scsi(
        out, {scsi_command, flags, task_tag(m.tag, m.generation), m.payload.size(), true}, m.unit,
        blocks * block_);
    put_byte(at + 32, flush ? cdb_sync_cache : write ? cdb_write : cdb_read);
    put_big<8>(at + 34, flush ? 0 : m.lba.block);
    put_big<4>(at + 42, blocks);
    if (!m.payload.empty()) std::memcpy(at + header, m.payload.data(), m.payload.size());
    readies(m.tag) = 0;
}

void IscsiCodec::encode_data(const Message& m, std::vector<std::byte>& out) {
    const uint64_t end = (uint64_t{m.offset} + m.blocks) * block_;
    const bool in = kind_of(m) == Kind::data_in;
    STORLAB_ENSURE(m.blocks > 0 && m.payload.size() == size_t{m.blocks} * block_);
    const uint32_t task = task_tag(m.tag, m.generation);
    data_sn_ = task == data_tag_ ? data_sn_ + 1 : 0;
    data_tag_ = m.last ? none : task;
    uint8_t flags = m.last || (in && end % p_.burst == 0) ? final_bit : 0;
    if (in && m.last && p_.status_in_data) flags |= status_bit;
    const bool counted = flags & status_bit;
    std::byte* const at = begin(
        out, {in ? data_to_initiator : data_to_target, flags, task, m.payload.size(), counted});
    if (!in) put_lun(at + 8, m.unit);
    put_big<4>(at + 20, !in && readies(m.tag) ? task : none);
    if (in && !counted) put_big<4>(at + 24, 0); // StatSN is reserved without status
    put_big<4>(at + 36, data_sn_);
    put_big<4>(at + 40, uint64_t{m.offset} * block_);
    std::memcpy(at + header, m.payload.data(), m.payload.size());
}

void IscsiCodec::put_sense(std::byte* data, Outcome o) {
    const Sense s = sense_of(o);
    put_big<2>(data, sense - 2);
    put_byte(data + 2, 0x70); // current, fixed format
    put_byte(data + 4, s.key);
    put_byte(data + 9, sense - 2 - 8);
    put_byte(data + 14, s.code);
    put_byte(data + 15, s.qualifier);
}
void IscsiCodec::encode_response(const Message& m, std::vector<std::byte>& out) {
    const Outcome o = outcome(m);
    const bool good = o == Outcome::done;
    std::byte* const at = begin(out, {scsi_response, final_bit, task_tag(m.tag, m.generation),
                                      good ? 0 : size_t{sense}, true});
    if (good) return;
    put_byte(at + 3, check_condition);
    put_sense(at + header, o);
}

void IscsiCodec::encode_hello(const Message& m, std::vector<std::byte>& out) {
    const uint32_t task = other_tag(hello_code, m.offset);
    if (m.offset >= 2) {
        const bool inquiry = m.offset == 2;
        const uint32_t length = inquiry ? inquiry_data : capacity_data;
        std::byte* const at = begin_scsi(
            out, {scsi_command, final_bit | read_bit | simple_task, task, 0, true}, 0, length);
        put_byte(at + 32, inquiry ? cdb_inquiry : cdb_read_capacity);
        if (inquiry) put_big<2>(at + 35, length);
        else
            put_byte(at + 33, 0x10), put_big<4>(at + 42, length); // service action of READ CAPACITY
        return;
    }
    // Transit from security negotiation to operational, and from there to the full feature phase.
    const uint8_t stages = m.offset == 0 ? 0x01 : 0x07;
    const std::string_view text = login_text(m.offset).request;
    std::byte* const at = begin(out, {login_request | immediate,
                                      static_cast<uint8_t>(final_bit | stages), task, text.size()});
    put_big<6>(at + 8, m.lba.block & 0xffff'ffff'ffff); // ISID
    std::memcpy(at + header, text.data(), text.size());
    const size_t key = text.find(depth_key);
    if (key == text.npos) return;
    uint32_t rest = m.blocks;
    for (size_t digit = 4; digit-- > 0; rest /= 10)
        put_byte(at + header + key + depth_key.size() + digit, '0' + rest % 10);
}

void IscsiCodec::encode_welcome(const Message& m, std::vector<std::byte>& out) {
    const uint32_t task = other_tag(hello_code, m.offset);
    if (m.offset >= 2) {
        begin(out, {data_to_initiator, final_bit | status_bit, task,
                    m.offset == 2 ? inquiry_data : capacity_data, true});
        return;
    }
    const uint8_t stages = m.offset == 0 ? 0x01 : 0x07;
    const std::string_view text = login_text(m.offset).answer;
    std::byte* const at = begin(
        out, {login_response, static_cast<uint8_t>(final_bit | stages), task, text.size(), true});
    put_byte(at + 36, m.status == IoStatus::ok ? 0 : 3); // status class: target error
    put_byte(at + 15, 1);                                // TSIH
    std::memcpy(at + header, text.data(), text.size());
}

void IscsiCodec::encode_report(const Message& m, std::vector<std::byte>& out) {
    const size_t n = m.payload.size() / AccessEntry::bytes;
    std::byte* at = begin(out, {data_to_initiator, final_bit | status_bit, other_tag(query_code),
                                groups_header + n * group, true}) +
                    header;
    put_big<4>(at, n * group);
    at += groups_header;
    for (size_t i = 0; i < n; i++, at += group) {
        const AccessEntry e = access_entry(m.payload.data() + i * AccessEntry::bytes);
        put_byte(at, state_field(e.access));
        put_byte(at + 1, 0x8f);     // all five states are supported
        put_big<2>(at + 2, e.unit); // a group for each unit
        put_byte(at + 7, 1);        // of one port
        put_big<2>(at + 10, 1);
    }
}

} // namespace storlab
