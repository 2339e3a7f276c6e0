#include "models/nvme/tcp_codec.hpp"
#include "models/nvme/tcp_wire.hpp"

namespace storlab {

using namespace nvme_wire;

namespace {
constexpr uint32_t most_bytes = 64u << 20; // of one PDU, so that nobody makes us wait for more
void set_command(Message& m, uint16_t id) {
    m.tag = id & 0xfffu;
    m.generation = id >> 12;
}
} // namespace

Decoded NvmeTcpCodec::decode(Message& m) {
    if (!fault_.empty()) return Decoded::malformed;
    if (inbox_.size() < common_header) return Decoded::incomplete;
    const std::byte* const pdu = inbox_.data();
    const uint8_t type = get_byte(pdu);
    const auto bytes = static_cast<uint32_t>(get_little<4>(pdu + 4));
    const uint32_t header = header_bytes(type);
    if (header == 0) bad("a PDU type that is none, or the end of the connection");
    else if (get_byte(pdu + 2) != header || bytes < header || bytes > most_bytes) bad("lengths");
    else if (get_byte(pdu + 1) & digests) bad("a digest that was not agreed on");
    else if (get_byte(pdu + 3) != (bytes > header ? header : 0)) bad("where data begins");
    if (!fault_.empty()) return Decoded::malformed;
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
    if (!decode_pdu(pdu, bytes, m)) return Decoded::malformed;
    inbox_.take(bytes);
    return Decoded::message;
}

bool NvmeTcpCodec::decode_pdu(const std::byte* pdu, uint32_t bytes, Message& m) {
    const uint8_t type = get_byte(pdu);
    switch (type) {
    case ic_req:
    case ic_resp:
        if (bytes != header_bytes(type)) return bad("data in a PDU that has none");
        if (get_little<2>(pdu + 8) != 0 || get_byte(pdu + 11) != 0)
            return bad("a version or digests that we do not have");
        m.kind = static_cast<uint8_t>(type == ic_req ? Kind::hello : Kind::welcome);
        return true;
    case capsule_cmd: return decode_command(pdu, bytes, m);
    case capsule_resp:
        if (bytes != header_bytes(type)) return bad("data in a PDU that has none");
        return decode_answer(pdu + common_header, m);
    case r2t: {
        const auto id = static_cast<uint16_t>(get_little<2>(pdu + 8));
        const uint64_t offset = get_little<4>(pdu + 12), length = get_little<4>(pdu + 16);
        if (bytes != header_bytes(type)) return bad("data in a PDU that has none");
        if (is_admin(id) || length == 0 || length % block_ || offset % block_)
            return bad("an R2T for no data of a command");
        m.kind = static_cast<uint8_t>(Kind::ready);
        m.op = Op::write;
        set_command(m, id);
        m.offset = static_cast<uint32_t>(offset / block_);
        m.blocks = static_cast<uint32_t>(length / block_);
        return true;
    }
    default: return decode_data(pdu, bytes, m);
    }
}

bool NvmeTcpCodec::decode_command(const std::byte* pdu, uint32_t bytes, Message& m) {
    const std::byte* const sqe = pdu + common_header;
    const std::byte* const data = sqe + sqe_bytes;
    const uint32_t data_bytes = bytes - header_bytes(capsule_cmd);
    if (get_byte(sqe + 1) != sgl_used) return bad("a command without SGL");
    const auto id = static_cast<uint16_t>(get_little<2>(sqe + 2));
    if (data_bytes && (get_byte(sqe + 39) != sgl_in_capsule || get_little<8>(sqe + 24) != 0 ||
                       get_little<4>(sqe + 32) != data_bytes))
        return bad("a descriptor that is not of the data inside");
    if (is_admin(id)) return decode_admin(sqe, data, data_bytes, m);
    set_command(m, id);
    return decode_io(sqe, data, data_bytes, m);
}

bool NvmeTcpCodec::decode_io(const std::byte* sqe, const std::byte* data, uint32_t data_bytes,
                             Message& m) {
    const uint8_t opcode = get_byte(sqe);
    const uint64_t nsid = get_little<4>(sqe + 4);
    if (opcode > op_read) return bad("a command that is neither read, write nor flush");
    if (nsid == 0 || nsid > 0x10000) return bad("a namespace that cannot be");
    if (data_bytes && opcode != op_write) return bad("data in a command that has none");
    m.kind = static_cast<uint8_t>(Kind::command);
    m.op = opcode == op_read ? Op::read : opcode == op_write ? Op::write : Op::flush;
    m.unit = static_cast<uint16_t>(nsid - 1);
    if (m.op == Op::flush) return true;
    m.lba = {get_little<8>(sqe + 40)};
    m.blocks = static_cast<uint32_t>(get_little<2>(sqe + 48)) + 1;
    if (get_little<4>(sqe + 32) != uint64_t{m.blocks} * block_)
        return bad("a descriptor of another length than the command's");
    if (!data_bytes && get_byte(sqe + 39) != sgl_transport) return bad("an unknown descriptor");
    m.offset = data_bytes / block_;
    m.last = data_bytes > 0;
    m.payload.assign(data, data + data_bytes);
    return true;
}

bool NvmeTcpCodec::decode_admin(const std::byte* sqe, const std::byte* data, uint32_t data_bytes,
                                Message& m) {
    const uint8_t opcode = get_byte(sqe), type = get_byte(sqe + 4);
    const auto id = static_cast<uint16_t>(get_little<2>(sqe + 2));
    const uint32_t code = (id & 0xfffu) - first_admin_tag, step = id >> 12;
    const bool connect = code == hello_code && step == 1;
    if (data_bytes != (connect ? connect_bytes : 0)) return bad("data of an admin command");
    const auto is = [&](Kind kind, bool right) {
        m.kind = static_cast<uint8_t>(kind);
        return right || bad("an admin command that is not what its identifier says");
    };
    switch (code) {
    case abort_code: {
        const auto which = static_cast<uint16_t>(get_little<2>(sqe + 42));
        set_command(m, which);
        return is(Kind::abort, opcode == op_abort && !is_admin(which));
    }
    case ping_code: return is(Kind::ping, opcode == op_keep_alive);
    case query_code:
        return is(Kind::access_query, opcode == op_get_log_page && get_byte(sqe + 40) == ana_log);
    case hello_code: break;
    default: return bad("an admin command that is not known");
    }
    m.offset = step;
    if (connect) {
        m.blocks = static_cast<uint32_t>(get_little<2>(sqe + 44)) + 1;
        m.lba = {get_little<8>(data)};
        return is(Kind::hello, opcode == op_fabrics && type == type_connect);
    }
    if (step == 5) return is(Kind::hello, opcode == op_identify && get_byte(sqe + 40) == 1);
    const uint8_t expected = step == 3 ? type_property_set : type_property_get;
    return is(Kind::hello, step >= 2 && step <= 4 && opcode == op_fabrics && type == expected &&
                               get_little<4>(sqe + 44) == property(step));
}

bool NvmeTcpCodec::decode_answer(const std::byte* cqe, Message& m) {
    const auto id = static_cast<uint16_t>(get_little<2>(cqe + 12));
    const auto status = static_cast<uint16_t>(get_little<2>(cqe + 14) >> 1 & 0x7ff);
    if (!is_admin(id)) {
        m.kind = static_cast<uint8_t>(Kind::response);
        set_command(m, id);
        set_outcome(m, outcome_from(status));
        return true;
    }
    const uint32_t code = (id & 0xfffu) - first_admin_tag, step = id >> 12;
    switch (code) {
    case abort_code: m.kind = static_cast<uint8_t>(Kind::abort_answer); return true;
    case ping_code: m.kind = static_cast<uint8_t>(Kind::pong); return true;
    case notice_code:
        m.kind = static_cast<uint8_t>(Kind::access_changed);
        return get_little<4>(cqe) == ana_changed || bad("an event that is not known");
    case hello_code:
        m.kind = static_cast<uint8_t>(Kind::welcome);
        m.offset = step;
        m.status = status ? IoStatus::failed : IoStatus::ok;
        return (step >= 1 && step <= 4) || bad("an answer to no step of a login");
    default: return bad("an answer to nothing that was asked");
    }
}

bool NvmeTcpCodec::decode_data(const std::byte* pdu, uint32_t bytes, Message& m) {
    const bool in = get_byte(pdu) == c2h_data;
    const uint8_t flags = get_byte(pdu + 1);
    const auto id = static_cast<uint16_t>(get_little<2>(pdu + 8));
    const uint64_t offset = get_little<4>(pdu + 12), length = get_little<4>(pdu + 16);
    const std::byte* const data = pdu + header_bytes(c2h_data);
    if (length != bytes - header_bytes(c2h_data) || length == 0) return bad("length of data");
    const bool ends = flags & last_pdu, succeeds = flags & success;
    if (is_admin(id)) {
        const uint32_t code = (id & 0xfffu) - first_admin_tag;
        if (!in || !ends || !succeeds || offset) return bad("data for an admin command");
        if (code == query_code) return decode_report(data, static_cast<uint32_t>(length), m);
        m.kind = static_cast<uint8_t>(Kind::welcome);
        m.offset = 5;
        return (id == admin_id(hello_code, 5) && length == identify_bytes) ||
               bad("data for an admin command");
    }
    if (length % block_ || offset % block_) return bad("data that is not whole blocks");
    if (succeeds != (in && ends && p_.status_in_data)) return bad("a SUCCESS flag out of place");
    m.kind = static_cast<uint8_t>(in ? Kind::data_in : Kind::data_out);
    m.op = in ? Op::read : Op::write;
    m.last = ends;
    set_command(m, id);
    m.offset = static_cast<uint32_t>(offset / block_);
    m.blocks = static_cast<uint32_t>(length / block_);
    m.payload.assign(data, data + length);
    return true;
}

bool NvmeTcpCodec::decode_report(const std::byte* log, uint32_t bytes, Message& m) {
    m.kind = static_cast<uint8_t>(Kind::access_report);
    if (bytes < log_header) return bad("a log page too short");
    const uint64_t groups = get_little<2>(log + 8);
    if (bytes != log_header + groups * log_group) return bad("a log page of another length");
    const std::byte* at = log + log_header;
    for (uint64_t i = 0; i < groups; i++, at += log_group) {
        const uint64_t nsid = get_little<4>(at + 32);
        if (get_little<4>(at + 4) != 1 || nsid == 0 || nsid > 0x10000)
            return bad("a group that is not of one namespace");
        append(m.payload, {static_cast<uint16_t>(nsid - 1), access_from(get_byte(at + 16) & 0xf)});
    }
    return true;
}

} // namespace storlab
