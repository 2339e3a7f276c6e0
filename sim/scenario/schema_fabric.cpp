// Cards with ports, machines of a group, switches outside of machines.
#include "sim/scenario/schema_fabric.hpp"
#include "sim/scenario/schema.hpp"
#include <algorithm>
#include <array>
#include <set>

namespace storlab {

namespace {
constexpr std::array<std::string_view, 4> card_kinds{"raid-card", "hba", "nic", "dpu"};
constexpr int64_t most_machines = 256, most_drives = 65536; // of a scenario

// The speeds a port can have, fastest first, all of one technology.
std::vector<const LinkSpeed*> speeds_of(const Part& part) {
    const Node node = part.node("port_speeds");
    std::vector<const LinkSpeed*> speeds;
    const std::string text = node.as_text();
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(' ', at), text.size());
        try {
            if (end > at)
                speeds.push_back(&parse_link_speed(text.substr(at, end - at), node.place()));
        } catch (const InputError& error) {
            node.complaints()->add(error);
            return {};
        }
        at = end + 1;
    }
    if (speeds.empty() && node.is_scalar()) node.complain("port_speeds names no speed");
    for (const LinkSpeed* s : speeds) {
        if (s->kind == speeds.front()->kind) continue;
        node.complain("port_speeds " + in_quotes(text) + " are of two technologies");
        return {};
    }
    std::stable_sort(speeds.begin(), speeds.end(),
                     [](const LinkSpeed* a, const LinkSpeed* b) { return a->rate() > b->rate(); });
    return speeds;
}

void move_to(std::string& path, size_t old_name, const std::string& name) {
    path = name + path.substr(old_name);
}
} // namespace

std::string_view to_string(CardKind kind) { return card_kinds[static_cast<size_t>(kind)]; }

Part find_card(const Catalogue& catalogue, const Node& is, CardKind& kind) {
    if (!is) return {};
    const Part part = catalogue.find(is.as_text(), is.place(), card_kinds);
    if (!part) return part;
    const auto found = std::find(card_kinds.begin(), card_kinds.end(), part.kind());
    if (found == card_kinds.end()) {
        is.complain("part " + in_quotes(part.name()) + " is of kind " + part.kind() +
                    "; expected raid-card, hba, nic or dpu");
        return {};
    }
    kind = static_cast<CardKind>(found - card_kinds.begin());
    return part;
}

void add_ports(CardSchema& card, const std::string& machine) {
    if (!card.part || card.kind == CardKind::raid) return;
    const int64_t n = card.part.count("ports", {1, 16});
    const auto speeds = speeds_of(card.part);
    for (int64_t i = 0; i < n; i++)
        card.ports.push_back({machine + "/" + card.name + "/port/" + std::to_string(i), speeds});
}

void add_machines(MachineSchema first, const Node& count, const std::string& name, Scenario& s) {
    const int64_t n = count.as_count({1, most_machines}, 1);
    size_t drives = 0;
    for (const MachineSchema& m : s.machines) drives += m.drives.size();
    if (std::ssize(s.machines) + n > most_machines ||
        static_cast<int64_t>(drives + first.drives.size() * static_cast<size_t>(n)) > most_drives) {
        s.machines.push_back(std::move(first));
        count.complain("a scenario takes at most " + std::to_string(most_machines) +
                       " machines and " + std::to_string(most_drives) + " drives");
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        s.machines.push_back(first);
        MachineSchema& m = s.machines.back();
        const size_t old = first.name.size();
        m.name = name + "/" + std::to_string(i);
        for (DriveSchema& d : m.drives) move_to(d.path, old, m.name);
        for (CardSchema& c : m.cards)
            for (PortSchema& p : c.ports) move_to(p.path, old, m.name);
    }
    s.machines.insert(s.machines.end() - (n - 1), std::move(first));
}

