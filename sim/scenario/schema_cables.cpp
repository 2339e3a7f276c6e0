// cables: "storage/fc/*/port/0 to red". Each side names ports or a switch; ports are paired in
// order, a switch takes them all.
#include "sim/scenario/schema.hpp"
#include <algorithm>

namespace storlab {

namespace {
using Names = std::vector<std::string>;

struct End { // of one line of cables
    Names names;
    bool ports = false, switches = false;
};

std::string_view in_words(FabricKind kind) {
    switch (kind) {
    case FabricKind::fibre_channel: return "Fibre Channel";
    case FabricKind::ethernet: return "Ethernet";
    case FabricKind::infiniband: return "InfiniBand";
    case FabricKind::sas: break;
    }
    return "SAS";
}

class CableReader {
public:
    explicit CableReader(Scenario& s) : s_(s) {
        for (const MachineSchema& m : s.machines)
            for (const CardSchema& c : m.cards)
                for (const PortSchema& p : c.ports) ports_.push_back(p.path);
        for (const NetworkSwitchSchema& w : s.switches) switches_.push_back(w.name);
    }
    void read(const Node& item);

private:
    Scenario& s_;
    Names ports_, switches_;
    std::map<std::string, size_t, std::less<>> cable_of_; // of a port
    std::map<std::string, uint32_t> taken_;               // ports of a switch
    bool assumed_length_ = false;

