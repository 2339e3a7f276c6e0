// One direction of a cable, with the queue in front of it: a FIFO station whose service is the time
// of the bytes on the wire. Messages are served whole, one after another; frames of different
// messages do not interleave. (Protocols cut data into units of up to about 128 KiB, so that is the
// grain of fairness, for connections that share a port: they take turns there.) A message is cut
// through: its head may leave a switch one frame and the switch's latency after it started, its
// tail no earlier than one frame after it came in.
//
// A wire out of a switch has a buffer. If it does not drop, whoever brings a message is held until
// its last byte fits, and everything behind it too (head of line), whatever it is for. In a cycle
// of full buffers nothing would move again, as in the field.
#pragma once
#include "models/fabric/fair_queue.hpp"
#include "models/fabric/packet.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/kernel/station.hpp"
#include <string>
#include <vector>

namespace storlab {

// Light in fibre and signals in copper take about 5 ns a metre (index of refraction 1.47 to 1.5).
constexpr Duration per_metre = Duration::ns(5);

// What buffer-to-buffer credits allow: so many frames in the time until the credit of the first is
// back, which is a frame and the way there and back (FC-FS-3, R_RDY).
Rate credit_rate(uint32_t credits, uint32_t frame_bytes, Rate line, Duration propagation);

enum class CableState : uint8_t {
    up,
    down,  // no light: known at both ends
    silent // light, but nothing comes through
};

struct WireOptions {
    std::string name = {};
    Rate rate = {};
    Duration propagation = {};
    bool into_switch = false;
    bool out_of_port = false;
    Duration latency = {};             // of the switch it leads into
    bool lossless = true;              // full buffer: hold, not drop
    int64_t buffer = no_limit;         // bytes in front of it
    void (*arrived)(Event&) = nullptr; // at a switch the head, at a port the whole message
    static constexpr int64_t no_limit = INT64_MAX;
};

class Wire {
public:
    Wire(Calendar& calendar, WireOptions options);
    // The packet may start from `ready` on; ready dates come in order. `from` is the wire that
    // brought it to the switch. Returns from when on that wire may go on, or never(): it will be
    // told.
    Instant enter(Packet& p, Instant ready, Wire* from = nullptr);
    // The head has left for the switch: the next may start, not before `room`.
    void passed(Instant room);

    bool dark() const { return dark_; }
    bool carries(const Packet& p) const { return p.epoch == epoch_ && !silent_; }
    bool same_light(const Packet& p) const { return p.epoch == epoch_; }
    bool works() const { return !dark_ && !silent_; }
    void set_silent(bool silent) { silent_ = silent; }
    // Loses what is on it; what was queued for it is left in the queue given.
    void darken(EventQueue& queued);
    void light() { dark_ = false; }

    const WireOptions& options() const { return o_; }
    Duration time(uint32_t bytes) const { return time_of(bytes); }
    // From the start of a message of one frame to its arrival.
    Duration base_time(uint32_t bytes) const { return time(bytes) + beyond_; }
    double backlog(Instant now) const; // bytes in front of it
    // How far a message that comes at another wire's speed overfills the buffer, in bytes.
    int64_t overflow(Instant now, uint32_t bytes, const Wire& from) const;
    StationCount count(Instant now) const;

private:
    struct Waiter {
        Wire* wire;
        int64_t need; // goes on once so many bytes have started here
    };
    Calendar& calendar_;
    WireOptions o_;
    double ps_per_byte_;
    Duration beyond_, drain_; // propagation and switch; time of a full buffer
    uint32_t epoch_ = 0;
    bool dark_ = false, silent_ = false;
    bool busy_ = false; // a head is under way to the switch, or held there
    Instant free_, held_until_, started_;
    StationCount count_;
    EventQueue queue_; // out of a switch: first come, first served
    FairQueue turns_;  // out of a port
    int64_t entered_ = 0, launched_ = 0, launched_before_ = 0; // bytes, of a wire into a switch
    std::vector<Waiter> waiters_;
    Wire* waits_for_ = nullptr;

    Duration time_of(int64_t bytes) const {
        return Duration::ps(static_cast<int64_t>(static_cast<double>(bytes) * ps_per_byte_ + 0.5));
    }
    void wait(Packet& p);
    Packet* next_waiting();
    void serve(Packet& p, Instant start);
    void launch(Packet& p);
    Instant room_for(int64_t need) const { // need <= launched_
        return need <= launched_before_ ? Instant{} : started_ + time_of(need - launched_before_);
    }
    void tell_waiters();
};

} // namespace storlab
