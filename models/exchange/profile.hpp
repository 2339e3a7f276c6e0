// A block protocol as data: how large its messages are, how write data travels, who runs it, and
// what its control side does. One engine (initiator.hpp, target.hpp) carries out all of them:
// command -> [ready -> data out]* or [data in]* -> response. Sizes are without what frames add
// (FC and Ethernet headers, TCP/IP, RDMA transport headers), which is the fabric's.
#pragma once
#include "sim/base/time.hpp"
#include <cstdint>
#include <string_view>
#include <vector>

namespace storlab {

struct RoundTrip { // a request and its answer, bytes
    uint32_t request = 0, answer = 0;
};

struct SessionTimers {
    Duration command = Duration::s(30); // Linux: nvme_core io_timeout, SCSI disk timeout
    Duration abort = Duration::s(10);   // for the answer to an abort; then the session is reset
    Duration connect = Duration::s(15); // for the whole login
    Duration reconnect = Duration::s(10);
    // Commands of a lost session are kept for this long, and sent again if it comes back in time;
    // zero: they end with no_path at once, as is right below multipathing.
    Duration hold;
    Duration removal;    // after so long without a session nobody tries any more; zero: never
    Duration keep_alive; // between two; zero: none
    Duration keep_alive_answer; // for its answer; then the session is reset
    Duration silence;           // after which the target drops a session; zero: never
};

struct Profile {
    std::string_view name;

    // Sizes: header and, for commands and data, what comes before the data.
    uint32_t command = 0, ready = 0, data_out = 0, data_in = 0;
    uint32_t response = 0, refusal = 0; // refusal: a response that says what is wrong

    // Write data, bytes.
    uint32_t in_command = 0;       // a command may carry so much
    bool in_command_whole = false; // ... if that is all there is; otherwise the first part
    uint32_t unsolicited = 0;      // may be sent, the part in the command included, unasked
    uint32_t burst = 0;            // asked for at once
    uint32_t ready_limit = 1;      // bursts asked for at one time
    uint32_t data_out_unit = 0;    // one message
    uint32_t data_in_unit = 0;
    bool status_in_data = false; // the last data of a read that went well is its response too

    bool software = false;         // run by the host's cores, unless an adapter takes it over
    uint32_t generation_bits = 16; // of a tag's use, as far as the wire carries them

    // Control
    std::vector<RoundTrip> login;
    RoundTrip abort, keep_alive;
    bool keep_alive_when_idle = false; // only if nothing was heard since the last
    // A change of access is told at once; otherwise instead of the answer to the next command.
    bool notice_at_once = false;
    uint32_t notice = 0;
    uint32_t query = 0, report = 0, report_each = 0; // report_each: a unit's share of the report

    SessionTimers timers;
};

// How a write of so many blocks travels. Both ends work it out from the same profile.
struct WritePlan {
    uint32_t in_command; // blocks
    uint32_t unasked;    // the same plus what follows the command unasked
};
constexpr uint32_t blocks_of(uint32_t bytes, uint32_t block) {
    return bytes < block ? 1 : bytes / block;
}
constexpr WritePlan plan_write(const Profile& p, uint32_t blocks, uint32_t block) {
    const uint32_t fits = p.in_command / block, free = p.unsolicited / block;
    const uint32_t inside = blocks <= fits ? blocks : p.in_command_whole ? 0 : fits;
    const uint32_t unasked = blocks < free ? blocks : free;
    return {inside, inside < unasked ? unasked : inside};
}
constexpr uint32_t messages_for(uint32_t blocks, uint32_t unit) {
    return blocks / unit + (blocks % unit ? 1 : 0);
}

} // namespace storlab
