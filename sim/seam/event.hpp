// Something that happens at an instant. Intrusive: an event lives in the request, thread or
// coroutine frame it belongs to, so the calendar never allocates.
#pragma once
#include "sim/base/task.hpp"
#include "sim/base/time.hpp"
#include <cstdint>

namespace storlab {

// Order among events of one instant, before their order of scheduling. An I/O that completes at the
// date of a timeout has completed; a fault at a date precedes arrivals of that date.
enum class Phase : uint8_t { completion, arrival, timer, report };

struct Event {
    Instant at;
    Event* next = nullptr; // whoever holds the event links it: calendar slot, queue, stripe
    void (*fire)(Event&) = nullptr;
    Phase phase = Phase::completion;
};

// An event that resumes a coroutine.
struct Resume : Event {
    Handle waiter;
    Resume() {
        fire = [](Event& e) { static_cast<Resume&>(e).waiter.resume(); };
    }
};

// A first-in first-out list threaded through Event::next.
class EventQueue {
public:
    bool empty() const { return !head_; }
    Event* front() const { return head_; }
    void push(Event& e) {
        e.next = nullptr;
        (head_ ? tail_->next : head_) = &e;
        tail_ = &e;
    }
    Event& pop() {
        Event& e = *head_;
        head_ = e.next;
        return e;
    }
    // The front has been scheduled already, which reused its link: the queue goes on with
    // `following`.
    void drop_front(Event* following) { head_ = following; }

private:
    Event *head_ = nullptr, *tail_ = nullptr;
};

} // namespace storlab
