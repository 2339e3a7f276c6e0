// PCIe of a machine: slots, switches, and which device hangs where. Every device has lanes of its
// own, of a socket or of the switch it is behind: there are only so many.
#include "sim/scenario/schema.hpp"
#include <algorithm>
#include <array>
#include <charconv>

namespace storlab {

namespace {
std::optional<int> number_after(std::string_view word, std::string_view prefix) {
    if (!word.starts_with(prefix)) return std::nullopt;
    word.remove_prefix(prefix.size());
    int n = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return n;
}

std::string sockets_in_words(uint32_t n) {
    return std::to_string(n) + (n == 1 ? " socket" : " sockets");
}

// Lanes of a socket or a switch as they are given away.
struct Lanes {
    int64_t there = 0, taken = 0;
    std::optional<SourcePlace> beyond; // the first device there is no room for
    void give(int64_t lanes, const SourcePlace& place) {
        taken += lanes;
        if (taken > there && !beyond) beyond = place;
    }
};
} // namespace

Part find_part(const Catalogue& catalogue, const Node& is, std::string_view kind) {
    if (!is) return {};
    const Part part = catalogue.find(is.as_text(), is.place(), std::array{kind});
    return part && part.require_kind(kind, is.place()) ? part : Part();
}

Slot parse_slot(std::string_view text, const SourcePlace& place) {
    Slot s;
    std::string_view rest = text;
    bool socket_next = false, wrong = false;
    while (!rest.empty()) {
        const size_t space = rest.find(' ');
        const std::string_view word = rest.substr(0, space);
        rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
        if (word.empty()) continue;
        if (socket_next) {
            const auto n = number_after(word, "");
            s.socket = n.value_or(0);
            wrong |= !n;
            socket_next = false;
            s.names_socket = true;
        } else if (const auto lanes = number_after(word, "x")) s.lanes = *lanes;
        else if (const auto generation = number_after(word, "gen")) s.generation = *generation;
        else if (word == "socket") socket_next = true;
        else wrong = true;
    }
    const bool lanes_ok =
        s.lanes == 1 || s.lanes == 2 || s.lanes == 4 || s.lanes == 8 || s.lanes == 16;
    if (wrong || socket_next || !lanes_ok || s.generation < 3 || s.generation > 5 || s.socket < 0)
        throw InputError(place, in_quotes(text) +
                                    " is not a slot; write, for example, x8 gen4 socket 0 "
                                    "(x1 to x16, gen3 to gen5)");
    return s;
}

Slot read_slot(const Node& node, const Part& part, const SourcePlace& place,
               const MachineSchema& m) {
    Slot slot;
    const Node own = part ? part.node("link") : Node();
    try {
        if (node) slot = parse_slot(node.as_text(), node.place());
        else if (own) slot = parse_slot(own.as_text(), place);
    } catch (const InputError& error) { (node ? node : own).complaints()->add(error); }
    if (static_cast<uint32_t>(slot.socket) < m.sockets) return slot;
    (node ? node : own)
        .complain("there is no socket " + std::to_string(slot.socket) + ": '" + m.name + "' has " +
                  sockets_in_words(m.sockets) + ", counted from 0");
    slot.socket = 0;
    return slot;
}

void read_switches(const Node& node, const Catalogue& catalogue, MachineSchema& m) {
    if (!node) return;
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        SwitchSchema s{
            e.key, find_part(catalogue, f.required("is"), "pcie-switch"), {}, e.key_place};
        s.slot = read_slot(f.optional("slot"), s.part, e.key_place, m);
        s.part.override_from(f);
        f.finish();
        m.switches.push_back(std::move(s));
    }
}

std::string read_behind(const Node& node, const MachineSchema& m) {
    const std::string name = node.as_text();
    if (!node || m.pcie_switch(name)) return name;
    std::vector<std::string> names;
    for (const SwitchSchema& s : m.switches) names.push_back(s.name);
    node.complain("no switch " + in_quotes(name) + " in '" + m.name + "'" +
                  did_you_mean(name, names));
    return {};
}

