// The time of the world real code runs in.
#pragma once
#include "sim/seam/event.hpp"

namespace storlab {

struct Clock {
    virtual ~Clock() = default;
    virtual Instant now() const = 0;
    virtual void wake(Event& event, Instant at) = 0; // at >= now()
};

// co_await sleep_until(clock, at)
struct SleepUntil : Resume {
    Clock& clock;
    Instant until;
    SleepUntil(Clock& c, Instant t) : clock(c), until(t) { phase = Phase::timer; }
    bool await_ready() const { return until <= clock.now(); }
    void await_suspend(Handle h) {
        waiter = h;
        clock.wake(*this, until);
    }
    void await_resume() const {}
};
inline SleepUntil sleep_until(Clock& c, Instant t) { return {c, t}; }
inline SleepUntil sleep_for(Clock& c, Duration d) { return {c, c.now() + d}; }

} // namespace storlab
