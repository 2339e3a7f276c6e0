// Faults of a simulated fabric.
#include "sim/scenario/sim_fabric.hpp"
#include "sim/scenario/timeline_targets.hpp"
#include <algorithm>

namespace storlab {

void SimFabric::add_cables() {
    cable_faults_.resize(scenario_.cables.size());
    for (const CableSchema& c : scenario_.cables) {
        CableOptions o = cable_options(c, scenario_);
        // Several between two switches have names of their own.
        const auto same = std::count_if(scenario_.cables.data(), &c,
                                        [&](auto& d) { return d.a == c.a && d.b == c.b; });
        if (same > 0) o.name += " " + std::to_string(same + 1);
        cable_names_.push_back(o.name);
        network_.cable(c.a, c.b, o);
    }
}

void SimFabric::act(Verb verb, const std::string& name) {
    if (acts_on_power(verb)) {
        network_.set_power(name, verb == Verb::power_on);
        if (verb == Verb::power_on) return;
        for (auto& [array, offer] : offers_) // commands at the devices end as they do
            if (scenario_.array(array)->machine == name) offer.target->drop_sessions();
        return;
    }
    for (size_t i = 0; i < cable_names_.size(); i++) {
        const CableSchema& c = scenario_.cables[i];
        if (c.a != name && c.b != name) continue;
        CableFaults& f = cable_faults_[i];
        if (verb == Verb::unplug || verb == Verb::plug) f.unplugged = verb == Verb::unplug;
        else f.silent = verb == Verb::silence;
        network_.set_cable(cable_names_[i], f.unplugged ? CableState::down
                                            : f.silent  ? CableState::silent
                                                        : CableState::up);
    }
}

} // namespace storlab