const SwitchSchema* MachineSchema::pcie_switch(std::string_view wanted) const {
    for (const SwitchSchema& s : switches)
        if (s.name == wanted) return &s;
    return nullptr;
}

namespace {
// Drives that name no socket go, one after the other, to the one with the most lanes left.
std::vector<Lanes> give_lanes(MachineSchema& m, std::map<std::string, Lanes>& behind) {
    std::vector<Lanes> sockets(m.sockets,
                               {m.server.count("lanes_per_socket", {1, 1 << 20}), 0, {}});
    for (const SwitchSchema& s : m.switches) {
        sockets[static_cast<size_t>(s.slot.socket)].give(s.slot.lanes, s.place);
        behind[s.name].there = s.part ? s.part.count("lanes", {1, 1024}) - s.slot.lanes : 1 << 20;
    }
    for (const CardSchema& c : m.cards)
        (c.behind.empty() ? sockets[static_cast<size_t>(c.slot.socket)] : behind[c.behind])
            .give(c.slot.lanes, c.place);
    const auto lanes_of = [](const DriveSchema& d) {
        return d.part ? parse_slot(d.part.text("host_link"), d.place).lanes : 0;
    };
    for (DriveSchema& d : m.drives) {
        if (!d.behind.empty()) {
            d.socket = static_cast<uint32_t>(m.pcie_switch(d.behind)->slot.socket);
            behind[d.behind].give(lanes_of(d), d.place);
        } else if (d.socket != DriveSchema::any_socket)
            sockets[d.socket].give(lanes_of(d), d.place);
    }
    for (DriveSchema& d : m.drives) {
        if (d.socket != DriveSchema::any_socket) continue;
        const auto freest =
            std::max_element(sockets.begin(), sockets.end(), [](const Lanes& a, const Lanes& b) {
                return a.there - a.taken < b.there - b.taken;
            });
        d.socket = static_cast<uint32_t>(freest - sockets.begin());
        freest->give(lanes_of(d), d.place);
    }
    return sockets;
}
} // namespace

void settle_pcie(MachineSchema& m, const Node& server, Scenario& scenario) {
    if (!m.server || !server) return;
    bool free_to_choose = false;
    for (const DriveSchema& d : m.drives) free_to_choose |= d.socket == DriveSchema::any_socket;
    if (m.sockets > 1 && free_to_choose)
        scenario.assumptions.push_back({m.name + "/drives/socket",
                                        "spread over " + sockets_in_words(m.sockets),
                                        "assumed",
                                        "the scenario gives none",
                                        {}});
    std::map<std::string, Lanes> behind;
    std::vector<Lanes> sockets;
    try {
        sockets = give_lanes(m, behind);
    } catch (const InputError&) { // a host_link that is no slot: check_values says where
        return;
    }
    Lanes all;
    for (const Lanes& l : sockets) all.there += l.there, all.taken += l.taken;
    if (all.taken > all.there)
        server.complain("cards and drives of '" + m.name + "' take " + std::to_string(all.taken) +
                        " PCIe lanes, but its " + sockets_in_words(m.sockets) +
                        (m.sockets == 1 ? " has " : " have ") + std::to_string(all.there));
    else
        for (size_t n = 0; n < sockets.size(); n++)
            if (const Lanes& l = sockets[n]; l.beyond)
                server.complaints()->add(
                    *l.beyond, "socket " + std::to_string(n) + " of '" + m.name + "' has " +
                                   std::to_string(l.there) + " PCIe lanes; cards, switches and " +
                                   "drives on it take " + std::to_string(l.taken));
    for (const auto& [name, l] : behind)
        if (l.beyond)
            server.complaints()->add(
                *l.beyond, "switch '" + name + "' has " +
                               std::to_string(std::max<int64_t>(0, l.there)) +
                               " PCIe lanes besides its uplink; cards and drives behind " +
                               "it take " + std::to_string(l.taken));
}

} // namespace storlab
