#include "sim/real/real_world.hpp"
#include <algorithm>
#include <chrono>

namespace storlab {

namespace {
int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}
} // namespace

RealWorld::RealWorld(const RealOptions& options)
    : began_ns_(steady_ns()), ring_(options.ring_depth) {}

Instant RealWorld::now() const { return Instant::at(Duration::ns(steady_ns() - began_ns_)); }

void RealWorld::set_now(Instant at) {
    began_ns_ = steady_ns() - at.since_start().count_ps() / 1000;
}

void RealWorld::wake(Event& event, Instant at) {
    event.at = at;
    timers_.push_back({at, event.phase, order_++, &event});
    std::push_heap(timers_.begin(), timers_.end());
}

void RealWorld::post(Event& event, bool deferred) { (deferred ? deferred_ : posted_).push(event); }

// What is posted meanwhile waits for the next round, so that timers and completions get their turn.
void RealWorld::fire_posted() {
    EventQueue& queue = posted_.empty() ? deferred_ : posted_;
    EventQueue round = std::exchange(queue, {});
    while (!round.empty() && !stopped_) {
        Event& e = round.pop();
        e.fire(e);
    }
    if (round.empty()) return;
    while (!queue.empty()) round.push(queue.pop()); // stopped: the rest goes first the next time
    queue = round;
}

void RealWorld::fire_timers() {
    if (timers_.empty()) return;
    const Instant present = now();
    while (!stopped_ && !timers_.empty() && timers_.front().at <= present) {
        std::pop_heap(timers_.begin(), timers_.end());
        Event& e = *timers_.back().event;
        timers_.pop_back();
        e.fire(e);
    }
}

bool RealWorld::run() {
    stopped_ = false;
    while (!stopped_) {
        fire_posted();
        fire_timers();
        if (stopped_) break;
        if (!posted_.empty() || !deferred_.empty()) {
            ring_.poll();
            continue;
        }
        if (timers_.empty() && ring_.idle()) return true;
        ring_.wait(timers_.empty() ? Duration::max() : timers_.front().at - now());
    }
    return false;
}

const PriceList FreeCpu::free_{};

FreeCpu::FreeCpu(RealWorld& world) : Cpu(free_, ledger_), world_(world) {}

void FreeCpu::run(Job& job) {
    job.work = {};
    world_.post(job, job.urgency == Urgency::deferred);
}

} // namespace storlab
