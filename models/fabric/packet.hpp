// A message on its way: what the hardware knows of it beside its contents. It is the event of the
// calendar itself, at one place at a time; it comes from the network's pool and goes back there.
#pragma once
#include "sim/seam/message.hpp"

namespace storlab {

class ConnectionEnd;
class Wire;

struct Packet : Message {
    ConnectionEnd* end = nullptr;   // that sends it; the message's owner before and after has the
                                    // same connection
    Wire* const* hop = nullptr;     // where it is on its route
    Instant ready;                  // from when on it may start on that wire
    Instant tail;                   // when its last byte is where its head is now
    Instant sent;                   // last time it left its sender
    uint64_t sequence = 0;          // on its connection and direction
    uint32_t epoch = 0;             // of the wire when it entered
    uint32_t bytes = 0;             // on the wire
    uint32_t first = 0, last = 0;   // its first and last frame, on the wire
    uint32_t left = 0;              // of wire_bytes: not yet at the receiver
    uint32_t part = 0, missing = 0; // of those: under way now, and of these dropped
    bool signalled = false;         // waits for the receiver's interrupt
};

// Packets by sequence; they nearly always come in order.
class PacketList {
public:
    bool empty() const { return !head_; }
    Packet* front() const { return static_cast<Packet*>(head_); }
    void insert(Packet& p) {
        Event** at = &head_;
        if (head_ && sequence(tail_) < p.sequence) at = &tail_->next;
        else
            while (*at && sequence(*at) < p.sequence) at = &(*at)->next;
        p.next = *at;
        *at = &p;
        if (!p.next) tail_ = &p;
    }
    Packet& pop() {
        Packet& p = *front();
        head_ = p.next;
        return p;
    }

private:
    Event *head_ = nullptr, *tail_ = nullptr;
    static uint64_t sequence(const Event* e) { return static_cast<const Packet*>(e)->sequence; }
};

} // namespace storlab
