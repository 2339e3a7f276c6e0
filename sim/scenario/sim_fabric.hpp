// What lies between the machines of a simulated testbed: cards and their ports, switches, cables
// and the targets behind export ports.
//
//   hosts' paths -> card -> cables, switches -> card -> target -> volume
//
// Left out: PCIe behind cards with ports.
#pragma once
#include "models/cpu/thread.hpp"
#include "models/exchange/target.hpp"
#include "sim/scenario/host_paths.hpp"
#include <memory>
#include <string>
#include <vector>

namespace storlab {

class SimFabric {
public:
    using ProcessorOf = std::function<Processor&(const std::string& machine)>;
    SimFabric(const Scenario& scenario, Calendar& calendar, ProcessorOf processor_of);
    ~SimFabric();
    // The array's volumes (or itself) are offered on its export ports.
    void offer(const ArraySchema& array, const std::vector<BlockDevice*>& volumes);
    // Of the timeline: a verb of cables and a port or switch, a verb of power and a switch or
    // machine.
    void act(Verb verb, const std::string& name);
    HostPaths& paths() { return paths_; }
    const HostPaths& paths() const { return paths_; }
    Network& network() { return network_; }
    void describe(std::vector<StationDescription>& out) const;
    // Messages that were not for anybody, sessions that misbehaved: must be zero.
    uint64_t violations() const;

private:
    struct Card {
        const CardSchema* schema;
        Adapter* adapter;
        std::unique_ptr<AdapterEngine> engine; // of a card that runs the protocol
    };
    struct CableFaults {
        bool unplugged = false, silent = false;
    };
    struct Offer { // of an array
        std::unique_ptr<Target> target;
        std::vector<std::unique_ptr<WorkerPool>> contexts; // by volume, on cores
    };

    const Scenario& scenario_;
    Calendar& calendar_;
    ProcessorOf processor_of_;
    Network network_;
    std::map<std::string, Card> cards_; // by path: storage/fc/0
    std::map<std::string, Card*> card_of_port_;
    std::map<std::string, std::unique_ptr<WorkerPool>> interrupts_; // by machine
    std::map<std::string, Offer> offers_;                           // by array
    HostPaths paths_;

    std::vector<std::string> cable_names_; // of the network, as the scenario's are numbered
    std::vector<CableFaults> cable_faults_;

    void add_cables();
    void add_cards(const MachineSchema& m);
    const ExportSchema* export_through(const CardSchema& card) const;
    WorkerPool& interrupts_of(const std::string& machine);
    InitiatorOptions session(const std::string& machine, const PortSchema& port,
                             const std::string& target_port, const RemoteArray& remote);
};

Profile profile_of(Protocol protocol);

} // namespace storlab
