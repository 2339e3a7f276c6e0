// What a line of the timeline can name: drives fail and are pulled, arrays are scrubbed, cables are
// unplugged or fall silent at the port or switch they end in, switches and the machines behind
// exports lose power. Left out: power of machines that run loads, which would take the observer
// with them, and of single cards.
#pragma once
#include "sim/scenario/schema.hpp"

namespace storlab {

bool acts_on_cables(Verb verb); // unplug, plug, silence, restore
bool acts_on_power(Verb verb);
inline bool acts_on_fabric(Verb verb) { return acts_on_cables(verb) || acts_on_power(verb); }

// Everything of the scenario that is of a kind the verb acts on.
std::vector<std::string> nameable(const Scenario& scenario, Verb verb);
// Complains about names that do not exist or cannot do that.
void check_timeline(const Scenario& scenario, Complaints& complaints);

} // namespace storlab
