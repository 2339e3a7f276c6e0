// The message seam: one end of a connection between two machines, and what travels on it. A message
// is a protocol's data unit in decoded form. In the simulated world it travels as it is, at the
// cost of `wire_bytes`; in the real world its protocol's codec turns it into bytes on a socket.
//
// A connection is in order. It never repeats a message, but it may end, and then everything under
// way on it is lost; who needs an answer sets a timer.
#pragma once
#include "sim/seam/block_device.hpp"
#include <vector>

namespace storlab {

// Events are the message's own: whoever has it may use fire and next, as with a Request.
struct Message : Job {
    uint8_t kind = 0; // the protocol's
    Op op = Op::read;
    IoStatus status = IoStatus::ok;
    bool last = false; // of the data of its command; carries the status if the protocol does that
    uint16_t unit = 0; // logical unit or namespace
    uint32_t tag = 0;  // which command of the session it belongs to
    uint32_t generation = 0; // which use of that tag: an answer to an earlier one is late
    Lba lba;
    uint32_t offset = 0, blocks = 0; // of the command's data, in blocks
    uint32_t wire_bytes = 0;         // header and data, without what frames add
    std::vector<std::byte> payload;  // data, if it carries any
};

enum class Loss : uint8_t {
    link_down, // the local port has no light: known at once
    peer_gone, // the fabric or the peer's system says that it is not there any more
    timed_out, // nothing came back for as long as the transport waits
};

struct Receiver {
    virtual ~Receiver() = default;
    virtual void receive(Message& m) = 0; // the receiver's now, until it recycles it
    virtual void lost(Loss why) = 0;      // once; nothing arrives any more
};

class Connection {
public:
    virtual ~Connection() = default;
    virtual Message& message() = 0;       // an empty one to fill
    virtual void send(Message& m) = 0;    // is not the sender's any more
    virtual void recycle(Message& m) = 0; // received and done with
    virtual void attach(Receiver& r) = 0; // who gets what arrives here
    virtual void close() = 0;             // nothing is received or sent here any more
};

} // namespace storlab
