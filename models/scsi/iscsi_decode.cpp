#include "models/scsi/iscsi_codec.hpp"
#include "models/scsi/iscsi_pdu.hpp"
#include <algorithm>

namespace storlab {

using namespace iscsi_wire;

namespace {
void set_command(Message& m, uint32_t task) {
    m.tag = task & 0xffff;
    m.generation = task >> 16;
}
} // namespace

Decoded IscsiCodec::decode(Message& m) {
    if (!fault_.empty()) return Decoded::malformed;
    if (inbox_.size() < header) return Decoded::incomplete;
    const std::byte* const pdu = inbox_.data();
    const auto data = static_cast<uint32_t>(get_big<3>(pdu + 5));
    const uint32_t bytes = header + padded(data);
    if (get_byte(pdu + 4) != 0) {
        bad("an additional header that was not agreed on");
        return Decoded::malformed;
    }
    if (inbox_.size() < bytes) return Decoded::incomplete;
    m.kind = 0;
    m.op = Op::read;
    m.status = IoStatus::ok;
    m.last = false;
    m.unit = 0;
    m.tag = m.generation = 0;
    m.lba = {};
    m.offset = m.blocks = 0;
    m.wire_bytes = bytes;
    m.payload.clear();
    m.span = nullptr;
    if (!decode_pdu(pdu, data, m)) return Decoded::malformed;
    inbox_.take(bytes);
    return Decoded::message;
}

bool IscsiCodec::decode_pdu(const std::byte* pdu, uint32_t data, Message& m) {
    const uint8_t opcode = get_byte(pdu) & 0x3f;
    const auto task = static_cast<uint32_t>(get_big<4>(pdu + 16));
    switch (opcode) {
    case scsi_command:
        peer_sn_ = static_cast<uint32_t>(get_big<4>(pdu + 24));
        return decode_command(pdu, data, m);
    case login_request: return decode_login(pdu, data, m);
    case task_request: {
        const auto which = static_cast<uint32_t>(get_big<4>(pdu + 20));
        if ((get_byte(pdu + 1) & 0x7f) != abort_task || is_other(which) || data ||
            task != other_tag(abort_code) || !get_lun(pdu + 8, m.unit))
            return bad("a task management function that is not known");
        m.kind = static_cast<uint8_t>(Kind::abort);
        set_command(m, which);
        return true;
    }
    case nop_out:
        m.kind = static_cast<uint8_t>(Kind::ping);
        return (task == other_tag(ping_code) && data == 0) ||
               bad("a NOP-Out that asks for no answer");
    case data_to_target: return decode_data(pdu, data, m);
    default: return decode_answer(pdu, data, m);
    }
}

bool IscsiCodec::decode_command(const std::byte* pdu, uint32_t data, Message& m) {
    const auto task = static_cast<uint32_t>(get_big<4>(pdu + 16));
    if (is_other(task)) return decode_other_command(pdu, data, m);
    const uint8_t flags = get_byte(pdu + 1), cdb = get_byte(pdu + 32);
    const uint64_t blocks = get_big<4>(pdu + 42), length = get_big<4>(pdu + 20);
    m.kind = static_cast<uint8_t>(Kind::command);
    set_command(m, task);
    if (!get_lun(pdu + 8, m.unit)) return bad("a logical unit number that is not known");
    if (cdb != cdb_read && cdb != cdb_write && cdb != cdb_sync_cache)
        return bad("a command that is neither read, write nor flush");
    m.op = cdb == cdb_read ? Op::read : cdb == cdb_write ? Op::write : Op::flush;
    const uint8_t direction = m.op == Op::read ? read_bit : m.op == Op::write ? write_bit : 0;
    if ((flags & (read_bit | write_bit)) != direction) return bad("a direction of no such command");
    if (data && m.op != Op::write) return bad("data in a command that has none");
    readies(m.tag) = 0;
    if (m.op == Op::flush) return true;
    if (length != blocks * block_ || data % block_ || data > length)
        return bad("a length other than the command's");
    m.lba = {get_big<8>(pdu + 34)};
    m.blocks = static_cast<uint32_t>(blocks);
    m.offset = data / block_;
    m.last = m.op == Op::write && m.offset == m.blocks;
    m.payload.assign(pdu + header, pdu + header + data);
    return true;
}

bool IscsiCodec::decode_other_command(const std::byte* pdu, uint32_t data, Message& m) {
    const auto task = static_cast<uint32_t>(get_big<4>(pdu + 16));
    const uint8_t cdb = get_byte(pdu + 32);
    if (data) return bad("data in a command that has none");
    if (task == other_tag(query_code)) {
        m.kind = static_cast<uint8_t>(Kind::access_query);
        return (cdb == cdb_maintenance_in && get_byte(pdu + 33) == report_groups) ||
               bad("a command other than its tag says");
    }
    m.kind = static_cast<uint8_t>(Kind::hello);
    m.offset = task >> 16;
    return (task == other_tag(hello_code, 2) && cdb == cdb_inquiry) ||
           (task == other_tag(hello_code, 3) && cdb == cdb_read_capacity) ||
           bad("a command other than its tag says");
}

bool IscsiCodec::decode_login(const std::byte* pdu, uint32_t data, Message& m) {
    const bool asks = (get_byte(pdu) & 0x3f) == login_request;
    const uint8_t flags = get_byte(pdu + 1);
    m.kind = static_cast<uint8_t>(asks ? Kind::hello : Kind::welcome);
    m.offset = flags == (final_bit | 0x01) ? 0 : 1;
    if (m.offset == 1 && flags != (final_bit | 0x07))
        return bad("a stage of login that is not known");
    if (get_big<4>(pdu + 16) != other_tag(hello_code, m.offset)) return bad("a login's task tag");
    if (!asks) {
        peer_sn_ = static_cast<uint32_t>(get_big<4>(pdu + 24));
        m.status = get_byte(pdu + 36) ? IoStatus::failed : IoStatus::ok;
        return true;
    }
    peer_sn_ = static_cast<uint32_t>(get_big<4>(pdu + 24)) - 1; // it is immediate
    m.lba = {get_big<6>(pdu + 8)};
    const std::string_view text(reinterpret_cast<const char*>(pdu + header), data);
    const size_t key = text.find(depth_key);
    if (key == text.npos) return true;
    const std::string_view digits = text.substr(key + depth_key.size(), 4);
    if (digits.size() != 4 ||
        !std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return bad("a depth that is no number");
    for (const char c : digits) m.blocks = m.blocks * 10 + static_cast<uint32_t>(c - '0');
    return true;
}

// What a target sends.
bool IscsiCodec::decode_answer(const std::byte* pdu, uint32_t data, Message& m) {
    const uint8_t opcode = get_byte(pdu) & 0x3f;
    const auto task = static_cast<uint32_t>(get_big<4>(pdu + 16));
    const bool with_status =
        opcode == data_to_initiator ? get_byte(pdu + 1) & status_bit : opcode != r2t;
    if (with_status) peer_sn_ = static_cast<uint32_t>(get_big<4>(pdu + 24));
    switch (opcode) {
    case login_response: return decode_login(pdu, data, m);
    case scsi_response: return decode_response(pdu, data, m);
    case data_to_initiator: return decode_data(pdu, data, m);
    case task_response:
        m.kind = static_cast<uint8_t>(Kind::abort_answer);
        return (task == other_tag(abort_code) && data == 0) || bad("an answer to no abort");
    case nop_in:
        m.kind = static_cast<uint8_t>(Kind::pong);
        return (task == other_tag(ping_code) && data == 0) || bad("an answer to no NOP-Out");
    case async_message:
        m.kind = static_cast<uint8_t>(Kind::access_changed);
        return get_byte(pdu + 36) == 0 || bad("an asynchronous event that is not known");
    case r2t: {
        const uint64_t offset = get_big<4>(pdu + 40), length = get_big<4>(pdu + 44);
        if (is_other(task) || data || length == 0 || length % block_ || offset % block_ ||
            !get_lun(pdu + 8, m.unit))
            return bad("an R2T for no data of a command");
        m.kind = static_cast<uint8_t>(Kind::ready);
        m.op = Op::write;
        set_command(m, task);
        m.offset = static_cast<uint32_t>(offset / block_);
        m.blocks = static_cast<uint32_t>(length / block_);
        readies(m.tag)++;
        return true;
    }
    default: return bad("an opcode that is not known");
    }
}

bool IscsiCodec::decode_response(const std::byte* pdu, uint32_t data, Message& m) {
    const auto task = static_cast<uint32_t>(get_big<4>(pdu + 16));
    const uint8_t status = get_byte(pdu + 3);
    if (is_other(task)) return bad("a response to no command");
    m.kind = static_cast<uint8_t>(Kind::response);
    set_command(m, task);
    if (get_byte(pdu + 2) != 0) set_outcome(m, Outcome::path_error); // not completed at the target
    else if (status == 0) set_outcome(m, Outcome::done);
    else if (status == busy || status == task_set_full) set_outcome(m, Outcome::path_error);
    else if (status != check_condition || data < sense) set_outcome(m, Outcome::medium_error);
    else {
        const std::byte* const s = pdu + header + 2;
        set_outcome(m, outcome_from({static_cast<uint8_t>(get_byte(s + 2) & 0xf), get_byte(s + 12),
                                     get_byte(s + 13)}));
    }
    return true;
}

bool IscsiCodec::decode_data(const std::byte* pdu, uint32_t data, Message& m) {
    const auto task = static_cast<uint32_t>(get_big<4>(pdu + 16));
    const bool in = (get_byte(pdu) & 0x3f) == data_to_initiator;
    const uint8_t flags = get_byte(pdu + 1);
    const uint64_t offset = get_big<4>(pdu + 40);
    const std::byte* const bytes = pdu + header;
    const bool status = in && flags & status_bit;
    if (status && get_byte(pdu + 3) != 0) return bad("data with a status that is not good");
    if (is_other(task)) {
        if (!status || offset) return bad("data for no command");
        if (task == other_tag(query_code)) return decode_report(bytes, data, m);
        m.kind = static_cast<uint8_t>(Kind::welcome);
        m.offset = task >> 16;
        return (task == other_tag(hello_code, 2) && data == inquiry_data) ||
               (task == other_tag(hello_code, 3) && data == capacity_data) ||
               bad("data for no command");
    }
    if (data == 0 || data % block_ || offset % block_) return bad("data that is not whole blocks");
    m.kind = static_cast<uint8_t>(in ? Kind::data_in : Kind::data_out);
    m.op = in ? Op::read : Op::write;
    if (!in && !get_lun(pdu + 8, m.unit)) return bad("a logical unit number that is not known");
    set_command(m, task);
    m.last = in ? status : (flags & final_bit) != 0;
    m.offset = static_cast<uint32_t>(offset / block_);
    m.blocks = data / block_;
    m.payload.assign(bytes, bytes + data);
    return true;
}

bool IscsiCodec::decode_report(const std::byte* groups, uint32_t bytes, Message& m) {
    m.kind = static_cast<uint8_t>(Kind::access_report);
    if (bytes < groups_header || get_big<4>(groups) != bytes - groups_header ||
        (bytes - groups_header) % group)
        return bad("a report of port groups of another length");
    for (uint32_t at = groups_header; at < bytes; at += group) {
        if (get_byte(groups + at + 7) != 1) return bad("a group that is not of one port");
        append(m.payload, {static_cast<uint16_t>(get_big<2>(groups + at + 2)),
                           access_from(get_byte(groups + at) & 0xf)});
    }
    return true;
}

} // namespace storlab
