// The other world: real time, real files, real bytes. One thread runs a loop over posted events,
// timers and completions of the ring, and all real code runs inside that loop, as it runs inside
// the calendar in the simulated world. The loop sleeps in the kernel when nothing is due; it never
// spins. Its speeds are this machine's.
#pragma once
#include "sim/real/ring.hpp"
#include "sim/seam/clock.hpp"
#include "sim/seam/cpu.hpp"
#include <vector>

namespace storlab {

struct RealOptions {
    uint32_t ring_depth = 256; // commands the kernel works on at once; more than a drive's queue
};

class RealWorld final : public Clock {
public:
    explicit RealWorld(const RealOptions& options = {});

    Instant now() const override; // since this world began, on the steady clock
    // As if it had begun so long ago, for a process that joins another's run. Dates that were set
    // before are kept as dates.
    void set_now(Instant at);
    void wake(Event& event, Instant at) override;
    // Fires from the loop, in order of posting; a deferred one after those that are not.
    void post(Event& event, bool deferred = false);
    Ring& ring() { return ring_; }

    // Returns true once nothing is left to happen, false if stop() was called from within.
    bool run();
    void stop() { stopped_ = true; }

private:
    struct Timer {
        Instant at;
        Phase phase;
        uint64_t order;
        Event* event;
        // A heap keeps its largest on top; ours is to be the first to fire.
        bool operator<(const Timer& o) const {
            if (at != o.at) return o.at < at;
            return phase != o.phase ? o.phase < phase : o.order < order;
        }
    };
    int64_t began_ns_;
    Ring ring_;
    EventQueue posted_, deferred_;
    std::vector<Timer> timers_; // a heap
    uint64_t order_ = 0;
    bool stopped_ = false;

    void fire_posted();
    void fire_timers();
};

// In the real world code costs what it costs: every price is zero, and a job fires from the loop.
class FreeCpu final : public Cpu {
public:
    explicit FreeCpu(RealWorld& world);
    void run(Job& job) override;

private:
    static const PriceList free_;
    RealWorld& world_;
    Ledger ledger_{};
};

} // namespace storlab
