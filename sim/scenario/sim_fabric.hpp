// What lies between the machines of a simulated testbed: cards and their ports, switches, cables,
// targets behind export ports, sessions of initiators, and the paths of each machine to a volume.
//
//   load -> multipath -> remote unit -> initiator -> card -> cables, switches -> card -> target
//     -> volume
//
// A session is one of a machine's port with one export port of one array; all volumes and loads of
// the machine share it. Left out: PCIe behind cards with ports.
#pragma once
#include "models/cpu/thread.hpp"
#include "models/exchange/remote_unit.hpp"
#include "models/exchange/target.hpp"
#include "models/multipath/multipath.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/build_fabric.hpp"
#include <memory>
#include <span>
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
    // A volume as a machine on the fabric sees it. The first call for an array logs in.
    BlockDevice& reach(const LoadSchema& load, const std::string& machine, const ArraySchema& array,
                       size_t volume);

    // Of the timeline: a verb of cables and a port or switch, a verb of power and a switch or
    // machine.
    void act(Verb verb, const std::string& name);
    std::vector<TimelineMark> path_marks() const;
    // Every session is over: what waits for a path ends with an error.
    void give_up();

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
    struct Path { // of a volume, as a machine sees it
        Multipath* device;
        size_t number, volume;
    };
    struct Session {
        std::string machine, port, target_port;
        std::unique_ptr<Initiator> initiator;
        std::vector<std::unique_ptr<RemoteUnit>> units; // by volume
        std::vector<Path> paths;                        // that go by it
        size_t unused = 0;                              // of those
        bool live = false;
    };
    struct CableFaults {
        bool unplugged = false, silent = false;
    };
    enum class PathPhase : uint8_t { detect, switched, none_left, back };
    struct PathNote {
        Instant at;
        PathPhase phase;
        Loss why; // of detect
        const Session* session;
    };
    struct Offer { // of an array
        const ArraySchema* array;
        Profile profile;
        std::unique_ptr<Target> target;
        std::vector<std::unique_ptr<WorkerPool>> contexts; // by volume, on cores
        std::vector<Geometry> volumes;
    };
    struct Ways { // of a machine to an array
        std::vector<std::unique_ptr<Session>> sessions;
        std::map<std::pair<std::string, size_t>, std::unique_ptr<Multipath>> devices;
    };

    const Scenario& scenario_;
    Calendar& calendar_;
    ProcessorOf processor_of_;
    Network network_;
    std::map<std::string, Card> cards_; // by path: storage/fc/0
    std::map<std::string, Card*> card_of_port_;
    std::map<std::string, std::unique_ptr<WorkerPool>> interrupts_; // by machine
    std::map<std::string, Offer> offers_;                           // by array
    std::map<std::pair<std::string, std::string>, Ways> ways_;      // by machine and array

    std::vector<std::string> cable_names_; // of the network, as the scenario's are numbered
    std::vector<CableFaults> cable_faults_;
    std::vector<PathNote> notes_;
    bool given_up_ = false;

    void add_cables();
    void add_cards(const MachineSchema& m);
    const ExportSchema* export_through(const CardSchema& card) const;
    WorkerPool& interrupts_of(const std::string& machine);
    Ways& ways(const std::string& machine, const Offer& offer);
    std::unique_ptr<Session> session(const std::string& machine, const PortSchema& port,
                                     const std::string& target_port, const Offer& offer);
    void tell(const Session& s);
    // fabric_faults.cpp
    void note(PathPhase phase, const Session& s, Loss why = Loss::link_down);
    void watch(Session& s, SessionState state);
    void paths_changed(const Ways& w, const Multipath& device, uint64_t before);
    static std::string where_of(std::span<const PathNote> notes);
    static TimelineMark mark_of(std::span<const PathNote> notes);
};

Profile profile_of(Protocol protocol);

} // namespace storlab
