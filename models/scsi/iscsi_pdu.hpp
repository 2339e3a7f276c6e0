// Numbers of iSCSI and SCSI, for the codec: opcodes and flags of RFC 7143, section 11; CDBs, sense
// keys and additional sense codes of SPC-4 and SBC-3.
#pragma once
#include "models/exchange/bytes.hpp"
#include "models/exchange/kinds.hpp"
#include "models/scsi/profiles.hpp"

namespace storlab::iscsi_wire {

// From the initiator
constexpr uint8_t nop_out = 0x00, scsi_command = 0x01, task_request = 0x02, login_request = 0x03,
                  data_to_target = 0x05, immediate = 0x40;
// From the target
constexpr uint8_t nop_in = 0x20, scsi_response = 0x21, task_response = 0x22, login_response = 0x23,
                  data_to_initiator = 0x25, r2t = 0x31, async_message = 0x32;
constexpr uint8_t final_bit = 0x80, read_bit = 0x40, write_bit = 0x20, simple_task = 0x01,
                  status_bit = 0x01, abort_task = 0x01;
constexpr uint8_t check_condition = 0x02, busy = 0x08, task_set_full = 0x28; // SCSI status

constexpr uint8_t cdb_inquiry = 0x12, cdb_read = 0x88, cdb_write = 0x8a, cdb_sync_cache = 0x91,
                  cdb_read_capacity = 0x9e, cdb_maintenance_in = 0xa3, report_groups = 0x0a;

// Tags: the last sixteen are no I/O's, and their generation says more.
constexpr uint32_t first_other_tag = 0xfff0, none = 0xffffffff;
constexpr uint8_t hello_code = 0, abort_code = 1, ping_code = 2, query_code = 3;
constexpr uint32_t task_tag(uint32_t tag, uint32_t generation) {
    return (tag & 0xffff) | generation << 16;
}
constexpr uint32_t other_tag(uint8_t code, uint32_t more = 0) {
    return task_tag(first_other_tag + code, more);
}
constexpr bool is_other(uint32_t task) { return (task & 0xffff) >= first_other_tag; }

// SAM-5, section 4.7: peripheral addressing below 256, flat space above.
inline void put_lun(std::byte* at, uint16_t unit) {
    STORLAB_ENSURE(unit < 0x4000);
    put_byte(at, unit < 256 ? 0 : 0x40u | unit >> 8);
    put_byte(at + 1, unit);
}
inline bool get_lun(const std::byte* at, uint16_t& unit) {
    const uint8_t first = get_byte(at);
    unit = static_cast<uint16_t>((first & 0x3f) << 8 | get_byte(at + 1));
    return get_big<4>(at + 4) == 0 && get_big<2>(at + 2) == 0 && (first == 0 || first >> 6 == 1);
}

struct Sense {
    uint8_t key, code, qualifier;
    constexpr bool operator==(const Sense&) const = default;
};
constexpr Sense sense_of(Outcome o) {
    switch (o) {
    case Outcome::medium_error: return {0x03, 0x11, 0x00}; // unrecovered read error
    case Outcome::out_of_range: return {0x05, 0x21, 0x00}; // LBA out of range
    case Outcome::no_unit: return {0x05, 0x25, 0x00};      // logical unit not supported
    case Outcome::inaccessible: return {0x02, 0x04, 0x0b}; // port in standby state
    case Outcome::unavailable: return {0x02, 0x04, 0x0c};  // port in unavailable state
    case Outcome::transition: return {0x02, 0x04, 0x0a};   // asymmetric access transition
    case Outcome::attention: return {0x06, 0x2a, 0x06};    // asymmetric access state changed
    case Outcome::path_error: return {0x06, 0x29, 0x07};   // I_T nexus loss occurred
    default: return {0x0b, 0x00, 0x00};                    // aborted command
    }
}
constexpr Outcome outcome_from(Sense s) {
    for (uint8_t o = 1; o < static_cast<uint8_t>(Outcome::count); o++)
        if (sense_of(static_cast<Outcome>(o)) == s) return static_cast<Outcome>(o);
    return s.key == 0x06 ? Outcome::attention : Outcome::medium_error; // any unit attention: again
}
constexpr uint8_t state_field(Access a) { // SPC-4, REPORT TARGET PORT GROUPS
    return a == Access::transition ? 0x0f : static_cast<uint8_t>(a);
}
constexpr Access access_from(uint8_t state) {
    return state == 0x0f ? Access::transition
           : state < 4   ? static_cast<Access>(state)
                         : Access::unavailable;
}

} // namespace storlab::iscsi_wire
