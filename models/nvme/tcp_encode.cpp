#include "models/nvme/tcp_codec.hpp"
#include "models/nvme/tcp_wire.hpp"

namespace storlab {

using namespace nvme_wire;

NvmeTcpCodec::NvmeTcpCodec(const Profile& profile, uint32_t block) : p_(profile), block_(block) {
    STORLAB_ENSURE(block >= 512);
}

// A PDU of a type with so much data behind its header. What is not set is zero.
std::byte* NvmeTcpCodec::begin(std::vector<std::byte>& out, uint8_t type, size_t data,
                               uint8_t flags) {
    const uint32_t header = header_bytes(type);
    std::byte* const at = extend(out, header + data);
    put_byte(at, type);
    put_byte(at + 1, flags);
    put_byte(at + 2, header);
    put_byte(at + 3, data ? header : 0);
    put_little<4>(at + 4, header + data);
    return at;
}

// Returns the submission queue entry; data begins 64 bytes later.
std::byte* NvmeTcpCodec::begin_command(std::vector<std::byte>& out, uint16_t id, uint8_t opcode,
                                       size_t data) {
    std::byte* const sqe = begin(out, capsule_cmd, data) + common_header;
    put_byte(sqe, opcode);
    put_byte(sqe + 1, sgl_used);
    put_little<2>(sqe + 2, id);
    if (data) {
        put_little<4>(sqe + 32, data);
        put_byte(sqe + 39, sgl_in_capsule);
    }
    return sqe;
}
std::byte* NvmeTcpCodec::begin_answer(std::vector<std::byte>& out, uint16_t id, uint16_t status) {
    std::byte* const cqe = begin(out, capsule_resp) + common_header;
    put_little<2>(cqe + 12, id);
    put_little<2>(cqe + 14, static_cast<uint64_t>(status) << 1); // bit 0 is the phase
    return cqe;
}
// Returns where the data goes.
std::byte* NvmeTcpCodec::begin_data(std::vector<std::byte>& out, uint8_t type, uint16_t id,
                                    uint64_t offset, size_t bytes, uint8_t flags) {
    std::byte* const at = begin(out, type, bytes, flags);
    put_little<2>(at + 8, id);
    if (type == h2c_data) put_little<2>(at + 10, id); // the transfer tag that the R2T gave
    put_little<4>(at + 12, offset);
    put_little<4>(at + 16, bytes);
    return at + header_bytes(type);
}

void NvmeTcpCodec::encode(const Message& m, std::vector<std::byte>& out) {
    const uint16_t id = command_id(m.tag, m.generation);
    const uint64_t offset = uint64_t{m.offset} * block_, bytes = uint64_t{m.blocks} * block_;
    switch (kind_of(m)) {
    case Kind::command: return encode_command(m, out);
    case Kind::ready: {
        std::byte* const at = begin(out, r2t);
        put_little<2>(at + 8, id);
        put_little<2>(at + 10, id);
        put_little<4>(at + 12, offset);
        put_little<4>(at + 16, bytes);
        return;
    }
    case Kind::data_out:
    case Kind::data_in: {
        STORLAB_ENSURE(m.payload.size() == bytes && bytes > 0);
        const bool in = kind_of(m) == Kind::data_in;
        const uint8_t flags = !m.last ? 0 : in && p_.status_in_data ? last_pdu | success : last_pdu;
        std::byte* const to = begin_data(out, in ? c2h_data : h2c_data, id, offset, bytes, flags);
        std::memcpy(to, m.payload.data(), bytes);
        return;
    }
    case Kind::response: begin_answer(out, id, status_field(outcome(m))); return;
    case Kind::abort: {
        std::byte* const sqe = begin_command(out, admin_id(abort_code), op_abort);
        put_little<2>(sqe + 40, 1); // submission queue
        put_little<2>(sqe + 42, id);
        return;
    }
    case Kind::abort_answer: begin_answer(out, admin_id(abort_code)); return;
    case Kind::ping: begin_command(out, admin_id(ping_code), op_keep_alive); return;
    case Kind::pong: begin_answer(out, admin_id(ping_code)); return;
    case Kind::hello: return encode_hello(m, out);
    case Kind::welcome: return encode_welcome(m, out);
    case Kind::access_changed:
        put_little<4>(begin_answer(out, admin_id(notice_code)), ana_changed);
        return;
    case Kind::access_query: {
        std::byte* const sqe = begin_command(out, admin_id(query_code), op_get_log_page);
        put_little<4>(sqe + 4, ~0u); // all namespaces
        put_byte(sqe + 40, ana_log);
        put_little<2>(sqe + 42, 0xffff); // dwords, as many as there are
        return;
    }
    case Kind::access_report: return encode_report(m, out);
    }
    STORLAB_ENSURE(!"a kind of message that NVMe/TCP has");
}

void NvmeTcpCodec::encode_command(const Message& m, std::vector<std::byte>& out) {
    const uint32_t inside = m.offset * block_;
    STORLAB_ENSURE(m.payload.size() == inside && m.tag < first_admin_tag);
    const uint8_t opcode = m.op == Op::read ? op_read : m.op == Op::write ? op_write : op_flush;
    std::byte* const sqe =
        begin_command(out, command_id(m.tag, m.generation), opcode, m.payload.size());
    put_little<4>(sqe + 4, m.unit + 1u); // namespaces count from 1
    if (m.op == Op::flush) return;
    STORLAB_ENSURE(m.blocks > 0 && m.blocks <= 0x10000);
    if (!inside) {
        put_little<4>(sqe + 32, uint64_t{m.blocks} * block_);
        put_byte(sqe + 39, sgl_transport);
    } else {
        std::memcpy(sqe + sqe_bytes, m.payload.data(), m.payload.size());
    }
    put_little<8>(sqe + 40, m.lba.block);
    put_little<2>(sqe + 48, m.blocks - 1);
}

void NvmeTcpCodec::encode_hello(const Message& m, std::vector<std::byte>& out) {
    const uint16_t id = admin_id(hello_code, m.offset);
    switch (m.offset) {
    case 0: begin(out, ic_req); return; // version 0, no alignment, no digests, one R2T at a time
    case 1: {
        std::byte* const sqe = begin_command(out, id, op_fabrics, connect_bytes);
        put_byte(sqe + 4, type_connect);
        put_little<2>(sqe + 44, m.blocks - 1);       // SQSIZE
        put_little<4>(sqe + 48, 5000);               // KATO, ms
        put_little<8>(sqe + sqe_bytes, m.lba.block); // host identifier
        put_little<2>(sqe + sqe_bytes + 16, 0xffff); // any controller
        constexpr std::string_view subsystem = "nqn.2026-11.org.storlab:target",
                                   host = "nqn.2026-11.org.storlab:host";
        std::memcpy(sqe + sqe_bytes + 256, subsystem.data(), subsystem.size());
        std::memcpy(sqe + sqe_bytes + 512, host.data(), host.size());
        return;
    }
    case 2:
    case 3:
    case 4: {
        std::byte* const sqe = begin_command(out, id, op_fabrics);
        put_byte(sqe + 4, m.offset == 3 ? type_property_set : type_property_get);
        put_byte(sqe + 40, m.offset == 2); // eight bytes; otherwise four
        put_little<4>(sqe + 44, property(m.offset));
        if (m.offset == 3) put_little<8>(sqe + 48, enable);
        return;
    }
    default: {
        std::byte* const sqe = begin_command(out, id, op_identify);
        put_byte(sqe + 40, 1); // the controller
        put_little<4>(sqe + 32, identify_bytes);
        put_byte(sqe + 39, sgl_transport);
    }
    }
}

void NvmeTcpCodec::encode_welcome(const Message& m, std::vector<std::byte>& out) {
    const uint16_t id = admin_id(hello_code, m.offset);
    const uint16_t status = m.status == IoStatus::ok ? 0 : 0x181; // Connect: controller busy
    if (m.offset == 0) put_little<4>(begin(out, ic_resp) + 12, p_.data_out_unit); // MAXH2CDATA
    else if (m.offset < 5) begin_answer(out, id, status);
    else begin_data(out, c2h_data, id, 0, identify_bytes, last_pdu | success);
}

void NvmeTcpCodec::encode_report(const Message& m, std::vector<std::byte>& out) {
    const size_t groups = m.payload.size() / AccessEntry::bytes;
    std::byte* at = begin_data(out, c2h_data, admin_id(query_code), 0,
                               log_header + groups * log_group, last_pdu | success);
    put_little<2>(at + 8, groups);
    at += log_header;
    for (size_t i = 0; i < groups; i++, at += log_group) {
        const AccessEntry e = access_entry(m.payload.data() + i * AccessEntry::bytes);
        put_little<4>(at, e.unit + 1u); // a group for each namespace
        put_little<4>(at + 4, 1);
        put_byte(at + 16, state_field(e.access));
        put_little<4>(at + 32, e.unit + 1u);
    }
}

} // namespace storlab
