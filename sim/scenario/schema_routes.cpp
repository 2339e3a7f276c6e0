// Which targets each machine of a load aims at, how it reaches them, and how it chooses among
// paths.
#include "sim/scenario/schema.hpp"
#include <algorithm>
#include <array>
#include <set>

namespace storlab {

namespace {
constexpr std::array<std::string_view, 6> policies{"round-robin",  "queue-length", "queue-depth",
                                                   "service-time", "nearest",      "most-recent"};

// Switches that are joined, under the name of one of them.
using Fabrics = std::map<std::string, std::string, std::less<>>;
Fabrics fabrics_of(const Scenario& s) {
    Fabrics name_of;
    for (const NetworkSwitchSchema& w : s.switches) name_of[w.name] = w.name;
    for (const CableSchema& c : s.cables) {
        const auto a = name_of.find(c.a), b = name_of.find(c.b);
        if (a == name_of.end() || b == name_of.end() || a->second == b->second) continue;
        const std::string from = a->second, to = b->second;
        for (auto& [w, name] : name_of)
            if (name == from) name = to;
    }
    return name_of;
}
const CableSchema* cable_in(const Scenario& s, std::string_view port) {
    for (const CableSchema& c : s.cables)
        if (c.a == port || c.b == port) return &c;
    return nullptr;
}
const std::string& other_end(const CableSchema& c, std::string_view port) {
    return c.a == port ? c.b : c.a;
}
// Where a port leads: to a fabric of switches, or straight to another port; nowhere: empty.
std::string led_from(std::string_view port, const Scenario& s, const Fabrics& fabrics) {
    const CableSchema* c = cable_in(s, port);
    if (!c) return {};
    const std::string& end = other_end(*c, port);
    const auto fabric = fabrics.find(end);
    return fabric == fabrics.end() ? end : fabric->second;
}

std::vector<std::string> ports_that_carry(const MachineSchema& m, Protocol protocol) {
    std::vector<std::string> all;
    for (const CardSchema& c : m.cards)
        for (const PortSchema& p : c.ports)
            if (c.part && carries(c, p, protocol)) all.push_back(p.path);
    return all;
}

// "red (line 12), blue (line 13)": where the cables of some ports lead.
std::string led_to(const Scenario& s, const std::vector<std::string>& ports) {
    std::vector<std::string> seen;
    std::string text;
    for (const std::string& p : ports)
        if (const CableSchema* c = cable_in(s, p)) {
            const std::string& end = other_end(*c, p);
            if (std::find(seen.begin(), seen.end(), end) != seen.end()) continue;
            seen.push_back(end);
            if (seen.size() > 4) return text + " and more";
            text += (text.empty() ? "" : ", ") + in_quotes(end) + " (cable " + in_quotes(c->text) +
                    ", line " + std::to_string(c->place.line) + ")";
        }
    return text;
}

// What keeps a machine from an array that is not its own; nothing if there is a way.
std::optional<std::string> cut_off(const Scenario& s, const MachineSchema& m,
                                   const ArraySchema& a) {
    if (!a.exported)
        return "array " + in_quotes(a.name) + " is on " + in_quotes(a.machine) +
               " and has no export; machine " + in_quotes(m.name) + " cannot reach it";
    if (!m.has_ports())
        return "machine " + in_quotes(m.name) + " has no ports to reach " + in_quotes(a.name) +
               " with; give it a card of kind hba, nic or dpu";
    const ExportSchema& e = *a.exported;
    const auto mine = ports_that_carry(m, e.protocol);
    const std::string protocol(to_string(e.protocol));
    if (mine.empty())
        return "no port of machine " + in_quotes(m.name) + " carries " + protocol + ", by which " +
               in_quotes(a.name) + " is exported";
    if (!s.cables_sound || e.ports.empty()) return std::nullopt;
    const Fabrics fabrics = fabrics_of(s);
    std::set<std::string> reached;
    for (const std::string& p : e.ports) reached.insert(p), reached.insert(led_from(p, s, fabrics));
    reached.erase("");
    for (const std::string& p : mine)
        if (reached.contains(led_from(p, s, fabrics))) return std::nullopt;
    const std::string here = led_to(s, mine), there = led_to(s, e.ports);
    return "no route from machine " + in_quotes(m.name) + " to the export of " + in_quotes(a.name) +
           ": " +
           (here.empty() ? "no cable is in a port of the machine that carries " + protocol
                         : "the machine's cables lead to " + here) +
           (there.empty() ? "" : ", those of the export to " + there);
}

// Arrays that the load's machines have to reach over a fabric; complains about those they cannot,
// and about drives.
std::vector<const ArraySchema*> reach(const Node& from, const Node& to, const LoadSchema& load,
                                      const Scenario& s, bool& inside) {
    std::vector<const ArraySchema*> remote;
    std::set<std::string> told; // of an array or drive
    for (size_t n = 0; n < load.from.size(); n++) {
        const MachineSchema& m = *s.machine(load.from[n]);
        for (const std::string& target : share_of(load, n)) {
            if (s.machine_of(target) == m.name) continue;
            inside = false;
            const ArraySchema* a = s.array_of(target);
            if (!a) {
                if (told.insert(target).second)
                    to.complain("drive " + in_quotes(target) + " is not in machine " +
                                in_quotes(m.name) + ": only arrays are exported");
                continue;
            }
            if (std::find(remote.begin(), remote.end(), a) == remote.end()) remote.push_back(a);
            if (told.contains(a->name)) continue;
            if (const auto why = cut_off(s, m, *a)) {
                told.insert(a->name);
                (from ? from : to).complain(*why);
            }
        }
    }
    return remote;
}
} // namespace

std::string_view to_string(PathSelector policy) { return policies[static_cast<size_t>(policy)]; }

bool has_route(const Scenario& s, std::string_view port, std::string_view other) {
    const Fabrics fabrics = fabrics_of(s);
    const std::string at = led_from(port, s, fabrics);
    return !at.empty() && (at == other || at == led_from(other, s, fabrics));
}
bool is_cabled(const Scenario& s, std::string_view port) { return cable_in(s, port) != nullptr; }

std::span<const std::string> share_of(const LoadSchema& load, size_t n) {
    const std::span<const std::string> all(load.to);
    if (!load.split || load.from.empty()) return all;
    const size_t each = all.size() / load.from.size();
    return all.subspan(n * each, each);
}

bool needs_fabric(const LoadSchema& load, const Scenario& s) {
    if (load.from.size() != 1) return true;
    return std::any_of(load.to.begin(), load.to.end(), [&](const std::string& target) {
        const ArraySchema* a = s.array_of(target);
        return s.machine_of(target) != load.from.front() || (a && a->name != target);
    });
}

void read_sharing(Fields& f, const Node& from, const Node& to, LoadSchema& load) {
    const Node node = f.optional("volumes");
    const bool several = load.from.size() > 1;
    const std::string how = node.as_one_of({"split", "shared"}, several ? "split" : "shared");
    load.split = several && how == "split";
    if (!load.split || load.to.size() % load.from.size() == 0) return;
    load.split = false;
    (node ? node
     : to ? to
          : from)
        .complain(std::to_string(load.to.size()) +
                  (load.to.size() == 1 ? " volume does" : " volumes do") + " not divide among " +
                  std::to_string(load.from.size()) +
                  " machines; write volumes: shared if all use all");
}

void read_paths(Fields& f, const Node& from, const Node& to, const Catalogue& catalogue,
                LoadSchema& load, Scenario& s) {
    const Node node = f.optional("paths");
    bool inside = !load.from.empty() && !load.to.empty();
    const auto remote = reach(from, to, load, s, inside);
    PathSchema p;
    p.place = node ? node.place() : load.place;
    std::optional<Fields> g;
    Node policy, ios, is;
    if (node) {
        g = node.map();
        policy = g->optional("policy"), ios = g->optional("ios"), is = g->optional("is");
    }
    if (policy) {
        const std::vector<std::string> words(policies.begin(), policies.end());
        const auto named = std::find(words.begin(), words.end(), policy.as_one_of(words, words[0]));
        p.policy = static_cast<PathSelector>(named - words.begin());
    }
    if (ios) p.ios = static_cast<uint32_t>(ios.as_count({1, 1'000'000}, 1));
    const bool any_export =
        std::any_of(remote.begin(), remote.end(), [](const ArraySchema* a) { return a->exported; });
    if (!any_export) {
        if (node && inside)
            node.complain("the load reaches everything it aims at inside its machine; paths are "
                          "of a fabric");
        return;
    }
    bool nvme = false, scsi = false;
    for (const ArraySchema* a : remote)
        if (a->exported) (is_nvme(a->exported->protocol) ? nvme : scsi) = true;
    if (nvme && scsi)
        to.complain("the load aims at SCSI and NVMe volumes; give each a load of its own");
    if (is) p.part = find_part(catalogue, is, "multipath");
    else {
        const std::string usual = nvme ? "linux-nvme-multipath" : "linux-dm-multipath";
        p.part = catalogue.find(usual, p.place);
        s.assumptions.push_back(
            {load.name + "/paths/is", usual, "assumed", "the scenario names none", {}});
    }
    if (node) {
        p.part.override_from(*g);
        g->finish();
    }
    load.paths = std::move(p);
}

} // namespace storlab
