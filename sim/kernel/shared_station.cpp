#include "sim/kernel/shared_station.hpp"
#include <algorithm>
#include <cmath>

namespace storlab {

namespace {
constexpr auto leaves_later = [](const auto& a, const auto& b) {
    return a.leaves_at > b.leaves_at || (a.leaves_at == b.leaves_at && a.order > b.order);
};
}

SharedStation::SharedStation(Calendar& calendar, std::function<double(uint32_t)> speed,
                             uint32_t servers)
    : calendar_(calendar), speed_(std::move(speed)), servers_(servers) {}

void SharedStation::advance() {
    const Instant now = calendar_.now();
    occupied_ += (now - updated_) * at_work();
    virtual_ps_ += rate_ * static_cast<double>((now - updated_).count_ps());
    updated_ = now;
    // Virtual time begins anew before its double gets too coarse for a picosecond.
    constexpr double second_ps = 1e12;
    if (heap_.empty()) virtual_ps_ = 0;
    if (virtual_ps_ < second_ps) return;
    for (Customer& c : heap_) c.leaves_at -= virtual_ps_;
    virtual_ps_ = 0;
    std::make_heap(heap_.begin(), heap_.end(), leaves_later); // rounding may have made equals
}

void SharedStation::arrive(Event& customer, Duration work) {
    advance();
    heap_.push_back({virtual_ps_ + static_cast<double>(work.count_ps()), order_++, &customer,
                     calendar_.now(), work});
    std::push_heap(heap_.begin(), heap_.end(), leaves_later);
    rearm();
}
void SharedStation::join() {
    advance();
    running_++;
    rearm();
}
void SharedStation::leave() {
    advance();
    running_--;
    rearm();
}

// The calendar cannot take an event back: an alarm that has become too early finds nobody to let go
// and arms the next; one that would be too late is overtaken by a new one.
void SharedStation::rearm() {
    rate_ = speed_(std::max(1u, customers()));
    if (heap_.empty()) return;
    const double left = std::max(0.0, heap_.front().leaves_at - virtual_ps_);
    const Instant due =
        calendar_.now() + Duration::ps(static_cast<int64_t>(std::ceil(left / rate_)));
    if (due >= armed_) return;
    if (free_alarms_.empty()) {
        alarms_.push_back(std::make_unique<Alarm>());
        alarms_.back()->station = this;
        alarms_.back()->fire = [](Event& e) {
            auto& alarm = static_cast<Alarm&>(e);
            SharedStation& s = *alarm.station;
            s.free_alarms_.push_back(&alarm);
            if (s.armed_ == s.calendar_.now()) s.armed_ = Instant::never();
            s.served();
        };
        free_alarms_.push_back(alarms_.back().get());
    }
    armed_ = due;
    calendar_.schedule(*free_alarms_.back(), due);
    free_alarms_.pop_back();
}

void SharedStation::served() {
    advance();
    constexpr double slack_ps = 0.5; // a date is rounded up to a picosecond
    std::vector<Event*> done;
    while (!heap_.empty() && heap_.front().leaves_at <= virtual_ps_ + slack_ps) {
        std::pop_heap(heap_.begin(), heap_.end(), leaves_later);
        const Customer& c = heap_.back();
        count_.served++;
        count_.busy += c.work;
        count_.sojourn += calendar_.now() - c.arrived;
        done.push_back(c.event);
        heap_.pop_back();
    }
    rearm();
    for (Event* e : done) e->fire(*e);
}

} // namespace storlab
