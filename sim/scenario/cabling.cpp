#include "sim/scenario/cabling.hpp"
#include "sim/scenario/timeline_targets.hpp"

namespace storlab {

void Cabling::act(Verb verb, const std::string& name) {
    if (verb == Verb::power_off) off_.insert(name);
    if (verb == Verb::power_on) off_.erase(name);
    for (size_t i = 0; i < s_.cables.size(); i++) {
        if (s_.cables[i].a != name && s_.cables[i].b != name) continue;
        if (verb == Verb::unplug || verb == Verb::plug) unplugged_[i] = verb == Verb::unplug;
        if (verb == Verb::silence || verb == Verb::restore) silent_[i] = verb == Verb::silence;
    }
}

bool Cabling::lit(size_t cable) const {
    const CableSchema& c = s_.cables[cable];
    return !unplugged_[cable] && !off_.contains(c.a) && !off_.contains(c.b);
}

// Only switches pass on what arrives.
bool Cabling::reaches(const std::string& from, const std::string& to, bool over_silent) const {
    std::set<std::string> seen{from};
    std::vector<std::string> open{from};
    while (!open.empty()) {
        const std::string at = open.back();
        open.pop_back();
        if (at != from && !s_.network_switch(at)) continue;
        for (size_t i = 0; i < s_.cables.size(); i++) {
            const CableSchema& c = s_.cables[i];
            if ((c.a != at && c.b != at) || !lit(i) || (silent_[i] && !over_silent)) continue;
            const std::string& next = c.a == at ? c.b : c.a;
            if (next == to) return true;
            if (seen.insert(next).second) open.push_back(next);
        }
    }
    return false;
}

Way Cabling::way(const std::string& from, const std::string& to) const {
    if (reaches(from, to, false)) return Way::open;
    if (reaches(from, to, true)) return Way::silent;
    for (size_t i = 0; i < s_.cables.size(); i++)
        if ((s_.cables[i].a == from || s_.cables[i].b == from) && lit(i)) return Way::gone;
    return Way::dark;
}

} // namespace storlab
