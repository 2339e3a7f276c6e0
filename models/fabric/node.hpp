// What a network keeps of its ports, switches and cables: the graph that routes are found in and
// faults are looked up in. Messages do not touch it, except a port's interrupts.
#pragma once
#include "models/fabric/network.hpp"

namespace storlab {

struct Cable {
    std::string name;
    Node *a, *b;
    Wire *there = nullptr, *back = nullptr; // a to b, b to a
    CableState state = CableState::up;
    bool lit = true;
};

struct Port {
    PortOptions options;
    Instant next_interrupt;
    uint32_t waiting = 0; // messages for it
    uint64_t interrupts = 0;
    Node* node = nullptr;
};

struct Node {
    std::string name;
    bool is_switch = false, powered = true;
    SwitchOptions as_switch = {};
    Port port = {};
    struct Way {
        Node* to;
        Wire *out, *in;
        Cable* cable;
    };
    std::vector<Way> ways = {};
    uint32_t distance = 0; // to where a route is being looked for; 0: not reached
};

struct Network::Reroute : Event {
    Network* network;
    bool armed = false;
    Instant last; // the last change is to be looked at by then
};

} // namespace storlab
