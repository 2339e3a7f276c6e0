// Packets that wait for the wire out of a port. Connections take turns, packet by packet, as the
// queues of network cards and the exchanges of HBAs do, so that one whose way is congested does not
// hold the others; a connection's own packets stay in order.
#pragma once
#include "models/fabric/packet.hpp"

namespace storlab {

class FairQueue {
public:
    struct Lane { // of a connection; it sends by one port
        EventQueue packets;
        Lane* next = nullptr;
    };
    bool empty() const { return !first_; }
    void push(Lane& lane, Packet& p) {
        if (lane.packets.empty()) append(lane);
        lane.packets.push(p);
    }
    Packet& pop() {
        Lane& lane = *first_;
        first_ = lane.next;
        auto& p = static_cast<Packet&>(lane.packets.pop());
        if (!lane.packets.empty()) append(lane);
        return p;
    }

private:
    Lane *first_ = nullptr, *last_ = nullptr;

    void append(Lane& lane) {
        lane.next = nullptr;
        (first_ ? last_->next : first_) = &lane;
        last_ = &lane;
    }
};

} // namespace storlab
