// What lies between machines, as a graph: ports of cards, switches and the cables between them.
#include "models/fabric/wire.hpp"
#include "sim/scenario/build_fabric.hpp"
#include "sim/scenario/wiring.hpp"
#include <map>
#include <set>

namespace storlab {

namespace {
// A port with its card.
struct Socket {
    const PortSchema* port;
    const CardSchema* card;
    FabricKind kind() const { return port->speeds.front()->kind; }
};

class FabricGraph {
public:
    FabricGraph(Graph& g, const Scenario& s, const Traffic& t) : g_(g), s_(s), t_(t) {
        for (const MachineSchema& m : s.machines)
            for (const CardSchema& c : m.cards)
                for (const PortSchema& p : c.ports) sockets_[p.path] = {&p, &c};
        if (!t.load) return;
        for (const ArraySchema* a : arrays())
            serving_.insert(a->exported->ports.begin(), a->exported->ports.end());
        for (const std::string& m : t.load->from)
            for (const CardSchema& c : s.machine(m)->cards)
                for (const PortSchema& p : c.ports) asking_.insert(p.path);
    }
    void add() {
        for (const NetworkSwitchSchema& w : s_.switches)
            g_.add({w.name, ThingKind::network_switch, unlimited, {}});
        for (const MachineSchema& m : s_.machines)
            for (const CardSchema& c : m.cards)
                for (const PortSchema& p : c.ports) {
                    g_.add({p.path, ThingKind::port, unlimited, {}});
                    g_.connect({p.path, join_path(m.name, c.name), p.path,
                                leaves(p.path) ? unlimited : Rate{},
                                enters(p.path) ? unlimited : Rate{}});
                }
        for (const CableSchema& c : s_.cables) {
            const CableOptions o = cable_options(c, s_);
            const auto rate = [&](const std::string& from, const std::string& to) {
                return leaves(from) && enters(to) ? rate_from(from, o) : Rate{};
            };
            g_.connect({o.name, c.a, c.b, rate(c.a, c.b), rate(c.b, c.a)});
        }
    }

private:
    Graph& g_;
    const Scenario& s_;
    const Traffic& t_;
    std::map<std::string, Socket, std::less<>> sockets_;
    std::set<std::string> serving_, asking_;
    std::map<FabricKind, double> efficiency_;

    // Those that are exported, of those the load aims at.
    std::vector<const ArraySchema*> arrays() const {
        std::vector<const ArraySchema*> all;
        for (const ArraySchema& a : s_.arrays) {
            bool wanted = !t_.load;
            if (t_.load)
                for (const std::string& to : t_.load->to) wanted |= s_.array_of(to) == &a;
            if (wanted && a.exported) all.push_back(&a);
        }
        return all;
    }
    // Whether data may go out of a port into its cable, or the other way; a switch lets all pass.
    bool leaves(const std::string& end) const {
        return !t_.load || !sockets_.contains(end) ||
               (t_.writes ? asking_ : serving_).contains(end);
    }
    bool enters(const std::string& end) const {
        return !t_.load || !sockets_.contains(end) ||
               (t_.writes ? serving_ : asking_).contains(end);
    }
    // As models/fabric/network.cpp makes a wire, for the data in full frames.
    Rate rate_from(const std::string& end, const CableOptions& o) {
        Rate rate = o.speed.rate();
        if (o.credits)
            rate = credit_rate(o.credits, FrameFormat::fibre_channel().full_frame(), rate,
                               per_metre.scaled(o.metres));
        if (const auto at = sockets_.find(end); at != sockets_.end())
            rate = rate.scaled(port_options(*at->second.card).usable_share);
        return rate.scaled(efficiency(o.speed.kind));
    }
    // The best of any two cards that may talk over such cables; where none does, all of the line.
    double efficiency(FabricKind kind) {
        const auto [at, fresh] = efficiency_.emplace(kind, 0);
        if (!fresh) return at->second;
        for (const ArraySchema* a : arrays())
            for (const std::string& port : a->exported->ports) {
                const Socket& server = sockets_.at(port);
                if (server.kind() != kind) continue;
                for (const auto& [path, client] : sockets_)
                    if (client.kind() == kind && (!t_.load || asking_.contains(path)) &&
                        carries(*client.card, *client.port, a->exported->protocol))
                        at->second = std::max(at->second, frame_format(a->exported->protocol, kind,
                                                                       *client.card, *server.card)
                                                              .efficiency());
            }
        if (at->second == 0) at->second = 1;
        return at->second;
    }
};
} // namespace

void add_fabric(Graph& g, const Scenario& s, const Traffic& t) { FabricGraph(g, s, t).add(); }

} // namespace storlab
