// A small data plane for the tests of the cluster: customers in a closed loop over a link and a
// device behind it, twice (a main and a spare path), each path a FIFO tandem. Built in two forms
// that must agree to the picosecond: collapsed (both dates computed at arrival, the device's epoch
// checked when the completion fires) and with explicit queues (an event for every arrival and
// departure).
#pragma once
#include "sim/base/random.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/kernel/station.hpp"
#include <deque>
#include <functional>
#include <vector>

namespace storlab::testing {

enum class Form { collapsed, explicit_queues };

class ClosedLoop {
public:
    ClosedLoop(Calendar& calendar, Form form, uint32_t customers)
        : calendar_(calendar), form_(form), random_(1, "closed loop") {
        for (uint32_t i = 0; i < customers; i++) {
            Customer& c = customers_.emplace_back();
            c.world = this;
            c.number = i;
            c.fire = [](Event& e) {
                static_cast<Customer&>(e).world->timer(static_cast<Customer&>(e));
            };
            c.phase = Phase::timer;
            issue(c);
        }
    }
    // The main device stops at the present date: what it has not finished gets no answer.
    void fail_device() {
        Path& p = paths_[0];
        p.epoch++;
        p.dead = true;
        p.device_queue = {};
        p.serving = false;
    }
    uint64_t hash() const { return hash_; }
    uint64_t completed() const { return completed_; }
    uint64_t timeouts() const { return timeouts_; }
    std::function<void(uint64_t)> on_completion; // how many so far

private:
    static constexpr Duration time_out = Duration::us(900);
    struct Customer : Event { // its timer
        ClosedLoop* world;
        uint32_t number;
        uint64_t command = 0; // the one it waits for
        Instant deadline;
        bool armed = false;
    };
    struct Command : Event {
        ClosedLoop* world;
        Customer* customer;
        uint64_t number;
        uint32_t path, epoch;
        Duration on_link, in_device;
    };
    struct Path {
        FifoStation link, device;
        EventQueue link_queue, device_queue;
        bool link_busy = false, serving = false, dead = false;
        uint32_t epoch = 0;
    };

    Calendar& calendar_;
    Form form_;
    Random random_;
    std::deque<Customer> customers_;
    std::deque<Command> commands_;
    std::vector<Command*> free_;
    Path paths_[2];
    uint64_t hash_ = 0, completed_ = 0, timeouts_ = 0, issued_ = 0;

    void note(uint64_t what, const Customer& c) {
        hash_ = mix(hash_ ^ static_cast<uint64_t>(calendar_.now().since_start().count_ps())) +
                (what << 32) + c.number;
    }
    Duration draw(int64_t mean_ps) {
        return Duration::ps(
            1 + static_cast<int64_t>(random_.below(2 * static_cast<uint64_t>(mean_ps))));
    }
    void issue(Customer& c) {
        Command* k;
        if (free_.empty()) k = &commands_.emplace_back();
        else k = free_.back(), free_.pop_back();
        k->world = this;
        k->customer = &c;
        k->number = c.command = ++issued_;
        k->path = paths_[0].dead;
        k->epoch = paths_[k->path].epoch;
        k->on_link = draw(800'000);
        k->in_device = draw(1'000'000);
        c.deadline = calendar_.now() + time_out;
        if (!c.armed) {
            c.armed = true;
            calendar_.schedule(c, c.deadline);
        }
        Path& p = paths_[k->path];
        if (form_ == Form::collapsed) {
            const Instant through = p.link.serve(calendar_.now(), k->on_link);
            k->fire = [](Event& e) {
                auto& command = static_cast<Command&>(e);
                command.world->done(command);
            };
            calendar_.schedule(*k, p.device.serve(through, k->in_device));
            return;
        }
        p.link_queue.push(*k);
        if (!p.link_busy) start_link(p);
    }
    void start_link(Path& p) {
        auto& k = static_cast<Command&>(p.link_queue.pop());
        p.link_busy = true;
        k.fire = [](Event& e) {
            auto& command = static_cast<Command&>(e);
            command.world->off_link(command);
        };
        calendar_.schedule(k, calendar_.now() + k.on_link);
    }
    void off_link(Command& k) {
        Path& p = paths_[k.path];
        if (!p.dead) {
            p.device_queue.push(k);
            if (!p.serving) start_device(p);
        }
        p.link_busy = false;
        if (!p.link_queue.empty()) start_link(p);
    }
    void start_device(Path& p) {
        auto& k = static_cast<Command&>(p.device_queue.pop());
        p.serving = true;
        k.fire = [](Event& e) {
            auto& command = static_cast<Command&>(e);
            Path& path = command.world->paths_[command.path];
            if (command.epoch == path.epoch) {
                path.serving = false;
                if (!path.device_queue.empty()) command.world->start_device(path);
            }
            command.world->done(command);
        };
        calendar_.schedule(k, calendar_.now() + k.in_device);
    }
    void done(Command& k) {
        const bool lost = k.epoch != paths_[k.path].epoch;
        Customer& c = *k.customer;
        const bool late = c.command != k.number;
        free_.push_back(&k);
        if (lost || late) return;
        completed_++;
        note(1, c);
        issue(c);
        if (on_completion) on_completion(completed_);
    }
    void timer(Customer& c) {
        if (calendar_.now() < c.deadline) return calendar_.schedule(c, c.deadline);
        c.armed = false;
        timeouts_++;
        note(2, c);
        issue(c);
    }
};

} // namespace storlab::testing
