// The hosts of the real world and the storage machines they reach over a fabric. Every machine
// whose exports a load uses is a process of its own (node_process.hpp); all hosts are this process.
// What travels between them are the bytes of a standard on loopback sockets: NVMe over whatever
// fabric as NVMe/TCP, SCSI over whatever fabric as iSCSI. Cards, cables and switches become
// sockets; what happens to them on the timeline happens to the sockets of the paths that go by
// them.
#pragma once
#include "sim/real/sockets.hpp"
#include "sim/scenario/cabling.hpp"
#include "sim/scenario/host_paths.hpp"
#include "sim/scenario/node_process.hpp"
#include <map>
#include <memory>
#include <string>

namespace storlab {

Profile travelling_profile(Protocol protocol);
MakeCodec travelling_codec(Protocol protocol, uint32_t block);

class RealHosts {
public:
    // Whether some load reaches for another machine.
    static bool needed(const Scenario& scenario);
    // Starts the machines' processes and waits until they are ready. InputError.
    RealHosts(const Scenario& scenario, const NodeCommand& command);
    ~RealHosts();
    RealHosts(const RealHosts&) = delete;
    RealHosts& operator=(const RealHosts&) = delete;

    void begin(RealWorld& world); // the run, now
    bool elsewhere(const std::string& machine) const { return nodes_.contains(machine); }
    Geometry geometry(const std::string& volume) const; // of one elsewhere
    BlockDevice& reach(const LoadSchema& load, const std::string& machine, const std::string& name);
    void act(Verb verb, const std::string& name); // of cables and power
    HostPaths& paths() { return *paths_; }
    // The machines' processes end in order, once. By machine; none of one that is off.
    const std::map<std::string, NodeReport>& finish();
    const std::vector<std::string>& troubles() const { return troubles_; } // of processes

private:
    struct Waiting : Event { // for a machine that is starting again
        RealHosts* hosts = nullptr;
        std::string machine;
    };
    using Ports = std::pair<std::string, std::string>; // of a host, of an export

    const Scenario& scenario_;
    std::map<std::string, NodeProcess> nodes_; // by machine
    std::map<std::string, NodeOffer> offers_;  // of the first start: sizes do not change
    Cabling cables_;
    RealWorld* world_ = nullptr;
    std::unique_ptr<Sockets> sockets_;
    std::map<Ports, Connection*> connections_; // the newest of each path
    std::unique_ptr<HostPaths> paths_;
    std::map<std::string, Waiting> waiting_;
    std::map<std::string, NodeReport> reports_;
    std::vector<std::string> troubles_;
    bool finished_ = false;

    Connection* connect(const std::string& port, const std::string& target_port,
                        const ArraySchema& array);
    void power_on(const std::string& machine);
    void look(Waiting& w);
};

} // namespace storlab
