#include "sim/scenario/redundancy.hpp"
#include "sim/scenario/build_fabric.hpp"
#include "sim/topology/graph.hpp"
#include <algorithm>

namespace storlab {

namespace {
std::string card_of(std::string_view port) {
    return std::string(port.substr(0, port.rfind("/port/")));
}

// The ways of one machine to one array.
class Ways {
public:
    Ways(const Scenario& s, const MachineSchema& m, const ArraySchema& a) : s_(s), m_(m), a_(a) {}

    size_t paths() const {
        size_t n = 0;
        for (const CardSchema& c : m_.cards)
            for (const PortSchema& p : c.ports)
                for (const std::string& target : a_.exported->ports)
                    n += has_route(s_, p.path, target);
        return n;
    }
    size_t disjoint() const { return graph("").disjoint_paths(m_.name, a_.name).size(); }
    // Whatever all ways have in common is on the first.
    std::vector<std::string> single() const {
        const Route first = graph("").route(m_.name, a_.name);
        std::vector<std::string> found;
        const auto try_without = [&](std::string_view kind, const std::string& path) {
            if (graph(path).route(m_.name, a_.name).things.empty())
                found.push_back(named(kind, path));
        };
        for (size_t i = 1; i + 1 < first.things.size(); i++) {
            const std::string& thing = first.things[i];
            const bool port = s_.port(thing) != nullptr, mine = i == 1;
            if (port && mine) try_without("card", card_of(thing));
            try_without(port ? "port" : "switch", thing);
            if (port && !mine) try_without("card", card_of(thing));
            if (i + 2 < first.things.size()) try_without("cable", first.links[i]);
        }
        return found;
    }

private:
    const Scenario& s_;
    const MachineSchema& m_;
    const ArraySchema& a_;

    // Without one port, card, switch or cable.
    Graph graph(std::string_view without) const {
        Graph g;
        g.add({m_.name, ThingKind::machine, unlimited, {}});
        g.add({a_.name, ThingKind::array, unlimited, {}});
        const auto has = [&](const std::string& port) {
            return port != without && card_of(port) != without;
        };
        for (const NetworkSwitchSchema& w : s_.switches)
            if (w.name != without) g.add({w.name, ThingKind::network_switch, unlimited, {}});
        for (const CardSchema& c : m_.cards)
            for (const PortSchema& p : c.ports)
                if (has(p.path)) {
                    g.add({p.path, ThingKind::port, unlimited, {}});
                    g.connect({p.path, m_.name, p.path, unlimited, {}});
                }
        for (const std::string& p : a_.exported->ports)
            if (has(p)) {
                g.add({p, ThingKind::port, unlimited, {}});
                g.connect({p, p, a_.name, unlimited, {}});
            }
        for (const CableSchema& c : s_.cables)
            if (const std::string name = cable_name(c, s_);
                name != without && g.contains(c.a) && g.contains(c.b))
                g.connect({name, c.a, c.b, unlimited, unlimited});
        return g;
    }
    std::string named(std::string_view kind, const std::string& path) const {
        const bool own = path.starts_with(m_.name + "/");
        return (own ? "its " : "") + std::string(kind) + " " +
               (own ? path.substr(m_.name.size() + 1) : path);
    }
};
} // namespace

std::vector<Redundancy> redundancy_of(const Scenario& s, const LoadSchema& l) {
    std::vector<Redundancy> all;
    for (size_t n = 0; n < l.from.size(); n++) {
        const MachineSchema& m = *s.machine(l.from[n]);
        std::vector<const ArraySchema*> seen;
        for (const std::string& target : share_of(l, n)) {
            const ArraySchema* const a = s.array_of(target);
            if (!a || !a->exported || a->machine == m.name ||
                std::find(seen.begin(), seen.end(), a) != seen.end())
                continue;
            seen.push_back(a);
            const Ways ways(s, m, *a);
            Redundancy r{{m.name}, a->name, ways.paths(), ways.disjoint(), ways.single()};
            const auto alike = std::find_if(all.begin(), all.end(), [&](const Redundancy& o) {
                return o.array == r.array && o.paths == r.paths && o.disjoint == r.disjoint &&
                       o.single == r.single;
            });
            if (alike == all.end()) all.push_back(std::move(r));
            else alike->machines.push_back(m.name);
        }
    }
    return all;
}

} // namespace storlab
