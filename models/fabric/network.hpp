// The fabric of the simulated world: ports of machines, switches, cables between them, and the
// connections that cross it. A message costs one event a switch and one at the end, and no memory.
// Routes have the fewest hops; connections take equally short ones in turn (the spreading over
// inter-switch links that FSPF and ECMP do by hash). Both directions use the same cables.
//
// Faults: a cable that is down is known at both its ends at once; the rest learns from the fabric
// (Fibre Channel's state change notification) or not at all (TCP and RDMA, until they time out or
// the peer answers that it knows no such connection). A silent cable nobody notices. Switches find
// other ways after `reroute`.
// Left out: virtual lanes and priorities, zoning, speed negotiation, single bad frames.
#pragma once
#include "models/fabric/connection.hpp"
#include "models/fabric/speed.hpp"
#include <deque>
#include <map>
#include <memory>
#include <string_view>

namespace storlab {

struct NetworkOptions {
    // From the loss of a port's light to the moment other ports know: at most E_D_TOV, 2 s by
    // default (FC-FS-3); switches do it in less.
    Duration fabric_notice = Duration::s(2);
    Duration reroute = Duration::ms(10); // new ways are in place: of the order of FSPF's and LACP's
};
struct PortOptions {
    std::string machine = {}; // by default the first step of the port's name
    Adapter* adapter = nullptr;
    Duration coalesce = {};  // at most one interrupt in that time; zero: one for each message
    double usable_share = 1; // of the wire out of it
    AssociationOptions association = {};
};
struct SwitchOptions {
    Duration latency = Duration::ns(780);   // port to port, Brocade G620 with FEC
    bool lossless = true;                   // credits or pause, instead of dropping
    int64_t buffer = WireOptions::no_limit; // of every port, bytes
};
struct CableOptions {
    LinkSpeed speed = {};
    double metres = 5;
    uint32_t credits = 0;  // buffer-to-buffer, of full FC frames; zero: enough
    std::string name = {}; // by default "a - b"
};
struct ConnectionOptions {
    FrameFormat format = {};
    TransportOptions transport = {};
    // Which messages the adapters count as a command (association: as an answer), by sender.
    ConnectionEnd::Counted counted_a = nullptr, counted_b = nullptr;
};
struct ConnectionEnds {
    Connection *a = nullptr, *b = nullptr; // null: no way there now
};
struct StationCapacity { // for drawing and for bounds; zero: no limit of that kind
    std::string name;    // as described
    std::string cable;   // of a wire
    Rate bytes;
    Iops commands;
};
struct NetworkCounts {
    uint64_t delivered = 0, lost = 0; // lost: by faults
    uint64_t dropped = 0;             // by full buffers, in whole or in part
    uint64_t sent_again = 0, timeouts = 0;
};

struct FabricCable;
struct FabricNode;

class Network {
public:
    explicit Network(Calendar& calendar, const NetworkOptions& options = {});
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    Adapter& add_adapter(std::string name, const AdapterOptions& options);
    void add_port(std::string name, const PortOptions& options = {});
    void add_switch(std::string name, const SwitchOptions& options = {});
    void cable(std::string_view a, std::string_view b, CableOptions options);

    // Ends last until closed. Nothing is said to the peer: that is the protocol's first message.
    ConnectionEnds connect(std::string_view a, std::string_view b, const ConnectionOptions& o);
    bool reachable(std::string_view a, std::string_view b); // and nothing on the way is silent

    void set_cable(std::string_view name, CableState state);
    // A port, a switch, or all ports of a machine. What runs there hears nothing, and what it
    // closes later is not heard either.
    void set_power(std::string_view name, bool on);

    void describe(std::vector<StationDescription>& out) const;
    std::vector<StationCapacity> capacities() const; // of all that is described, in its order
    std::vector<std::string> cable_names() const;
    std::vector<std::string> port_names() const;
    const NetworkCounts& counts() const { return counts_; }
    uint64_t interrupts(std::string_view port) const;
    size_t messages_made() const { return packets_.size(); } // the most there ever were at once
    size_t messages_idle() const;                            // of those, in the pool now
    size_t connections_made() const { return links_.size(); }

    // For connections.
    Calendar& calendar() const { return calendar_; }
    Packet& take(ConnectionEnd& end);
    void give(Packet& p);
    void retire(ConnectionPair& link); // if nobody needs it any more
    void tick(ConnectionEnd& end, ConnectionTick what, Instant at);
    void tell(ConnectionEnd& end, Loss why, Instant at);
    void lose(Packet& p);
    NetworkCounts& count() { return counts_; }

private:
    Calendar& calendar_;
    NetworkOptions options_;
    std::deque<FabricNode> nodes_; // ports and switches
    std::deque<FabricCable> cables_;
    std::deque<Wire> wires_;
    std::deque<Adapter> adapters_;
    std::map<std::string, FabricNode*, std::less<>> node_named_;
    std::map<std::string, FabricCable*, std::less<>> cable_named_;
    std::map<std::string, AssociationStation, std::less<>> associations_;
    std::map<WirePath, std::unique_ptr<const WirePath>> routes_;
    std::deque<ConnectionPair> links_;
    std::vector<ConnectionPair*> free_links_;
    std::deque<Packet> packets_;
    Event *free_packets_ = nullptr, *free_ticks_ = nullptr;
    std::deque<ConnectionTick> ticks_;
    NetworkCounts counts_;
    uint64_t connections_ = 0;
    struct Reroute;
    std::unique_ptr<Reroute> reroute_;

    FabricNode& node(std::string_view name);
    FabricNode& port(std::string_view name);
    Wire& add_wire(FabricNode& from, FabricNode& to, FabricCable& cable, const CableOptions& o);
    AssociationStation* association(const FabricPort& from, const FabricPort& to);
    const WirePath* intern(WirePath route);
    bool find_way(FabricNode& from, FabricNode& to, uint64_t ordinal, WirePath& there,
                  WirePath& back);
    bool set_routes(ConnectionPair& link);
    void change(FabricCable& cable);
    void cut(FabricCable& cable);
    void find_ways();
    static void at_switch(Event& e);
    static void at_port(Event& e);
    bool drop_what_does_not_fit(Packet& p, const Wire& from, const Wire& out);
};

} // namespace storlab
