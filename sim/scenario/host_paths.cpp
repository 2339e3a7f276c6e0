#include "sim/scenario/host_paths.hpp"
#include "sim/base/random.hpp"
#include <algorithm>

namespace storlab {

namespace {
PathState path_state_of(const Initiator& i, const RemoteUnit& unit) {
    const Access a = unit.access();
    const PathAccess access = a == Access::optimized       ? PathAccess::optimized
                              : a == Access::non_optimized ? PathAccess::non_optimized
                                                           : PathAccess::inaccessible;
    // A session that has never been lost is on its way: commands wait for the end of its login.
    const bool up = i.state() == SessionState::live ||
                    (i.state() != SessionState::removed && i.counters().losses == 0);
    PathState s = up ? PathState::is_up(access) : PathState::is_down(i.last_loss(), access);
    s.gone = i.state() == SessionState::removed;
    return s;
}
} // namespace

// Commands a session may have under way. NVMe: a queue a CPU, 128 entries each (nvme-cli's
// default); iSCSI: open-iscsi's cmds_max; FCP: exchanges of an adapter's port.
uint32_t session_tags(Protocol protocol, uint32_t logical_cpus) {
    constexpr uint32_t queue_entries = 128, cmds_max = 128, exchanges = 2048, most = 4080;
    switch (protocol) {
    case Protocol::fcp: return exchanges;
    case Protocol::iscsi:
    case Protocol::iser: return cmds_max;
    default: return std::min(most, queue_entries * logical_cpus);
    }
}

RemoteArray& HostPaths::add(RemoteArray array) {
    return arrays_[array.array->name] = std::move(array);
}

std::unique_ptr<HostPaths::Session> HostPaths::session(const std::string& machine,
                                                       const PortSchema& port,
                                                       const std::string& target_port,
                                                       const RemoteArray& remote) {
    InitiatorOptions o = session_of_(machine, port, target_port, remote);
    o.identity = hash_name(port.path + " " + target_port);
    auto s = std::make_unique<Session>();
    s->initiator = std::make_unique<Initiator>(clock_, remote.profile, o);
    s->units.resize(remote.volumes.size());
    for (size_t i = 0; i < remote.volumes.size(); i++)
        s->units[i] = std::make_unique<RemoteUnit>(*s->initiator, static_cast<uint16_t>(i),
                                                   remote.volumes[i]);
    s->machine = machine;
    s->port = port.path;
    s->target_port = target_port;
    s->initiator->on_state([this, session = s.get()](SessionState state) {
        watch(*session, state);
        tell(*session);
    });
    s->initiator->on_access([this, session = s.get()](uint16_t, Access) { tell(*session); });
    s->initiator->start();
    return s;
}

void HostPaths::tell(const Session& s) {
    for (const Path& p : s.paths)
        p.device->path_state(p.number, path_state_of(*s.initiator, *s.units[p.volume]));
}

HostPaths::Ways& HostPaths::ways(const std::string& machine, const RemoteArray& remote) {
    Ways& w = ways_[{machine, remote.array->name}];
    if (!w.sessions.empty()) return w;
    for (const CardSchema& c : scenario_.machine(machine)->cards)
        for (const PortSchema& p : c.ports)
            for (const std::string& target_port : remote.array->exported->ports)
                if (has_route(scenario_, p.path, target_port))
                    w.sessions.push_back(session(machine, p, target_port, remote));
    return w;
}

BlockDevice& HostPaths::reach(const LoadSchema& load, const std::string& machine,
                              const ArraySchema& array, size_t volume) {
    const RemoteArray& remote = arrays_.at(array.name);
    Ways& w = ways(machine, remote);
    auto& device = w.devices[{load.name, volume}];
    if (device) return *device;
    MultipathOptions o =
        multipath_options(load.paths->part, path_transport(array.exported->protocol));
    if (load.paths->policy) o.selector = *load.paths->policy;
    if (load.paths->ios) o.round_robin_ios = *load.paths->ios;
    std::vector<PathOptions> paths;
    for (const auto& s : w.sessions) paths.push_back({.device = s->units[volume].get()});
    device = std::make_unique<Multipath>(clock_, paths, o);
    for (size_t i = 0; i < w.sessions.size(); i++)
        w.sessions[i]->paths.push_back({device.get(), i, volume});
    device->on_attempt([&w](size_t path) {
        Initiator& initiator = *w.sessions[path]->initiator;
        if (initiator.state() == SessionState::removed) return false;
        initiator.reconnect_now();
        return true;
    });
    device->on_change(
        [this, &w, d = device.get()](uint64_t before) { paths_changed(w, *d, before); });
    device->start_checks();
    return *device;
}

void HostPaths::give_up() {
    given_up_ = true;
    for (auto& [names, w] : ways_) {
        for (auto& [volume, device] : w.devices) device->stop_checks();
        for (const auto& s : w.sessions) s->initiator->stop();
    }
}

uint64_t HostPaths::violations() const {
    uint64_t n = 0;
    for (const auto& [names, w] : ways_)
        for (const auto& s : w.sessions) n += s->initiator->counters().violations;
    return n;
}

} // namespace storlab
