#include "sim/scenario/real_hosts.hpp"
#include "models/nvme/profiles.hpp"
#include "models/nvme/tcp_codec.hpp"
#include "models/scsi/iscsi_codec.hpp"
#include "models/scsi/profiles.hpp"
#include "sim/scenario/timeline_targets.hpp"

namespace storlab {

namespace {
constexpr Duration start_limit = Duration::s(60); // files are made, parity is made to agree
constexpr Duration look_again = Duration::ms(5);

bool is_remote(const LoadSchema& l, const Scenario& s, const std::string& name) {
    return std::any_of(l.from.begin(), l.from.end(),
                       [&](const std::string& from) { return s.machine_of(name) != from; });
}
void check_loads(const Scenario& s, const std::map<std::string, NodeProcess>& nodes) {
    for (const LoadSchema& l : s.loads)
        for (const std::string& from : l.from)
            if (nodes.contains(from))
                throw InputError(l.place, "load " + in_quotes(l.name) + " runs on " +
                                              in_quotes(from) +
                                              ", whose arrays other machines reach: in the real "
                                              "world that is a process without loads");
}
} // namespace

Profile travelling_profile(Protocol protocol) {
    Profile p = is_nvme(protocol) ? nvme_tcp() : iscsi(open_iscsi());
    p.timers.hold = Duration(); // multipathing above does that
    return p;
}
MakeCodec travelling_codec(Protocol protocol, uint32_t block) {
    const Profile p = travelling_profile(protocol);
    if (is_nvme(protocol)) return [p, block] { return std::make_unique<NvmeTcpCodec>(p, block); };
    return [p, block] { return std::make_unique<IscsiCodec>(p, block); };
}

bool RealHosts::needed(const Scenario& s) {
    return std::any_of(s.loads.begin(), s.loads.end(), [&](const LoadSchema& l) {
        return std::any_of(l.to.begin(), l.to.end(),
                           [&](const std::string& name) { return is_remote(l, s, name); });
    });
}

RealHosts::RealHosts(const Scenario& s, const NodeCommand& command) : scenario_(s), cables_(s) {
    for (const LoadSchema& l : s.loads)
        for (const std::string& name : l.to)
            if (is_remote(l, s, name))
                nodes_.try_emplace(s.machine_of(name), command, s.machine_of(name));
    check_loads(s, nodes_);
    if (command.program.empty())
        throw InputError(
            s.loads.front().place,
            "in the real world the machines of this scenario are processes, which only "
            "the program can start: use 'storlab run --world real'");
    for (auto& [machine, node] : nodes_) node.start(false);
    for (auto& [machine, node] : nodes_) {
        const NodeOffer* const offer = node.offer(start_limit);
        if (!offer) throw InputError({machine, 0, 0}, "its process does not become ready");
        offers_[machine] = *offer;
    }
}
RealHosts::~RealHosts() = default;

Geometry RealHosts::geometry(const std::string& volume) const {
    return offers_.at(scenario_.machine_of(volume)).volumes.at(volume);
}

void RealHosts::begin(RealWorld& world) {
    world_ = &world;
    world.set_now({});
    sockets_ = std::make_unique<Sockets>(world);
    paths_ = std::make_unique<HostPaths>(
        scenario_, world,
        [this](const std::string& machine, const PortSchema& port, const std::string& target_port,
               const RemoteArray& remote) {
            InitiatorOptions o;
            const MachineSchema& m = *scenario_.machine(machine);
            o.depth = session_tags(is_nvme(remote.array->exported->protocol) ? Protocol::nvme_tcp
                                                                             : Protocol::iscsi,
                                   processor_options(m).logical_cpus());
            o.connect = [this, a = port.path, b = target_port, array = remote.array] {
                return connect(a, b, *array);
            };
            return o;
        });
    for (const ArraySchema& a : scenario_.arrays) {
        if (!a.exported || !elsewhere(a.machine)) continue;
        RemoteArray remote{&a, travelling_profile(a.exported->protocol), {}};
        for (const VolumeSchema& v : a.volumes) remote.volumes.push_back(geometry(v.path));
        if (a.volumes.empty()) remote.volumes.push_back(geometry(a.name));
        paths_->add(std::move(remote));
    }
    for (auto& [machine, node] : nodes_) node.begin(world.now());
}

Connection* RealHosts::connect(const std::string& port, const std::string& target_port,
                               const ArraySchema& array) {
    NodeProcess& node = nodes_.at(array.machine);
    if (!node.running() || waiting_.contains(array.machine)) return nullptr;
    if (cables_.way(port, target_port) != Way::open) return nullptr;
    const Geometry& g = offers_.at(array.machine).volumes.begin()->second;
    Connection* const c = sockets_->connect(
        node.offer({})->ports.at(target_port),
        travelling_codec(array.exported->protocol, static_cast<uint32_t>(g.block.count())));
    connections_[{port, target_port}] = c;
    return c;
}

BlockDevice& RealHosts::reach(const LoadSchema& load, const std::string& machine,
                              const std::string& name) {
    const ArraySchema& a = *scenario_.array_of(name);
    size_t volume = 0;
    while (volume < a.volumes.size() && a.volumes[volume].path != name) volume++;
    return paths_->reach(load, machine, a, a.volumes.empty() ? 0 : volume);
}

void RealHosts::act(Verb verb, const std::string& name) {
    if (acts_on_power(verb) && scenario_.machine(name)) {
        const auto node = nodes_.find(name);
        if (node == nodes_.end()) return; // nobody reaches for it
        if (verb == Verb::power_on) return power_on(name);
        waiting_.erase(name);
        return node->second.kill(); // its sockets say so
    }
    cables_.act(verb, name);
    for (const auto& [ports, connection] : connections_) {
        if (!connection) continue;
        const Way way = cables_.way(ports.first, ports.second);
        if (way == Way::dark) sockets_->cut(*connection, Loss::link_down);
        else if (way == Way::gone) sockets_->cut(*connection, Loss::peer_gone);
        else sockets_->set_silent(*connection, way == Way::silent);
    }
}

void RealHosts::power_on(const std::string& machine) {
    if (nodes_.at(machine).running()) return;
    try {
        nodes_.at(machine).start(true);
    } catch (const InputError& error) {
        troubles_.push_back(error.what());
        return;
    }
    Waiting& w = waiting_[machine];
    w.hosts = this;
    w.machine = machine;
    w.phase = Phase::timer;
    w.fire = [](Event& e) {
        auto& waiting = static_cast<Waiting&>(e);
        waiting.hosts->look(waiting);
    };
    world_->wake(w, world_->now() + look_again);
}

// Others run meanwhile.
void RealHosts::look(Waiting& w) {
    NodeProcess& node = nodes_.at(w.machine);
    try {
        if (!node.offer({})) return world_->wake(w, world_->now() + look_again);
        node.begin(world_->now());
    } catch (const InputError& error) {
        troubles_.push_back(error.what());
        node.kill();
    }
    waiting_.erase(std::string(w.machine));
}

const std::map<std::string, NodeReport>& RealHosts::finish() {
    if (std::exchange(finished_, true)) return reports_;
    for (auto& [machine, node] : nodes_) {
        if (!node.running()) continue;
        if (auto report = node.finish()) reports_[machine] = std::move(*report);
        else troubles_.push_back("the process of " + machine + " ended without a report");
    }
    return reports_;
}

} // namespace storlab