void read_network_switches(const Node& node, const Catalogue& catalogue, Scenario& s) {
    if (!node) return;
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        NetworkSwitchSchema w;
        w.name = e.key;
        w.place = e.key_place;
        w.part = find_part(catalogue, f.required("is"), "network-switch");
        w.part.override_from(f);
        f.finish();
        if (w.part) {
            w.ports = static_cast<uint32_t>(w.part.count("ports", {1, 1024}));
            w.speeds = speeds_of(w.part);
        }
        if (const auto other = used_as(s, e.key))
            node.complaints()->add(e.key_place,
                                   in_quotes(e.key) + " is already the name of " + *other);
        else s.switches.push_back(std::move(w));
    }
}

std::optional<std::string> used_as(const Scenario& s, std::string_view name) {
    for (const MachineSchema& m : s.machines)
        if (path_steps(m.name).front() == name) return "a machine";
    for (const NetworkSwitchSchema& w : s.switches)
        if (w.name == name) return "a switch";
    for (const ArraySchema& a : s.arrays)
        if (a.name == name) return "an array";
    return std::nullopt;
}

std::vector<int> read_interrupts(const Node& node, const MachineSchema& m) {
    if (!node || !node.is_scalar()) return node.as_text(), std::vector<int>();
    const std::string text = node.as_text();
    const auto number = [](std::string_view digits) -> int64_t {
        if (digits.empty() || digits.size() > 6) return -1;
        int64_t n = 0;
        for (const char c : digits) {
            if (c < '0' || c > '9') return -1;
            n = n * 10 + (c - '0');
        }
        return n;
    };
    constexpr int64_t no_limit = 1 << 20;
    const int64_t cpus = m.cpu ? m.sockets * m.cpu.count("cores", {1, 1024}) *
                                     m.cpu.count("threads_per_core", {1, 8})
                               : no_limit;
    std::set<int> all;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string word = text.substr(at, end - at);
        const size_t dash = std::min(word.find('-'), word.size());
        const int64_t from = number(word.substr(0, dash));
        const int64_t to = dash == word.size() ? from : number(word.substr(dash + 1));
        if (from < 0 || to < from) {
            node.complain(in_quotes(text) + " is no list of CPUs; write, for example, 0-13,32-45");
            return {};
        }
        if (to >= cpus) {
            node.complain("there is no CPU " + std::to_string(to) + ": '" + m.name + "' has " +
                          std::to_string(cpus) + ", counted from 0");
            return {};
        }
        for (int64_t cpu = from; cpu <= to; cpu++) all.insert(static_cast<int>(cpu));
        at = end + 1;
    }
    return {all.begin(), all.end()};
}

bool MachineSchema::has_ports() const {
    return std::any_of(cards.begin(), cards.end(),
                       [](const CardSchema& c) { return !c.ports.empty(); });
}
const NetworkSwitchSchema* Scenario::network_switch(std::string_view name) const {
    for (const NetworkSwitchSchema& w : switches)
        if (w.name == name) return &w;
    return nullptr;
}
const PortSchema* Scenario::port(std::string_view path) const {
    for (const MachineSchema& m : machines)
        if (path.starts_with(m.name))
            for (const CardSchema& c : m.cards)
                for (const PortSchema& p : c.ports)
                    if (p.path == path) return &p;
    return nullptr;
}
const ArraySchema* Scenario::array_of(std::string_view target) const {
    for (const ArraySchema& a : arrays) {
        if (a.name == target) return &a;
        if (!target.starts_with(a.name)) continue;
        for (const VolumeSchema& v : a.volumes)
            if (v.path == target) return &a;
    }
    return nullptr;
}
Bytes Scenario::size_of(std::string_view target) const {
    if (const ArraySchema* a = array_of(target)) {
        for (const VolumeSchema& v : a->volumes)
            if (v.path == target) return v.size;
        return a->capacity;
    }
    const DriveSchema* d = drive(target);
    return d && d->part ? d->part.size("capacity") : Bytes();
}
const std::string& Scenario::machine_of(std::string_view target) const {
    if (const ArraySchema* a = array_of(target)) return a->machine;
    for (const MachineSchema& m : machines)
        if (target.starts_with(m.name))
            for (const DriveSchema& d : m.drives)
                if (d.path == target) return m.name;
    broken("a target of the scenario", __FILE__, __LINE__);
}

} // namespace storlab
