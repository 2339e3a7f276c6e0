// The array's end: what one controller offers through its ports in one protocol. Units are volumes
// with the context that executes commands to them and the state in which they can be reached here;
// ports whose states differ are two targets. Every connection that logs in is a session.
//
// Every command comes to its end at the device, once, whatever becomes of its session: an aborted
// one is answered to nobody, and the abort is answered when it has ended, so that nothing of it can
// happen after that. A login waits for the end of what an earlier session of the same host left.
// Left out: reservations, and a limit to the sessions.
#pragma once
#include "models/exchange/alarm.hpp"
#include "models/exchange/kinds.hpp"
#include "models/exchange/profile.hpp"
#include <memory>
#include <vector>

namespace storlab {

struct TargetOptions {
    uint32_t depth = 1024;          // tags granted to a session at most
    bool offloaded = false;         // an adapter runs the protocol, not the cores
    Bytes largest = Bytes::mib(64); // data of one command
};

struct TargetCounters {
    uint64_t commands = 0;            // received
    uint64_t to_device = 0, done = 0; // handed to a device, and ended there
    uint64_t answered = 0;            // responses sent
    uint64_t refused = 0;             // ended with a response, without the device
    uint64_t aborted = 0;             // ended because of an abort, answered to nobody
    uint64_t dropped = 0;             // ended after their session
    uint64_t stray = 0;               // data for no command
    uint64_t sent = 0, received = 0;  // messages
    uint64_t violations = 0;          // sessions ended because the initiator was at fault
    uint64_t silent = 0;              // ... or because nothing was heard
};

struct TargetUnit {
    BlockDevice* device = nullptr;
    Cpu* context = nullptr;
    Access access = Access::optimized;
    uint32_t block = 0, payload = 0; // of the device
    uint64_t blocks = 0;
};

class TargetSession;

class Target {
public:
    Target(Clock& clock, const Profile& profile, TargetOptions options);
    ~Target();
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    void add_unit(uint16_t number, BlockDevice& device, Cpu& context,
                  Access access = Access::optimized);
    void remove_unit(uint16_t number); // commands at the device end as they do
    void set_access(uint16_t number, Access access);
    Access access(uint16_t number) const { return units_[number].access; }

    void accept(Connection& connection);
    void drop_sessions(); // closes every connection

    uint32_t sessions() const; // logged in, or about to
    uint32_t at_device() const {
        return static_cast<uint32_t>(counters_.to_device - counters_.done);
    }
    const TargetCounters& counters() const { return counters_; }
    const Profile& profile() const { return p_; }

private:
    friend class TargetSession;
    Clock& clock_;
    const Profile p_;
    const TargetOptions o_;
    const bool software_;
    std::vector<TargetUnit> units_;
    std::vector<std::unique_ptr<TargetSession>> sessions_; // those at their end are used again
    TargetCounters counters_;
    Alarm silence_;

    const TargetUnit* unit(uint16_t number) const {
        return number < units_.size() && units_[number].device ? &units_[number] : nullptr;
    }
    void look_for_silent();
    bool has_leftovers(const TargetSession& of) const;
    void drop_older(const TargetSession& than);
    void drained();
};

} // namespace storlab
