// A timer that can be set anew or stopped before it rings. Clocks do not take events back, so there
// is one event under way at most: fired too early it goes back to sleep, and stopped it does
// nothing. An alarm always waits equally long, so that a new date never precedes the event.
#pragma once
#include "sim/base/error.hpp"
#include "sim/seam/clock.hpp"

namespace storlab {

class Alarm : Event {
public:
    Alarm(Clock& clock, void* owner, void (*ring)(void*))
        : clock_(clock), owner_(owner), ring_(ring) {
        phase = Phase::timer;
        fire = [](Event& e) { static_cast<Alarm&>(e).fired(); };
    }
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    void set(Instant when) {
        due_ = when;
        if (under_way_) STORLAB_ENSURE(at <= when);
        else sleep();
    }
    void stop() { due_ = Instant::never(); }
    bool is_set() const { return due_ != Instant::never(); }

private:
    Clock& clock_;
    void* owner_;
    void (*ring_)(void*);
    Instant due_ = Instant::never();
    bool under_way_ = false;

    void sleep() {
        under_way_ = true;
        clock_.wake(*this, due_);
    }
    void fired() {
        under_way_ = false;
        if (!is_set()) return;
        if (clock_.now() < due_) return sleep();
        stop();
        ring_(owner_);
    }
};

} // namespace storlab
