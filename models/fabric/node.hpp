// What a network keeps of its ports, switches and cables: the graph that routes are found in and
// faults are looked up in. Messages do not touch it, except a port's interrupts.
#pragma once
#include "models/fabric/network.hpp"

namespace storlab {

struct FabricCable {
    std::string name;
    FabricNode *a, *b;
    Wire *there = nullptr, *back = nullptr; // a to b, b to a
    CableState state = CableState::up;
    bool lit = true;
};

struct FabricPort {
    PortOptions options;
    Instant next_interrupt;
    uint32_t waiting = 0; // messages for it
    uint64_t interrupts = 0;
    FabricNode* node = nullptr;
};

struct FabricNode {
    std::string name;
    bool is_switch = false, powered = true;
    SwitchOptions as_switch = {};
    FabricPort port = {};
    struct Way {
        FabricNode* to;
        Wire *out, *in;
        FabricCable* cable;
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
