// One end of a connection through the simulated fabric: what it sends crosses the adapter, its
// association if the port has one, and the wires of its route. A connection that is not its
// transport's to repair and crosses no buffer that drops pays for no window, no acknowledgement and
// no timer. An end is the network's; its user closes it once, whatever happened to it before.
#pragma once
#include "models/fabric/adapter.hpp"
#include "models/fabric/frame.hpp"
#include "models/fabric/packet.hpp"
#include "models/fabric/transport.hpp"
#include "models/fabric/wire.hpp"

namespace storlab {

class Network;
struct FabricPort;
struct ConnectionPair;

using WirePath = std::vector<Wire*>;

struct AssociationStation {
    std::string name;
    Duration per_answer = {};
    double ps_per_byte = 0;
    FifoStation station = {};
};

enum class TickKind : uint8_t { acknowledged, timeout, gap, lost };
struct ConnectionTick : Event { // a date of a connection; void if the connection is over by then
    ConnectionEnd* end = nullptr;
    uint32_t incarnation = 0, serial = 0;
    TickKind kind = TickKind::lost;
    Loss why = Loss::timed_out;
    Instant seen;
};

class ConnectionEnd final : public Connection {
public:
    using Counted = bool (*)(const Message&);
    struct Start {
        Network* network;
        ConnectionPair* link;
        ConnectionEnd* peer;
        FabricPort* port;
        AssociationStation* association;
        Counted counted;
        Duration cards; // latency of both ends' cards
        FrameFormat format;
        TransportOptions transport;
    };
    void start(const Start& s);

    Message& message() override;
    void send(Message& m) override;
    void recycle(Message& m) override;
    void attach(Receiver& r) override { receiver_ = &r; }
    void close() override;

    // The hardware's side.
    Network& network() const { return *s_.network; }
    ConnectionPair& link() const { return *s_.link; }
    FabricPort& port() const { return *s_.port; }
    ConnectionEnd& peer() const { return *s_.peer; }
    const WirePath* route() const { return route_; }
    bool dead() const { return dead_; }
    bool told() const { return told_; }
    bool closed() const { return closed_; }
    bool sends_again() const { return s_.transport.kind != TransportKind::exchange; }
    Instant in_order(Instant at) { return last_arrival_ = later(last_arrival_, at); }
    // back: what an acknowledgement takes. The new route is taken when nothing is under way on the
    // old one, or that is dark.
    void set_route(const WirePath* route, Duration back);
    void on_wire(Packet& p, Instant ready);
    void arrived(Packet& p); // one of this end's, at the peer's port
    void lost(Packet& p);    // one of this end's
    const FrameFormat& format() const { return s_.format; }
    void tick(const ConnectionTick& t);
    FairQueue::Lane lane; // its packets that wait for the wire out of its port
    void die();           // says nothing any more
    void die_unheard() {  // and its user is not told
        told_ = true;
        die();
    }

private:
    struct Acknowledgement {
        Instant at;
        uint32_t bytes;
    };
    Start s_;
    Receiver* receiver_ = nullptr;
    const WirePath *route_ = nullptr, *next_route_ = nullptr;
    Duration back_, next_back_;
    bool dead_ = true, told_ = true, closed_ = true, windowed_ = false;
    uint32_t travelling_ = 0;
    uint64_t next_sequence_ = 0, expected_ = 0;
    Instant last_arrival_;
    // Of a transport that sends again
    PacketList waiting_, lost_; // for the window; lost, which it does not know yet
    PacketList early_;          // the peer's, behind a gap
    std::vector<Acknowledgement> acknowledgements_;
    size_t taken_ = 0; // of those
    bool acknowledgement_armed_ = false, gap_armed_ = false;
    double window_ = 0, threshold_ = 0;
    int64_t under_way_ = 0;
    uint32_t retries_ = 0, timeout_serial_ = 0;
    Duration timeout_;
    Instant stalled_since_, last_cut_;

    void take_route(const WirePath* route, Duration back);
    void transmit(Packet& p, uint32_t part);
    void arrived_reliably(Packet& p);
    void take_in(Packet& p);
    void note_lost(Packet& p);
    void acknowledge(uint32_t bytes);
    void take_acknowledgements();
    void arm_acknowledgement();
    void pump();
    uint32_t allowed(const Packet& p) const;
    void arm_timeout(const Packet& p);
    void on_timeout();
    void on_gap(Instant seen);
    void send_again(PacketList& packets);
    void cut_window(double to);
    void fail(Loss why);
};

struct ConnectionPair { // both ends; used again when both are closed and all their messages are
                        // back
    ConnectionEnd ends[2];
    uint64_t ordinal = 0;
    uint32_t incarnation = 0, messages = 0;
};

} // namespace storlab
