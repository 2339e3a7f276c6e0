// A scenario as a graph: machines, their cards and drives on PCIe links and switches, arrays over
// their drives with their volumes, ports of cards, cables and network switches.
// Rates of links are those of models/pcie after its overhead; a drive's own limit is the least of
// its stations (models/ssd) for the traffic asked about: servers / service time, the operational
// law (Denning and Buzen 1978). A cable has its line rate after coding, times what full frames
// carry of data (models/fabric); a card with ports takes so many commands a second. Left out: PCIe
// behind cards with ports, which is drawn but no limit, targets, what a target gives each remote
// port (associations), protocols that cards run, links between sockets (which memory data goes to
// is up to the threads), memory, which limits nothing in any model, and what processors can submit.
#pragma once
#include "sim/report/bound.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/topology/graph.hpp"

namespace storlab {

struct Traffic {
    bool writes = false;
    // The largest request: a drive's controller takes so many a second. 0: any size.
    Bytes block;
    // What is read lies on flash: not in a drive's write buffer, not on pages never written.
    bool from_flash = false;
    // Only what data of this load can take, with ports one way: into the machine that asks, out of
    // the one that serves. Null: everything, both ways.
    const LoadSchema* load = nullptr;
};
// Data flows from an array or drive to its machine (writes: the other way).
Graph wiring(const Scenario& scenario, const Traffic& traffic = {});
// Of it what lies between machines (wiring_fabric.cpp).
void add_fabric(Graph& graph, const Scenario& scenario, const Traffic& traffic);

// The ceiling of each load by itself, for the arrays as they are at the start. Reads: the least cut
// from what it aims at to the machines that ask. Writes to RAID are taken at their best, whole
// stripes: (k + m) / k bytes, or one for each copy, on the drives for each of the load's; where a
// card computes parity, each byte has to enter the card; over a fabric, each crosses it once. Left
// out: that reads and writes of a mixed load share the drives and several loads share everything,
// which machine asks for which volume, and two ways round a member: a line that a stripe cache
// still has, and a block written again while its line is under way (sequential clones or machines
// at one place do nothing else: their drives are no ceiling).
std::vector<BoundResult> bounds_of(const Scenario& scenario);

} // namespace storlab
