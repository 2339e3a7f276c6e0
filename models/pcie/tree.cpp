#include "models/pcie/tree.hpp"

namespace storlab {

namespace {
// Data that is written goes in posted writes, data that is read in completions, whichever way.
enum class Packets : uint8_t { writes, completions };
PcieHop hop(PcieSwitch& s, FifoStation& way, Packets packets) {
    const bool writes = packets == Packets::writes;
    const PcieLink& l = s.uplink;
    return {&way, writes ? l.write_rate() : l.read_rate(), l.write_time(Bytes(0)), l.hop()};
}
} // namespace

PcieTree::PcieTree(const SocketLinkOptions& o) : o_(o), between_(size_t{o.sockets} * o.sockets) {
    STORLAB_ENSURE(o.sockets > 0);
    if (o.sockets == 1) return;
    STORLAB_ENSURE(o.rate > Rate());
    pair_rate_ = o.rate.scaled(1.0 / (o.sockets - 1));
}

PcieSwitch& PcieTree::add_switch(const std::string& name, const PcieOptions& uplink,
                                 uint32_t socket) {
    STORLAB_ENSURE(socket < o_.sockets);
    return switches_.emplace_back(name, uplink, socket);
}

void PcieTree::cross(PcieWay& way, uint32_t from, uint32_t to) {
    STORLAB_ENSURE(from < o_.sockets && to < o_.sockets);
    if (from != to)
        way.add({&between_[size_t{from} * o_.sockets + to], pair_rate_, {}, o_.latency});
}

const PcieRoute& PcieTree::to_memory(const PciePlace& device, uint32_t socket) {
    return route(device, {socket, nullptr});
}

const PcieRoute& PcieTree::to_peer(const PciePlace& device, const PciePlace& peer) {
    return route(device, peer);
}

const PcieRoute& PcieTree::route(const PciePlace& device, const PciePlace& other) {
    const auto [found, fresh] = routes_.try_emplace({device, other});
    PcieRoute& r = found->second;
    if (!fresh) return r;
    PcieSwitch *const here = device.behind, *const there = other.behind;
    if (here && here == there) { // through the switch, past its uplink
        r.up.latency = r.down.latency = here->uplink.hop();
        return r;
    }
    if (here) r.up.add(hop(*here, here->uplink.up, Packets::writes));
    cross(r.up, device.socket, other.socket);
    if (there) r.up.add(hop(*there, there->uplink.down, Packets::writes));

    if (there) r.down.add(hop(*there, there->uplink.up, Packets::completions));
    cross(r.down, other.socket, device.socket);
    if (here) r.down.add(hop(*here, here->uplink.down, Packets::completions));
    return r;
}

void PcieTree::describe(const std::string& machine, Instant now,
                        std::vector<StationDescription>& out) const {
    for (const PcieSwitch& s : switches_) {
        const std::string name = machine + "/" + s.name + "/uplink/";
        out.push_back({name + "up", "PCIe switch uplink to host", 1, s.uplink.up.count(now)});
        out.push_back({name + "down", "PCIe switch uplink from host", 1, s.uplink.down.count(now)});
    }
    for (uint32_t from = 0; from < o_.sockets; from++)
        for (uint32_t to = 0; to < o_.sockets; to++)
            if (from != to)
                out.push_back(
                    {machine + "/sockets/" + std::to_string(from) + "-" + std::to_string(to),
                     "link between sockets", 1,
                     between_[size_t{from} * o_.sockets + to].count(now)});
}

} // namespace storlab
