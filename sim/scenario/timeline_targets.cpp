#include "sim/scenario/timeline_targets.hpp"
#include "sim/base/text.hpp"
#include <set>

namespace storlab {

bool acts_on_cables(Verb v) {
    return v == Verb::unplug || v == Verb::plug || v == Verb::silence || v == Verb::restore;
}
bool acts_on_power(Verb v) { return v == Verb::power_off || v == Verb::power_on; }

std::vector<std::string> nameable(const Scenario& s, Verb verb) {
    std::vector<std::string> names;
    if (acts_on_fabric(verb)) {
        for (const NetworkSwitchSchema& w : s.switches) names.push_back(w.name);
        for (const MachineSchema& m : s.machines) {
            if (acts_on_power(verb)) {
                names.push_back(m.name);
                continue;
            }
            for (const CardSchema& c : m.cards)
                for (const PortSchema& p : c.ports) names.push_back(p.path);
        }
        return names;
    }
    for (const MachineSchema& m : s.machines)
        for (const DriveSchema& d : m.drives) names.push_back(d.path);
    for (const ArraySchema& a : s.arrays) names.push_back(a.name);
    return names;
}

namespace {
// Why that cannot be done to this; empty: it can.
std::string refusal(const Scenario& s, Verb verb, const std::string& name) {
    if (acts_on_cables(verb)) {
        const bool ends_there = std::any_of(s.cables.begin(), s.cables.end(),
                                            [&](auto& c) { return c.a == name || c.b == name; });
        return ends_there ? "" : "no cable ends there";
    }
    if (acts_on_power(verb)) {
        if (!s.machine(name)) return "";
        for (const LoadSchema& l : s.loads)
            if (std::find(l.from.begin(), l.from.end(), name) != l.from.end())
                return "it runs load " + in_quotes(l.name) +
                       "; a switch, or a machine that exports and runs no load, can lose power";
        const bool exports = std::any_of(s.arrays.begin(), s.arrays.end(),
                                         [&](auto& a) { return a.machine == name && a.exported; });
        return exports ? ""
                       : "it exports nothing; a switch, or a machine that does, can lose power";
    }
    const bool array = s.array(name) != nullptr;
    const bool can =
        verb == Verb::scrub ? array : !array && (verb == Verb::fail || verb == Verb::pull);
    return can ? "" : "a drive can fail or be pulled, an array be scrubbed";
}

// What is dark, silent or off as the timeline goes on: undoing what was not done is a slip.
class FaultsSoFar {
public:
    explicit FaultsSoFar(const Scenario& s) : s_(s) {}
    // Why there is nothing to undo; empty: there is, or it is no such verb.
    std::string take(Verb verb, const std::string& name) {
        switch (verb) {
        case Verb::unplug: mark(dark_, name); return "";
        case Verb::silence: mark(silent_, name); return "";
        case Verb::power_off: off_.insert(name); return "";
        case Verb::plug: return undo(dark_, name) ? "" : "nothing is unplugged there by then";
        case Verb::restore: return undo(silent_, name) ? "" : "nothing is silent there by then";
        case Verb::power_on: return off_.erase(name) ? "" : "it is not off by then";
        default: return "";
        }
    }

private:
    const Scenario& s_;
    std::set<const CableSchema*> dark_, silent_;
    std::set<std::string> off_;

    template <class F> void each_cable_at(const std::string& name, F&& f) const {
        for (const CableSchema& c : s_.cables)
            if (c.a == name || c.b == name) f(&c);
    }
    void mark(std::set<const CableSchema*>& cables, const std::string& name) const {
        each_cable_at(name, [&](const CableSchema* c) { cables.insert(c); });
    }
    bool undo(std::set<const CableSchema*>& cables, const std::string& name) const {
        size_t undone = 0;
        each_cable_at(name, [&](const CableSchema* c) { undone += cables.erase(c); });
        return undone > 0;
    }
};
} // namespace

void check_timeline(const Scenario& s, Complaints& complaints) {
    FaultsSoFar faults(s);
    for (const TimelineEvent& e : s.timeline) { // in order of time
        const PathPattern patterns[] = {e.target};
        const std::string_view kind = acts_on_cables(e.verb)  ? "port or switch"
                                      : acts_on_power(e.verb) ? "machine or switch"
                                                              : "drive or array";
        const auto found = select_names(patterns, nameable(s, e.verb), kind, complaints);
        for (const std::string& name : found) {
            std::string why = refusal(s, e.verb, name);
            if (why.empty()) why = faults.take(e.verb, name);
            if (!why.empty())
                complaints.add(e.place, "cannot " + to_string(e.verb) + " '" + name + "'; " + why);
        }
    }
}

} // namespace storlab
