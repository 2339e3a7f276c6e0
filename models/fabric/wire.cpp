#include "models/fabric/wire.hpp"
#include "models/fabric/connection.hpp"
#include <algorithm>

namespace storlab {

Rate credit_rate(uint32_t credits, uint32_t frame_bytes, Rate line, Duration propagation) {
    const Bytes frame(frame_bytes);
    const Duration round_trip = frame / line + propagation * 2;
    const double frames = credits / round_trip.in_seconds();
    return std::min(line, Rate::bytes_per_second(frames * static_cast<double>(frame.count())));
}

Wire::Wire(Calendar& calendar, WireOptions options)
    : calendar_(calendar), o_(std::move(options)),
      ps_per_byte_(1e12 / o_.rate.in_bytes_per_second()), beyond_(o_.propagation + o_.latency) {
    STORLAB_ENSURE(o_.rate > Rate{} && o_.buffer > 0 && o_.arrived);
    if (o_.buffer != WireOptions::no_limit) drain_ = time_of(o_.buffer);
}

void Wire::serve(Packet& p, Instant start) {
    const Duration service = time_of(p.bytes);
    free_ = start + service;
    count_.served++;
    count_.busy += service;
    count_.sojourn += free_ - p.ready;
    p.tail = later(free_, p.tail + time_of(p.last)) + beyond_;
    p.fire = o_.arrived;
    p.phase = Phase::arrival;
}

Instant Wire::enter(Packet& p, Instant ready, Wire* from) {
    p.epoch = epoch_;
    p.ready = ready;
    const bool holds = o_.lossless && o_.buffer != WireOptions::no_limit;
    if (!o_.into_switch) { // nothing behind it can hold it: its dates are known
        serve(p, later(ready, free_));
        calendar_.schedule(p, p.end->in_order(p.tail));
        return holds ? free_ - drain_ : Instant{};
    }
    entered_ += p.bytes;
    const int64_t need = holds ? entered_ - o_.buffer : 0;
    if (busy_) wait(p);
    else launch(p);
    if (need <= launched_ || !from) return room_for(need);
    waiters_.push_back({from, need});
    from->waits_for_ = this;
    return Instant::never();
}

void Wire::wait(Packet& p) {
    if (o_.out_of_port) turns_.push(p.end->lane, p);
    else queue_.push(p);
}
Packet* Wire::next_waiting() {
    if (!turns_.empty()) return &turns_.pop();
    return queue_.empty() ? nullptr : &static_cast<Packet&>(queue_.pop());
}

void Wire::launch(Packet& p) {
    busy_ = true;
    started_ = later(later(p.ready, free_), held_until_);
    launched_before_ = launched_;
    launched_ += p.bytes;
    serve(p, started_);
    calendar_.schedule(p, later(calendar_.now(), started_ + time_of(p.first) + beyond_));
    if (!waiters_.empty()) tell_waiters();
}

void Wire::passed(Instant room) {
    STORLAB_ENSURE(busy_);
    held_until_ = later(held_until_, room);
    waits_for_ = nullptr;
    busy_ = false;
    if (Packet* const p = next_waiting()) launch(*p);
}

void Wire::tell_waiters() {
    size_t told = 0;
    for (; told < waiters_.size() && waiters_[told].need <= launched_; told++)
        waiters_[told].wire->passed(room_for(waiters_[told].need));
    waiters_.erase(waiters_.begin(), waiters_.begin() + static_cast<std::ptrdiff_t>(told));
}

void Wire::darken(EventQueue& queued) {
    const Instant now = calendar_.now();
    dark_ = true;
    epoch_++;
    count_.busy -= later(now, free_) - now; // is not sent any more
    free_ = held_until_ = now;
    busy_ = false;
    if (waits_for_) std::erase_if(waits_for_->waiters_, [&](auto& w) { return w.wire == this; });
    waits_for_ = nullptr;
    while (Packet* const p = next_waiting()) queued.push(*p);
    entered_ = launched_before_ = launched_;
    for (const Waiter& w : std::exchange(waiters_, {})) w.wire->passed(now);
}

double Wire::backlog(Instant now) const {
    const Duration ahead = later(now, free_) - now;
    return static_cast<double>(ahead.count_ps()) / ps_per_byte_ +
           static_cast<double>(entered_ - launched_);
}

// While it comes in, bytes leave at this wire's speed. Those of messages that came at the same time
// are in the backlog already, all of them, so that the fullest moment is right.
int64_t Wire::overflow(Instant now, uint32_t bytes, const Wire& from) const {
    if (o_.buffer == WireOptions::no_limit) return 0;
    const double leaves = std::min(1.0, from.ps_per_byte_ / ps_per_byte_);
    const double full = backlog(now) + bytes * (1 - leaves);
    return std::max<int64_t>(0, static_cast<int64_t>(full + 0.5) - o_.buffer);
}

StationCount Wire::count(Instant now) const {
    StationCount c = count_;
    c.busy -= later(now, free_) - now;
    return c;
}

} // namespace storlab