    struct Line { // what is being read
        Node at;
        std::string text;
        double metres = 0;
        Node speed;
    };
    void complain(const Line& l, const std::string& what) const {
        l.at.complain("cable " + in_quotes(l.text) + ": " + what);
        s_.cables_sound = false;
    }
    double length(const Node& node);
    bool select(const Line& l, const std::string& side, End& end) const;
    std::string unknown(const PathPattern& p, const std::string& told) const;
    std::vector<const LinkSpeed*> speeds(const std::string& end) const;
    bool settle_speed(const Line& l, const std::string& a, const std::string& b,
                      const LinkSpeed*& settled) const;
    bool take(const Line& l, const std::string& end, size_t cable);
    void connect(const Line& l, const End& a, const End& b);
};

double CableReader::length(const Node& node) {
    constexpr double usual = 3, longest = 100e3;
    if (!node) {
        if (!assumed_length_)
            s_.assumptions.push_back(
                {"cables/length", "3 m", "assumed", "the scenario gives none", {}});
        assumed_length_ = true;
        return usual;
    }
    std::string text = node.as_text();
    double unit = 1;
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const size_t word = std::min(text.find_first_not_of(' ', digits), text.size());
    const std::string_view name = std::string_view(text).substr(word);
    if (name == "km") unit = 1000;
    double metres = -1;
    if (name == "m" || name == "km") try {
            metres = unit * parse_factor(text.substr(0, digits), node.place());
        } catch (const InputError&) { metres = -1; }
    if (node.is_scalar() && (metres <= 0 || metres > longest))
        node.complain(in_quotes(text) + " is no length of a cable; write, for example, 10 m (up "
                                        "to 100 km)");
    return metres > 0 ? metres : usual;
}

// What to say of a name that is neither a port nor a switch.
std::string CableReader::unknown(const PathPattern& p, const std::string& told) const {
    const PathPattern below(p.text() + "/port/*", p.place());
    for (const std::string& port : ports_)
        if (below.matches(port))
            return in_quotes(p.text()) + " is a card; name its ports: " + p.text() + "/port/*";
    if (p.text().find('/') == std::string::npos && !switches_.empty() &&
        did_you_mean(p.text(), switches_).empty()) {
        std::string list;
        for (const std::string& w : switches_) list += (list.empty() ? "" : ", ") + w;
        return "no switch " + in_quotes(p.text()) +
               (switches_.size() == 1 ? "; the only switch is " : "; switches are ") + list;
    }
    return told;
}

bool CableReader::select(const Line& l, const std::string& side, End& end) const {
    bool good = true;
    std::vector<PathPattern> patterns;
    try {
        patterns = parse_patterns(side, l.at.place());
    } catch (const InputError& error) {
        complain(l, error.complaints().front().what);
        return false;
    }
    for (const PathPattern& p : patterns) {
        const bool port = p.text().find('/') != std::string::npos;
        Complaints told;
        const Names found = select_names(std::span(&p, 1), port ? ports_ : switches_,
                                         port ? "port" : "switch", told);
        if (found.empty() && !told.empty()) complain(l, unknown(p, told.all().front().what));
        good &= !found.empty();
        (port ? end.ports : end.switches) |= !found.empty();
        end.names.insert(end.names.end(), found.begin(), found.end());
    }
    return good;
}

std::vector<const LinkSpeed*> CableReader::speeds(const std::string& end) const {
    if (const PortSchema* p = s_.port(end)) return p->speeds;
    return s_.network_switch(end)->speeds;
}

// False, with a complaint, if the two cannot be joined; none of two ends without speeds, which were
// complained about where they stand.
bool CableReader::settle_speed(const Line& l, const std::string& a, const std::string& b,
                               const LinkSpeed*& settled) const {
    const auto of_a = speeds(a), of_b = speeds(b);
    if (of_a.empty() || of_b.empty()) return true;
    const auto list = [](const std::vector<const LinkSpeed*>& all) {
        std::string text;
        for (const LinkSpeed* s : all) text += (text.empty() ? "" : ", ") + std::string(s->name);
        return text;
    };
    const FabricKind kind = of_a.front()->kind;
    if (kind != of_b.front()->kind)
        return complain(l, in_quotes(a) + " is " + std::string(in_words(kind)) + " (" + list(of_a) +
                               ") and " + in_quotes(b) + " is " +
                               std::string(in_words(of_b.front()->kind)) + " (" + list(of_b) + ")"),
               false;
    const auto has = [](const std::vector<const LinkSpeed*>& all, const LinkSpeed* s) {
        return std::find(all.begin(), all.end(), s) != all.end();
    };
    const auto common =
        std::find_if(of_a.begin(), of_a.end(), [&](const LinkSpeed* s) { return has(of_b, s); });
    const std::string both =
        in_quotes(a) + " can run at " + list(of_a) + " and " + in_quotes(b) + " at " + list(of_b);
    if (common == of_a.end()) return complain(l, both + ": no speed in common"), false;
    settled = *common;
    if (l.speed) {
        const LinkSpeed* wanted = nullptr;
        try {
            wanted = &parse_link_speed(l.speed.as_text(), l.speed.place());
        } catch (const InputError& error) {
            l.speed.complaints()->add(error);
            s_.cables_sound = false;
            return false;
        }
        if (!has(of_a, wanted) || !has(of_b, wanted))
            return complain(l, both + ", not both at " + std::string(wanted->name)), false;
        settled = wanted;
    } else if (kind == FabricKind::ethernet && of_a.front() != of_b.front()) {
        return complain(l, both +
                               "; Ethernet modules do not negotiate, so say what both are set "
                               "to: speed: " +
                               std::string(settled->name)),
               false;
    }
    return true;
}

// A port of an end, or a port of the switch that it is.
bool CableReader::take(const Line& l, const std::string& end, size_t cable) {
    if (const NetworkSwitchSchema* w = s_.network_switch(end)) {
        if (!w->part || ++taken_[end] != w->ports + 1) return true;
        complain(l, "switch " + in_quotes(end) + " has " + std::to_string(w->ports) + " ports, " +
                        "and all are taken");
        return false;
    }
    const auto [at, fresh] = cable_of_.emplace(end, cable);
    if (fresh) return true;
    const CableSchema& other = s_.cables[at->second];
    complain(l, "port " + in_quotes(end) + " is already in cable " + in_quotes(other.text) +
                    " of line " + std::to_string(other.place.line));
    return false;
}

void CableReader::connect(const Line& l, const End& a, const End& b) {
    const size_t n = std::max(a.names.size(), b.names.size());
    const auto counted = [](const End& e) {
        return std::to_string(e.names.size()) + (e.ports ? " port" : " switch") +
               (e.names.size() == 1 ? ""
                : e.ports           ? "s"
                                    : "es");
    };
    const auto takes_all = [](const End& e) { return e.switches && e.names.size() == 1; };
    if (a.names.size() != b.names.size() && !takes_all(a) && !takes_all(b))
        return complain(l, "the two sides do not pair: " + counted(a) + " to " + counted(b));
    for (size_t i = 0; i < n; i++) {
        const std::string& from = a.names[takes_all(a) ? 0 : i];
        const std::string& to = b.names[takes_all(b) ? 0 : i];
        if (from == to)
            return complain(l, "both ends are " + std::string(a.ports ? "port " : "switch ") +
                                   in_quotes(from));
        const LinkSpeed* speed = nullptr;
        if (!settle_speed(l, from, to, speed)) return;
        const size_t cable = s_.cables.size();
        if (!take(l, from, cable)) return;
        s_.cables.push_back({from, to, l.text, l.metres, speed, l.at.place()});
        if (!take(l, to, cable)) return;
    }
}

void CableReader::read(const Node& item) {
    Line l;
    if (item.is_map()) {
        Fields f = item.map();
        l.at = f.required("cable");
        l.metres = length(f.optional("length"));
        l.speed = f.optional("speed");
        f.finish();
    } else {
        l.at = item;
        l.metres = length({});
    }
    l.text = l.at.as_text();
    if (!l.at.is_scalar()) {
        s_.cables_sound = false;
        return;
    }
    constexpr std::string_view word = " to ";
    const size_t to = l.text.find(word);
    if (to == std::string::npos || l.text.find(word, to + 1) != std::string::npos)
        return complain(l, "not two ends; write, for example, storage/fc/*/port/0 to red");
    End a, b;
    const bool first = select(l, l.text.substr(0, to), a);
    const bool second = select(l, l.text.substr(to + word.size()), b);
    if (!first || !second) return;
    for (const End* e : {&a, &b})
        if (e->ports && e->switches) return complain(l, "one side names both ports and switches");
    connect(l, a, b);
}
} // namespace

void read_cables(const Node& node, Scenario& s) {
    if (!node) return;
    if (node.kind() == Node::Kind::null) return;
    if (!node.is_sequence() && !node.is_scalar()) {
        s.cables_sound = false;
        return node.complain("cables is a list of lines such as: storage/fc/*/port/0 to red");
    }
    CableReader reader(s);
    for (const Node& item : node.items()) reader.read(item);
}

} // namespace storlab
