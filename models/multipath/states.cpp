#include "models/multipath/multipath.hpp"
#include <algorithm>

namespace storlab {

void Multipath::path_state(size_t path, const PathState& state) {
    STORLAB_ENSURE(path < paths_.size());
    Path& p = paths_[path];
    if (removed_ || (p.life == Life::lost && (o_.timers.loss_is_final || p.said.gone))) return;
    const bool was_up = p.said.up;
    p.said = state;
    if (state.access > p.access || !o_.checker.believes_checks_only) p.access = state.access;
    if (state.gone) {
        p.said.up = false;
        lose(p);
    } else if (state.up) {
        up(p);
    } else {
        if (was_up) begin_timers(p);
        if (p.life == Life::up) go_down(p, state.why);
        else if (p.attempting) attempt_failed(p);
        settle(); // its access may have changed
    }
    arm();
}

// What the transport does about a path that is down begins.
void Multipath::begin_timers(Path& p) {
    const Instant now = clock_.now();
    const PathTimers& t = o_.timers;
    p.attempts = 0;
    if (t.reconnect > Duration()) p.attempt_at = now + t.reconnect;
    else if (t.loss > Duration()) p.lose_at = now + t.loss;
    if (t.give_up > Duration()) p.give_up_at = now + t.give_up;
}

void Multipath::up(Path& p) {
    p.lose_at = p.attempt_at = p.give_up_at = Instant::never();
    p.attempting = p.given_up = false;
    if (p.life >= Life::down) {
        if (!o_.checker.believes_checks_only) return come_back(p);
        if (p.check_at == Instant::never()) check_after(p, o_.checker.failed);
        return;
    }
    const bool was_held = p.life == Life::held;
    p.life = Life::up;
    p.fail_at = Instant::never();
    if (was_held && checks_) check_after(p, o_.checker.interval);
    if (p.access != p.said.access && p.check_at == Instant::never()) // to be believed
        check_after(p, o_.checker.failed);
    if (!was_held) return settle();
    // In time: what it has is sent.
    Records held = p.held.take();
    settle();
    while (!held.empty()) {
        Record& c = held.pop();
        let_go(c, p);
        (p.usable() ? send(c, p) : try_again(c)).resume();
    }
}

void Multipath::go_down(Path& p, Loss why) {
    counters_.path_failures++;
    p.generation++;
    const bool holds = why != Loss::timed_out || o_.timers.hold_after_timeout;
    if (!holds || o_.timers.hold == Duration()) return fail(p);
    p.life = Life::held;
    p.fail_at = clock_.now() + o_.timers.hold;
    p.check_at = Instant::never();
    settle();
}

// Out of use: what it has goes to other paths.
void Multipath::fail(Path& p) {
    p.life = Life::down;
    p.fail_at = Instant::never();
    check_after(p, o_.checker.failed);
    Records held = p.held.take();
    settle();
    while (!held.empty()) {
        Record& c = held.pop();
        let_go(c, p);
        try_again(c).resume();
    }
}

void Multipath::come_back(Path& p) {
    p.access = p.said.access;
    const uint32_t key = key_of(p);
    const bool first = !(usable_paths() & members(key));
    p.life = Life::up;
    p.given_up = false;
    p.interval = o_.checker.interval;
    p.check_at = Instant::never();
    if (checks_) check_after(p, p.interval);
    settle(first ? key : no_key);
}

void Multipath::lose(Path& p) {
    if (p.life < Life::down) counters_.path_failures++;
    p.life = Life::lost;
    p.generation++;
    p.attempting = false;
    p.fail_at = p.lose_at = p.attempt_at = p.give_up_at = p.check_at = Instant::never();
    const bool none_left = std::all_of(paths_.begin(), paths_.end(), [&](const Path& other) {
        return other.life == Life::lost && (o_.timers.loss_is_final || other.said.gone);
    });
    if (none_left) return remove();
    Records held = p.held.take();
    settle();
    while (!held.empty()) {
        Record& c = held.pop();
        let_go(c, p);
        try_again(c).resume();
    }
}

// What is under way on a path ends when its transport ends it.
void Multipath::remove() {
    removed_ = true;
    use(0);
    no_path_at_ = failback_at_ = Instant::never();
    for (Path& p : paths_) {
        p.fail_at = p.lose_at = p.attempt_at = p.give_up_at = p.check_at = Instant::never();
        for (Records held = p.held.take(); !held.empty();) {
            Record& c = held.pop();
            let_go(c, p);
            conclude(c, IoStatus::no_device).resume();
        }
    }
    flush(waiting_, IoStatus::no_device);
    flush(later_, IoStatus::no_device);
    if (on_removed_) on_removed_();
}

void Multipath::attempt(Path& p) {
    p.attempt_at = Instant::never();
    if (stopped_) return;
    p.attempts++;
    counters_.attempts++;
    p.attempting = true; // the answer may come at once
    const bool under_way = on_attempt_ && on_attempt_(p.number);
    if (!under_way && p.attempting) attempt_failed(p);
}
void Multipath::attempt_failed(Path& p) {
    p.attempting = false;
    if (o_.timers.loss > Duration() && p.attempts >= o_.timers.attempts()) lose(p);
    else p.attempt_at = clock_.now() + o_.timers.reconnect;
}

} // namespace storlab
