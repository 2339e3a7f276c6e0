// Numbers of NVMe/TCP, for its codec. Types and flags: TCP Transport Specification 1.0, section
// 3.6; opcodes, status codes, properties and the ANA log: NVM Express Base 2.0.
#pragma once
#include "models/exchange/kinds.hpp"
#include "models/nvme/profiles.hpp"

namespace storlab::nvme_wire {

// PDU types
constexpr uint8_t ic_req = 0, ic_resp = 1, h2c_term = 2, c2h_term = 3, capsule_cmd = 4,
                  capsule_resp = 5, h2c_data = 6, c2h_data = 7, r2t = 9;
constexpr uint32_t common_header = 8, sqe_bytes = nvme::sqe, cqe_bytes = nvme::cqe;
constexpr uint32_t header_bytes(uint8_t type) {
    switch (type) {
    case ic_req:
    case ic_resp: return 128;
    case capsule_cmd: return common_header + sqe_bytes;
    case capsule_resp:
    case h2c_data:
    case c2h_data:
    case r2t: return 24;
    default: return 0; // termination, or unknown
    }
}
constexpr uint8_t digests = 0x03, last_pdu = 0x04, success = 0x08; // flags

// Command capsules
constexpr uint8_t op_flush = 0x00, op_write = 0x01, op_read = 0x02, op_get_log_page = 0x02,
                  op_identify = 0x06, op_abort = 0x08, op_keep_alive = 0x18, op_fabrics = 0x7f;
constexpr uint8_t type_property_set = 0x00, type_connect = 0x01, type_property_get = 0x04;
constexpr uint8_t sgl_used = 0x40, sgl_in_capsule = 0x01, sgl_transport = 0x5a;
constexpr uint32_t connect_bytes = nvme::connect_data, identify_bytes = nvme::identify_data;
constexpr uint64_t enable = 0x00460001;      // CC: entries of 64 and 16 bytes, enabled
constexpr uint32_t property(uint32_t step) { // CAP, CC, CSTS
    return step == 2 ? 0x00 : step == 3 ? 0x14 : 0x1c;
}
constexpr uint8_t ana_log = 0x0c;
constexpr uint32_t ana_changed = 0x000c0302; // notice, ANA change, and which log page
constexpr uint32_t log_header = nvme::ana_header, log_group = nvme::ana_group + nvme::ana_nsid;

// Command identifiers: twelve bits of tag and four of generation. The last tags belong to admin
// commands, whose generation says more.
constexpr uint32_t first_admin_tag = 0xff0;
constexpr uint8_t hello_code = 0, abort_code = 1, ping_code = 2, query_code = 3, notice_code = 4;
constexpr uint16_t command_id(uint32_t tag, uint32_t generation) {
    return static_cast<uint16_t>((tag & 0xfff) | (generation & 0xf) << 12);
}
constexpr uint16_t admin_id(uint8_t code, uint32_t more = 0) {
    return command_id(first_admin_tag + code, more);
}
constexpr bool is_admin(uint16_t id) { return (id & 0xfffu) >= first_admin_tag; }

// Status type and code, as in a completion without its phase bit.
constexpr uint16_t status_field(Outcome o) {
    switch (o) {
    case Outcome::done: return 0;
    case Outcome::medium_error: return 0x281; // unrecovered read error
    case Outcome::out_of_range: return 0x080; // LBA out of range
    case Outcome::no_unit: return 0x00b;      // invalid namespace or format
    case Outcome::inaccessible: return 0x302; // ANA
    case Outcome::unavailable: return 0x301;  // ANA persistent loss
    case Outcome::transition: return 0x303;
    case Outcome::path_error: return 0x300; // internal path error
    case Outcome::aborted: return 0x007;
    default: return 0x006; // internal error
    }
}
constexpr Outcome outcome_from(uint16_t status) {
    for (uint8_t o = 0; o < static_cast<uint8_t>(Outcome::count); o++)
        if (static_cast<Outcome>(o) != Outcome::attention &&
            status_field(static_cast<Outcome>(o)) == status)
            return static_cast<Outcome>(o);
    return Outcome::medium_error;
}
constexpr uint8_t state_field(Access a) {
    return a == Access::transition ? 0x0f : static_cast<uint8_t>(static_cast<uint8_t>(a) + 1);
}
constexpr Access access_from(uint8_t state) {
    return state == 0x0f              ? Access::transition
           : state >= 1 && state <= 4 ? static_cast<Access>(state - 1)
                                      : Access::unavailable;
}

} // namespace storlab::nvme_wire
