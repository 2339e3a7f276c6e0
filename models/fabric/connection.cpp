#include "models/fabric/connection.hpp"
#include "models/fabric/network.hpp"
#include "models/fabric/node.hpp"

namespace storlab {

void ConnectionEnd::start(const Start& s) {
    s_ = s;
    receiver_ = nullptr;
    route_ = next_route_ = nullptr;
    dead_ = told_ = closed_ = windowed_ = false;
    travelling_ = 0;
    next_sequence_ = expected_ = 0;
    last_arrival_ = stalled_since_ = last_cut_ = Instant{};
    acknowledgements_.clear();
    taken_ = 0;
    acknowledgement_armed_ = gap_armed_ = false;
    window_ = static_cast<double>(s.transport.segment) * s.transport.first_window;
    threshold_ = static_cast<double>(s.transport.window);
    under_way_ = 0;
    retries_ = 0;
    timeout_ = s.transport.timeout_min;
}

Message& ConnectionEnd::message() { return network().take(*this); }
void ConnectionEnd::recycle(Message& m) { network().give(static_cast<Packet&>(m)); }

void ConnectionEnd::send(Message& m) {
    Packet& p = static_cast<Packet&>(m);
    p.enter(Layer::fabric, network().calendar().now());
    if (dead_) return network().give(p);
    p.end = this;
    p.sequence = next_sequence_++;
    p.left = m.wire_bytes;
    if (!windowed_) return transmit(p, p.left);
    take_acknowledgements();
    waiting_.insert(p);
    pump();
    if (!waiting_.empty()) arm_acknowledgement();
}

void ConnectionEnd::transmit(Packet& p, uint32_t part) {
    const Instant now = network().calendar().now();
    if (next_route_ && !travelling_) take_route(next_route_, next_back_);
    const FrameFormat& f = s_.format;
    const uint32_t before_last = (f.frames(part) - 1) * f.full_frame();
    p.part = part;
    p.missing = 0;
    p.bytes = f.wire(part);
    p.last = p.bytes - before_last;
    p.first = before_last ? f.full_frame() : p.bytes;
    p.tail = Instant{};
    p.sent = now;
    p.signalled = false;
    p.hop = route_->data();
    travelling_++;
    Instant ready = now;
    const bool counts = s_.counted && s_.counted(p);
    if (Adapter* const adapter = port().options.adapter)
        ready = adapter->handle(now, counts) + s_.cards;
    if (!s_.association) return on_wire(p, ready);
    AssociationStation& a = *s_.association;
    const auto bytes = Duration::ps(static_cast<int64_t>(p.bytes * a.ps_per_byte + 0.5));
    p.fire = [](Event& e) {
        Packet& self = static_cast<Packet&>(e);
        self.end->on_wire(self, self.at);
    };
    p.phase = Phase::arrival;
    network().calendar().schedule(p, a.station.serve(ready, counts ? a.per_answer + bytes : bytes));
}

void ConnectionEnd::on_wire(Packet& p, Instant ready) {
    Wire& first = **p.hop;
    if (first.dark()) lost(p);
    else first.enter(p, ready);
}

void ConnectionEnd::arrived(Packet& p) {
    travelling_--;
    if (sends_again()) return arrived_reliably(p);
    ConnectionEnd& to = *s_.peer;
    // An overtaken one (a new route was shorter) is discarded: the connection is in order.
    if (to.dead_ || p.sequence < to.expected_) return network().give(p);
    to.expected_ = p.sequence + 1;
    network().count().delivered++;
    to.receiver_->receive(p);
}

void ConnectionEnd::lost(Packet& p) {
    travelling_--;
    network().count().lost++;
    if (dead_ || !sends_again()) return network().give(p);
    p.missing = p.part;
    note_lost(p);
}

void ConnectionEnd::die() {
    if (dead_) return;
    dead_ = true;
    for (PacketList* list : {&waiting_, &lost_, &early_})
        while (!list->empty()) network().give(list->pop());
}

void ConnectionEnd::close() {
    STORLAB_ENSURE(!closed_);
    const bool spoke = !dead_;
    die_unheard();
    bool heard = spoke && !peer().dead_;
    for (const Wire* w : *route_) heard = heard && w->works();
    if (heard) // a FIN, a LOGO or a disconnect request
        network().tell(peer(), Loss::peer_gone, network().calendar().now() + peer().back_);
    closed_ = true;
    network().retire(link());
}

void ConnectionEnd::set_route(const WirePath* route, Duration back) {
    bool dark = !route_;
    if (route_)
        for (const Wire* w : *route_) dark = dark || w->dark();
    next_route_ = nullptr;
    if (route == route_) return;
    if (dark || !travelling_) return take_route(route, back);
    next_route_ = route;
    next_back_ = back;
}

void ConnectionEnd::take_route(const WirePath* route, Duration back) {
    route_ = route;
    back_ = back;
    next_route_ = nullptr;
    windowed_ = false;
    if (s_.transport.kind == TransportKind::tcp)
        for (const Wire* w : *route)
            windowed_ |= !w->options().lossless && w->options().buffer != WireOptions::no_limit;
    if (!waiting_.empty()) pump();
}

void ConnectionEnd::tick(const ConnectionTick& t) {
    if (t.kind == TickKind::lost) return fail(t.why);
    if (dead_) return;
    switch (t.kind) {
    case TickKind::acknowledged:
        acknowledgement_armed_ = false;
        take_acknowledgements();
        pump();
        if (!waiting_.empty()) arm_acknowledgement();
        break;
    case TickKind::timeout:
        if (t.serial == timeout_serial_) on_timeout();
        break;
    case TickKind::gap: on_gap(t.seen); break;
    case TickKind::lost: break;
    }
}

void ConnectionEnd::fail(Loss why) {
    if (told_) return;
    told_ = true;
    die();
    if (receiver_) receiver_->lost(why);
}

} // namespace storlab
