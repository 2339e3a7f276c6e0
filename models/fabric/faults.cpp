#include "models/fabric/network.hpp"
#include "models/fabric/node.hpp"

namespace storlab {

void Network::set_cable(std::string_view name, CableState state) {
    const auto found = cable_named_.find(name);
    STORLAB_ENSURE(found != cable_named_.end());
    found->second->state = state;
    change(*found->second);
}

void Network::set_power(std::string_view name, bool on) {
    const auto means = [&](const FabricNode& n) {
        return n.name == name || (!n.is_switch && n.port.options.machine == name);
    };
    bool any = false;
    for (FabricNode& n : nodes_)
        if (means(n)) {
            n.powered = on;
            any = true;
        }
    STORLAB_ENSURE(any);
    if (!on)
        for (ConnectionPair& link : links_)
            for (ConnectionEnd& end : link.ends)
                if (!end.closed() && means(*end.port().node)) end.die_unheard();
    for (FabricCable& c : cables_)
        if (means(*c.a) || means(*c.b)) change(c);
}

void Network::change(FabricCable& c) {
    const bool lit = c.state != CableState::down && c.a->powered && c.b->powered;
    c.there->set_silent(c.state == CableState::silent);
    c.back->set_silent(c.state == CableState::silent);
    if (lit == c.lit) return;
    c.lit = lit;
    if (lit) {
        c.there->light();
        c.back->light();
    } else cut(c);
    reroute_->last = calendar_.now() + options_.reroute;
    if (reroute_->armed) return;
    reroute_->armed = true;
    reroute_->phase = Phase::timer;
    reroute_->fire = [](Event& e) { static_cast<Reroute&>(e).network->find_ways(); };
    calendar_.schedule(*reroute_, reroute_->last);
}

void Network::cut(FabricCable& c) {
    const Instant now = calendar_.now();
    EventQueue queued;
    c.there->darken(queued);
    c.back->darken(queued);
    while (!queued.empty()) lose(static_cast<Packet&>(queued.pop()));
    for (ConnectionPair& link : links_) {
        const auto at_cable = [&](const ConnectionEnd& end) {
            const FabricNode* const n = end.port().node;
            return n == c.a || n == c.b;
        };
        for (ConnectionEnd& end : link.ends) {
            if (end.closed()) continue;
            if (at_cable(end)) {
                if (end.dead()) continue;
                end.die();
                tell(end, Loss::link_down, now);
            } else if (!end.sends_again() && at_cable(end.peer()))
                tell(end, Loss::peer_gone, now + options_.fabric_notice);
        }
    }
}

void Network::find_ways() {
    if (calendar_.now() < reroute_->last) return calendar_.schedule(*reroute_, reroute_->last);
    reroute_->armed = false;
    for (ConnectionPair& link : links_) {
        if (link.ends[0].dead() || link.ends[1].dead() || set_routes(link)) continue;
        for (ConnectionEnd& end : link.ends)
            if (!end.sends_again())
                tell(end, Loss::peer_gone, calendar_.now() + options_.fabric_notice);
    }
}

std::vector<std::string> Network::cable_names() const {
    std::vector<std::string> names;
    for (const FabricCable& c : cables_) names.push_back(c.name);
    return names;
}
std::vector<std::string> Network::port_names() const {
    std::vector<std::string> names;
    for (const FabricNode& n : nodes_)
        if (!n.is_switch) names.push_back(n.name);
    return names;
}

} // namespace storlab
