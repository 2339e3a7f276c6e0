// By how many ways a machine reaches the arrays it aims at over a fabric, and what single thing
// would take all of them away: a cable, a port, a card or a switch. A path is one of a machine's
// ports with one export port that it can reach, as multipathing counts them; ways are disjoint if
// they share no cable and no port. Left out: that a machine, an array or a power supply fails as a
// whole, and what is inside of switches.
#pragma once
#include "sim/scenario/schema.hpp"
#include <string>
#include <vector>

namespace storlab {

struct Redundancy {
    std::vector<std::string> machines; // alike but for their names
    std::string array;
    size_t paths = 0, disjoint = 0; // from one machine, to each volume
    // What all paths of a machine go through, from the machine on: "switch red". Of a machine's own
    // things, where several machines are alike, the step after its name: "its card fc".
    std::vector<std::string> single;
};
// Of machines and arrays between which a load's data crosses the fabric.
std::vector<Redundancy> redundancy_of(const Scenario& scenario, const LoadSchema& load);

} // namespace storlab
