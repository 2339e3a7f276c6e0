#include "models/fabric/network.hpp"
#include "models/fabric/node.hpp"

namespace storlab {

// Distances from the far end, breadth first; then down, taking equally good ways in turn. Ports
// have one cable, so that no way leads through them.
bool Network::find_way(FabricNode& from, FabricNode& to, uint64_t ordinal, WirePath& there,
                       WirePath& back) {
    STORLAB_ENSURE(&from != &to);
    for (FabricNode& n : nodes_) n.distance = 0;
    std::deque<FabricNode*> reached{&to};
    to.distance = 1;
    for (; !reached.empty() && !from.distance; reached.pop_front()) {
        const FabricNode& n = *reached.front();
        for (const FabricNode::Way& w : n.ways)
            if (w.cable->lit && !w.to->distance) {
                w.to->distance = n.distance + 1;
                reached.push_back(w.to);
            }
    }
    if (!from.distance) return false;
    for (const FabricNode* n = &from; n != &to;) {
        std::vector<const FabricNode::Way*> ways;
        for (const FabricNode::Way& w : n->ways)
            if (w.cable->lit && w.to->distance == n->distance - 1) ways.push_back(&w);
        STORLAB_ENSURE(!ways.empty());
        const FabricNode::Way& way = *ways[ordinal % ways.size()];
        ordinal /= ways.size();
        there.push_back(way.out);
        back.insert(back.begin(), way.in);
        n = way.to;
    }
    return true;
}

const WirePath* Network::intern(WirePath route) {
    std::unique_ptr<const WirePath>& kept = routes_[route];
    if (!kept) kept = std::make_unique<const WirePath>(std::move(route));
    return kept.get();
}

bool Network::set_routes(ConnectionPair& link) {
    ConnectionEnd &a = link.ends[0], &b = link.ends[1];
    WirePath there, back;
    if (!find_way(*a.port().node, *b.port().node, link.ordinal, there, back)) return false;
    const uint32_t smallest = a.format().wire(0); // an acknowledgement
    Duration a_to_b, b_to_a;
    for (const Wire* w : there) a_to_b += w->base_time(smallest);
    for (const Wire* w : back) b_to_a += w->base_time(smallest);
    a.set_route(intern(std::move(there)), b_to_a);
    b.set_route(intern(std::move(back)), a_to_b);
    return true;
}

bool Network::reachable(std::string_view a, std::string_view b) {
    WirePath there, back;
    if (!find_way(port(a), port(b), 0, there, back)) return false;
    for (const Wire* w : there)
        if (!w->works()) return false;
    return true;
}

} // namespace storlab
