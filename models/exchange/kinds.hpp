// What the messages of a block protocol say, whichever protocol it is. The exchange engine speaks
// in these; the codecs of NVMe/TCP and iSCSI turn them into the bytes of their standard.
#pragma once
#include "sim/seam/message.hpp"

namespace storlab {

enum class Kind : uint8_t {
    command, // read, write or flush, perhaps with write data inside
    ready,   // the target asks for write data: R2T, XFER_RDY, an RDMA read
    data_out,
    data_in,
    response,
    abort,        // tag and generation name the command
    abort_answer, // the command has ended, and nothing of it comes after this
    ping,
    pong,
    hello,          // step `offset` of the login; blocks: tags wanted, lba: who asks
    welcome,        // ... and its answer
    access_changed, // ask again which units can be reached how
    access_query,
    access_report, // payload: AccessEntry by AccessEntry
};
inline Kind kind_of(const Message& m) { return static_cast<Kind>(m.kind); }

// How a unit can be reached through a port. ANA and ALUA name the same five states.
enum class Access : uint8_t {
    optimized,
    non_optimized,
    inaccessible, // ALUA: standby
    unavailable,  // ANA: persistent loss
    transition,   // ANA: change
};
constexpr bool reachable(Access a) { return a <= Access::non_optimized; }

// Why a command ended as it did, as far as the protocols can say.
enum class Outcome : uint8_t {
    done,
    medium_error,
    out_of_range, // beyond the end of the unit, or a size the target does not take
    no_unit,
    inaccessible, // the unit's state at this port
    unavailable,
    transition,
    attention,  // SCSI: not carried out, because something else had to be said first
    path_error, // the target has lost its own way to the unit
    aborted,
    count
};
constexpr Outcome outcome_of(Access a) { // of a state in which commands are not taken
    return a == Access::inaccessible  ? Outcome::inaccessible
           : a == Access::unavailable ? Outcome::unavailable
                                      : Outcome::transition;
}
constexpr Outcome outcome_of(IoStatus s) { // of the device behind the target
    return s == IoStatus::ok          ? Outcome::done
           : s == IoStatus::failed    ? Outcome::medium_error
           : s == IoStatus::no_device ? Outcome::no_unit
                                      : Outcome::path_error;
}
constexpr IoStatus status_of(Outcome o) {
    switch (o) {
    case Outcome::done: return IoStatus::ok;
    case Outcome::medium_error:
    case Outcome::out_of_range: return IoStatus::failed;
    case Outcome::no_unit: return IoStatus::no_device;
    default: return IoStatus::no_path;
    }
}
// A response has no data, so its offset says why.
inline void set_outcome(Message& m, Outcome o) {
    m.status = status_of(o);
    m.offset = static_cast<uint32_t>(o);
}
inline Outcome outcome(const Message& m) {
    return m.offset < static_cast<uint32_t>(Outcome::count) ? static_cast<Outcome>(m.offset)
                                                            : Outcome::medium_error;
}

// Unit (two bytes, low first) and its state.
struct AccessEntry {
    static constexpr size_t bytes = 3;
    uint16_t unit;
    Access access;
};
inline void append(std::vector<std::byte>& payload, AccessEntry e) {
    payload.push_back(static_cast<std::byte>(e.unit & 0xff));
    payload.push_back(static_cast<std::byte>(e.unit >> 8));
    payload.push_back(static_cast<std::byte>(e.access));
}
inline AccessEntry access_entry(const std::byte* at) {
    const auto state = std::to_integer<uint8_t>(at[2]);
    return {static_cast<uint16_t>(std::to_integer<uint16_t>(at[0]) |
                                  std::to_integer<uint16_t>(at[1]) << 8),
            state <= static_cast<uint8_t>(Access::transition) ? static_cast<Access>(state)
                                                              : Access::unavailable};
}

} // namespace storlab
