#include "models/multipath/multipath.hpp"
#include <algorithm>

namespace storlab {

Instant Multipath::next_date() const {
    Instant next = std::min(failback_at_, no_path_at_);
    if (!later_.empty()) next = std::min(next, later_.front()->due);
    for (const Path& p : paths_)
        next = std::min(
            {next, p.fail_at, p.give_up_at, p.lose_at, p.attempt_at, p.check_at, p.check_late_at});
    return next;
}

// A clock's wake-up cannot be called off: one that is too early finds nothing due.
void Multipath::arm() {
    const Instant next = next_date();
    if (next == Instant::never() || (!armed_.empty() && armed_.back() <= next)) return;
    if (free_timers_.empty()) free_timers_.push_back(&timers_.emplace_back());
    Timer& t = *free_timers_.back();
    free_timers_.pop_back();
    t.owner = this;
    t.phase = Phase::timer;
    t.fire = ring;
    armed_.push_back(next);
    clock_.wake(t, later(next, clock_.now()));
}
void Multipath::ring(Event& e) {
    auto& t = static_cast<Timer&>(e);
    Multipath& m = *t.owner;
    m.armed_.pop_back(); // the earliest
    m.free_timers_.push_back(&t);
    m.keep_dates();
    m.arm();
}

void Multipath::keep_dates() {
    const Instant now = clock_.now();
    for (Path& p : paths_) keep_dates(p);
    if (failback_at_ <= now) {
        settle();
        failback_at_ = Instant::never();
    }
    while (!later_.empty() && later_.front()->due <= now) again(later_.pop()).resume();
    if (no_path_at_ > now) return;
    no_path_at_ = Instant::never();
    if (o_.no_path == NoPath::remove) return remove();
    waited_enough_ = true;
    flush(waiting_, IoStatus::no_path);
}

void Multipath::keep_dates(Path& p) {
    const Instant now = clock_.now();
    if (p.fail_at <= now) fail(p);
    if (p.lose_at <= now) lose(p);
    if (p.attempt_at <= now) attempt(p);
    if (p.give_up_at <= now) {
        p.give_up_at = Instant::never();
        p.given_up = true;
        settle();
    }
    if (p.check_late_at <= now) {
        p.check_late_at = Instant::never();
        does_not_work(p);
    }
    if (p.check_at <= now) check(p);
}

void Multipath::start_checks() {
    checks_ = true;
    stopped_ = false;
    for (Path& p : paths_)
        if (p.life != Life::held)
            check_after(p, p.life == Life::up ? p.interval : o_.checker.failed);
    arm();
}
void Multipath::stop_checks() {
    checks_ = false;
    stopped_ = true;
    for (Path& p : paths_) p.check_at = p.attempt_at = Instant::never();
}

void Multipath::check_after(Path& p, Duration d) {
    p.check_at = d > Duration() && !stopped_ && !removed_ ? clock_.now() + d : Instant::never();
}

void Multipath::check(Path& p) {
    p.check_at = Instant::never();
    if (p.checking || !p.said.up) return does_not_work(p); // no answer yet, or no need to ask
    p.checking = true;
    p.check_generation = p.generation;
    p.check_late_at = clock_.now() + o_.checker.timeout;
    counters_.checks++;
    Request& r = p.check;
    r = Request(p.device, Op::read, {}, 1, p.block.data());
    r.owner = &p;
    r.done = checked;
    p.device->submit(r).resume();
}
Handle Multipath::checked(Request& r) {
    Path& p = *static_cast<Path*>(r.owner);
    Multipath& m = *p.owner;
    p.checking = false;
    const bool late = p.check_late_at == Instant::never();
    p.check_late_at = Instant::never();
    if (late || m.removed_) return nothing();
    if (r.status == IoStatus::no_path) m.does_not_work(p);
    else m.works(p);
    m.arm();
    return nothing();
}

void Multipath::works(Path& p) {
    if (p.life == Life::held) return;
    if (p.life >= Life::down) return p.said.up ? come_back(p) : check_after(p, o_.checker.failed);
    p.access = p.said.access;
    p.interval = std::min(p.interval * 2, std::max(p.interval, o_.checker.longest));
    if (checks_) check_after(p, p.interval);
    settle();
}
void Multipath::does_not_work(Path& p) {
    if (p.life == Life::up) {
        if (p.generation == p.check_generation) return go_down(p, Loss::timed_out);
        if (checks_) check_after(p, p.interval); // it was away since it was asked
    } else if (p.life == Life::down || p.said.up) {
        check_after(p, o_.checker.failed);
    }
}

} // namespace storlab
