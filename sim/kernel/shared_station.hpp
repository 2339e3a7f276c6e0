// Processor sharing: all customers are served at once, at a speed that depends on how many there
// are. Exact by virtual time: V advances at the speed of one customer, a customer that arrives at V
// with work w leaves at V + w. Used for cores with more threads than logical CPUs.
#pragma once
#include "sim/kernel/calendar.hpp"
#include "sim/kernel/station.hpp"
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace storlab {

class SharedStation {
public:
    // speed(n): rate of each of n customers, 1 being alone on an idle server. servers: how many
    // customers can be at work at one instant, the others waiting for their slice.
    SharedStation(Calendar& calendar, std::function<double(uint32_t)> speed, uint32_t servers = 1);
    void arrive(Event& customer, Duration work); // customer.fire when served
    // Someone who takes a share without an end of its own: a spinning thread.
    void join();
    void leave();
    uint32_t customers() const { return running_ + static_cast<uint32_t>(heap_.size()); }
    const StationCount& count() const { return count_; }
    // Time that servers had a customer, summed over them. Not count().busy, which is work served: a
    // customer that shares a core takes longer, and one that spins is never served.
    Duration occupied() const { return occupied_ + (calendar_.now() - updated_) * at_work(); }

private:
    struct Customer {
        double leaves_at; // virtual
        uint64_t order;
        Event* event;
        Instant arrived;
        Duration work;
    };
    struct Alarm : Event {
        SharedStation* station;
    };
    Calendar& calendar_;
    std::function<double(uint32_t)> speed_;
    const uint32_t servers_;
    std::vector<Customer> heap_;
    uint32_t running_ = 0;
    Duration occupied_;
    double virtual_ps_ = 0, rate_ = 1;
    Instant updated_, armed_ = Instant::never();
    uint64_t order_ = 0;
    StationCount count_;
    std::vector<std::unique_ptr<Alarm>> alarms_;
    std::vector<Alarm*> free_alarms_;

    int64_t at_work() const { return std::min(customers(), servers_); }
    void advance();
    void rearm();
    void served();
};

} // namespace storlab
