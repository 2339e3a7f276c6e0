// The message seam over TCP: connections between processes of this machine, on its loopback
// address, with the bytes of a real protocol. What cables and switches do to a simulated connection
// can be done to one of these: it can be cut (its end here is told why at once) or fall silent
// (nothing comes through, and nobody is told).
//
// Everything goes through the world's ring, and a receiver hears of messages and of loss from the
// loop, never from within a call of its own. Bytes that make no sense end a connection; so does a
// peer that ends. Left out: other machines' addresses, digests, encryption.
#pragma once
#include "sim/real/real_world.hpp"
#include "sim/seam/codec.hpp"
#include <memory>
#include <string>
#include <vector>

namespace storlab {

class SocketConnection;
class SocketListener;

struct SocketCounters {
    uint64_t connections = 0, lost = 0; // begun, and ended without being closed here
    uint64_t malformed = 0;             // ... of those because of what arrived
    uint64_t bytes_sent = 0, bytes_received = 0;
};

class Sockets { // outlives the last run of its world
public:
    explicit Sockets(RealWorld& world);
    ~Sockets(); // closes everything; nobody is told
    Sockets(const Sockets&) = delete;
    Sockets& operator=(const Sockets&) = delete;

    // Takes connections at a port, or at a free one if it is 0; returns which. InputError.
    uint16_t listen(uint16_t port, MakeCodec codec, std::function<void(Connection&)> accepted);
    // Null: nobody listens there. The connection is this object's, for as long as it lives.
    Connection* connect(uint16_t port, const MakeCodec& codec);
    // Of a connection of this object; one that has ended is not touched.
    void cut(Connection& connection, Loss why);
    void set_silent(Connection& connection, bool silent);

    const SocketCounters& counters() const { return counters_; }
    const std::string& last_fault() const { return last_fault_; } // of what was malformed

private:
    friend class SocketConnection;
    friend class SocketListener;
    RealWorld& world_;
    // Ended ones too: their users may still hold them.
    std::vector<std::unique_ptr<SocketConnection>> connections_;
    std::vector<std::unique_ptr<SocketListener>> listeners_;
    uint32_t under_way_ = 0; // commands of ours in the ring
    bool closing_ = false;
    SocketCounters counters_;
    std::string last_fault_;

    void issue(RingCommand& command);
    SocketConnection& add(int socket, const MakeCodec& codec, bool patient);
};

} // namespace storlab
