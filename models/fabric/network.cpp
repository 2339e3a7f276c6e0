#include "models/fabric/network.hpp"
#include "models/fabric/node.hpp"
#include "sim/base/path.hpp"

namespace storlab {

Network::Network(Calendar& calendar, const NetworkOptions& options)
    : calendar_(calendar), options_(options), reroute_(std::make_unique<Reroute>()) {
    reroute_->network = this;
}
Network::~Network() = default;

Adapter& Network::add_adapter(std::string name, const AdapterOptions& options) {
    return adapters_.emplace_back(std::move(name), options);
}

void Network::add_port(std::string name, const PortOptions& options) {
    STORLAB_ENSURE(is_path(name) && options.usable_share > 0 && options.usable_share <= 1);
    FabricNode& n = nodes_.emplace_back(FabricNode{.name = name});
    STORLAB_ENSURE(node_named_.emplace(name, &n).second);
    n.port.options = options;
    n.port.node = &n;
    if (options.machine.empty()) n.port.options.machine = path_steps(name)[0];
}

void Network::add_switch(std::string name, const SwitchOptions& options) {
    STORLAB_ENSURE(is_path(name) && options.buffer > 0);
    FabricNode& n =
        nodes_.emplace_back(FabricNode{.name = name, .is_switch = true, .as_switch = options});
    STORLAB_ENSURE(node_named_.emplace(name, &n).second);
}

FabricNode& Network::node(std::string_view name) {
    const auto found = node_named_.find(name);
    STORLAB_ENSURE(found != node_named_.end());
    return *found->second;
}
FabricNode& Network::port(std::string_view name) {
    FabricNode& n = node(name);
    STORLAB_ENSURE(!n.is_switch);
    return n;
}

void Network::cable(std::string_view a, std::string_view b, CableOptions options) {
    FabricNode &from = node(a), &to = node(b);
    STORLAB_ENSURE(&from != &to);
    for (const FabricNode* end : {&from, &to}) // a port has one socket
        STORLAB_ENSURE(end->is_switch || end->ways.empty());
    if (options.name.empty()) options.name = from.name + " - " + to.name;
    FabricCable& c = cables_.emplace_back(FabricCable{.name = options.name, .a = &from, .b = &to});
    STORLAB_ENSURE(cable_named_.emplace(c.name, &c).second);
    c.there = &add_wire(from, to, c, options);
    c.back = &add_wire(to, from, c, options);
    from.ways.push_back({&to, c.there, c.back, &c});
    to.ways.push_back({&from, c.back, c.there, &c});
}

Wire& Network::add_wire(FabricNode& from, FabricNode& to, FabricCable& c, const CableOptions& o) {
    const Duration propagation = per_metre.scaled(o.metres);
    Rate rate = o.speed.rate();
    if (o.credits)
        rate = credit_rate(o.credits, FrameFormat::fibre_channel().full_frame(), rate, propagation);
    if (!from.is_switch) rate = rate.scaled(from.port.options.usable_share);
    WireOptions w{.name = from.name + " > " + to.name, .rate = rate, .propagation = propagation};
    if (c.name != from.name + " - " + to.name && c.name != to.name + " - " + from.name)
        w.name += " (" + c.name + ")"; // one of several between the two
    if (from.is_switch) {
        w.lossless = from.as_switch.lossless;
        w.buffer = from.as_switch.buffer;
    }
    w.into_switch = to.is_switch;
    w.out_of_port = !from.is_switch;
    w.latency = to.is_switch ? to.as_switch.latency : Duration{};
    w.arrived = to.is_switch ? at_switch : at_port;
    return wires_.emplace_back(calendar_, std::move(w));
}

AssociationStation* Network::association(const FabricPort& from, const FabricPort& to) {
    const AssociationOptions& o = from.options.association;
    if (o.scope == AssociationScope::none) return nullptr;
    const bool by_port = o.scope == AssociationScope::remote_port;
    const std::string name =
        from.node->name + " > " + (by_port ? to.node->name : to.options.machine) + " association";
    STORLAB_ENSURE(!from.node->ways.empty() && o.link_share > 0);
    const Rate line = from.node->ways[0].out->options().rate.scaled(1 / from.options.usable_share);
    const double per_byte = 1e12 / line.scaled(o.link_share).in_bytes_per_second();
    return &associations_.try_emplace(name, AssociationStation{name, o.per_answer, per_byte})
                .first->second;
}

ConnectionEnds Network::connect(std::string_view a, std::string_view b,
                                const ConnectionOptions& o) {
    FabricPort &pa = port(a).port, &pb = port(b).port;
    WirePath there, back;
    if (!find_way(*pa.node, *pb.node, 0, there, back)) return {};
    if (free_links_.empty()) free_links_.push_back(&links_.emplace_back());
    ConnectionPair& link = *free_links_.back();
    free_links_.pop_back();
    link.ordinal = connections_++;
    ConnectionEnd &x = link.ends[0], &y = link.ends[1];
    Duration cards;
    for (const FabricPort* p : {&pa, &pb})
        if (p->options.adapter) cards += p->options.adapter->options().latency;
    x.start({this, &link, &y, &pa, association(pa, pb), o.counted_a, cards, o.format, o.transport});
    y.start({this, &link, &x, &pb, association(pb, pa), o.counted_b, cards, o.format, o.transport});
    STORLAB_ENSURE(set_routes(link));
    return {&x, &y};
}

Packet& Network::take(ConnectionEnd& end) {
    if (!free_packets_) {
        Packet& fresh = packets_.emplace_back();
        fresh.next = free_packets_;
        free_packets_ = &fresh;
    }
    Packet& p = static_cast<Packet&>(*free_packets_);
    free_packets_ = p.next;
    std::vector<std::byte> payload = std::move(p.payload); // keeps its memory
    static_cast<Message&>(p) = Message{};
    payload.clear();
    p.payload = std::move(payload);
    p.end = &end;
    end.link().messages++;
    return p;
}

void Network::give(Packet& p) {
    ConnectionPair& link = p.end->link();
    p.next = free_packets_;
    free_packets_ = &p;
    link.messages--;
    retire(link);
}

void Network::retire(ConnectionPair& link) {
    if (link.messages || !link.ends[0].closed() || !link.ends[1].closed()) return;
    link.incarnation++;
    free_links_.push_back(&link);
}

void Network::tick(ConnectionEnd& end, ConnectionTick what, Instant at) {
    if (!free_ticks_) {
        ConnectionTick& fresh = ticks_.emplace_back();
        fresh.next = free_ticks_;
        free_ticks_ = &fresh;
    }
    ConnectionTick& t = static_cast<ConnectionTick&>(*free_ticks_);
    free_ticks_ = t.next;
    t = what;
    t.end = &end;
    t.incarnation = end.link().incarnation;
    t.phase = Phase::timer;
    t.fire = [](Event& e) {
        ConnectionTick& self = static_cast<ConnectionTick&>(e);
        const ConnectionTick copy = self;
        Network& n = copy.end->network();
        self.next = n.free_ticks_;
        n.free_ticks_ = &self;
        if (copy.incarnation == copy.end->link().incarnation) copy.end->tick(copy);
    };
    calendar_.schedule(t, at);
}

void Network::tell(ConnectionEnd& end, Loss why, Instant at) {
    ConnectionTick t;
    t.kind = TickKind::lost;
    t.why = why;
    tick(end, t, at);
}

void Network::lose(Packet& p) { p.end->lost(p); }

// What does not fit are the last frames of the message. True if nothing of it does.
bool Network::drop_what_does_not_fit(Packet& p, const Wire& from, const Wire& out) {
    if (out.options().lossless) return false;
    const int64_t over = out.overflow(calendar_.now(), p.bytes, from);
    if (over <= 0) return false;
    counts_.dropped++;
    if (!p.end->sends_again()) return true;
    const FrameFormat& f = p.end->format();
    const uint32_t frames = f.frames(p.part - p.missing);
    const int64_t gone = (over - 1) / f.full_frame() + 1;
    if (gone >= frames) return true;
    const uint32_t kept = (frames - static_cast<uint32_t>(gone)) * f.payload;
    p.missing = p.part - kept;
    p.bytes = f.wire(kept);
    p.last = f.full_frame();
    return false;
}

void Network::at_switch(Event& e) {
    Packet& p = static_cast<Packet&>(e);
    Network& n = p.end->network();
    Wire& in = **p.hop;
    if (!in.same_light(p)) return n.lose(p); // the wire has long begun anew
    Instant room;
    Wire& out = *p.hop[1];
    if (!in.carries(p) || out.dark() || n.drop_what_does_not_fit(p, in, out)) n.lose(p);
    else {
        p.hop++;
        room = out.enter(p, n.calendar_.now(), &in);
    }
    if (room != Instant::never()) in.passed(room);
}

void Network::at_port(Event& e) {
    Packet& p = static_cast<Packet&>(e);
    FabricPort& port = p.end->peer().port();
    const Instant now = p.at;
    const Duration coalesce = port.options.coalesce;
    if (p.signalled) port.waiting--;
    else {
        if (!(*p.hop)->carries(p)) return p.end->network().lose(p);
        if (coalesce > Duration{} && (now < port.next_interrupt || port.waiting)) {
            p.signalled = true;
            port.waiting++;
            return p.end->network().calendar_.schedule(p, later(now, port.next_interrupt));
        }
    }
    if (now >= port.next_interrupt) {
        port.interrupts++;
        port.next_interrupt = now + coalesce;
    }
    p.end->arrived(p);
}

void Network::describe(std::vector<StationDescription>& out) const {
    const Instant now = calendar_.now();
    for (const Wire& w : wires_)
        out.push_back({w.options().name,
                       w.options().into_switch ? "wire into a switch" : "wire into a port", 1,
                       w.count(now)});
    for (const Adapter& a : adapters_)
        out.push_back({a.name(), "adapter", 1, a.station().count(now)});
    for (const auto& [name, a] : associations_)
        out.push_back({name, "association", 1, a.station.count(now)});
}

std::vector<StationCapacity> Network::capacities() const {
    const auto per_second = [](Duration d) {
        return d > Duration{} ? Iops(1 / d.in_seconds()) : Iops();
    };
    std::vector<StationCapacity> all;
    for (const FabricCable& c : cables_)
        for (const Wire* w : {c.there, c.back})
            all.push_back({w->options().name, c.name, w->options().rate, {}});
    for (const Adapter& a : adapters_)
        all.push_back(
            {a.name(), "", {}, per_second(a.options().per_command + a.options().per_message)});
    for (const auto& [name, a] : associations_)
        all.push_back(
            {name, "", Rate::bytes_per_second(1e12 / a.ps_per_byte), per_second(a.per_answer)});
    return all;
}

size_t Network::messages_idle() const {
    size_t n = 0;
    for (const Event* e = free_packets_; e; e = e->next) n++;
    return n;
}

uint64_t Network::interrupts(std::string_view port) const {
    const auto found = node_named_.find(port);
    STORLAB_ENSURE(found != node_named_.end());
    return found->second->port.interrupts;
}

} // namespace storlab
