// The host's end of a session with a target: an NVMe-oF controller as the host sees it, an iSCSI
// session, a login of an FC port. It logs in, carries out commands with a fixed number of tags,
// watches over their time, and when the session is lost ends them and logs in again.
//
// A command ends exactly once. Its tag carries a generation; what arrives for an earlier one meets
// a tombstone and is counted. An overdue command is aborted first; if nobody answers to that, the
// session is reset. Linux does so for SCSI; for NVMe over fabrics it resets at once (abort_first).
// Left out: several connections to a session, and error recovery levels above 0 of iSCSI.
#pragma once
#include "models/exchange/alarm.hpp"
#include "models/exchange/kinds.hpp"
#include "models/exchange/profile.hpp"
#include <deque>
#include <functional>

namespace storlab {

enum class SessionState : uint8_t { idle, connecting, live, lost, removed };

struct InitiatorOptions {
    uint32_t depth = 128;  // tags; more commands wait, first come first served
    uint64_t identity = 0; // of this host at this port; a new session ends the old one's. 0: no one
    bool abort_first = true;
    Cpu* adapter = nullptr;   // runs the protocol
    Cpu* interrupt = nullptr; // pays for what the network stack does below the protocol
    // A new connection, not attached yet, or null: none to be had now. A connection outlives the
    // messages it gave and delivered, even when it has ended.
    std::function<Connection*()> connect;
};

struct InitiatorCounters {
    uint64_t commands = 0, completed = 0;        // given to us, and ended, one way or another
    uint64_t sent = 0, received = 0;             // messages
    uint64_t late = 0;                           // that nobody waited for any more
    uint64_t timeouts = 0, aborted = 0;          // commands overdue, and ended by an abort
    uint64_t resets = 0, losses = 0, logins = 0; // sessions ended by us, ended at all, begun
    uint64_t attentions = 0;                     // commands sent again after one
    uint64_t violations = 0;                     // what a correct target does not send
};

class RemoteUnit;

class Initiator final : public Receiver {
public:
    Initiator(Clock& clock, const Profile& profile, InitiatorOptions options);
    Initiator(const Initiator&) = delete;
    Initiator& operator=(const Initiator&) = delete;

    // Log in; commands given before that is done for the first time wait. Again after a removal.
    void start();
    void stop(); // for good: what is outstanding ends with no_path
    // The transport sees the target again (a port that came back, a state change notice).
    void reconnect_now();
    Handle submit(Request& r, uint16_t unit); // of a RemoteUnit

    SessionState state() const { return state_; }
    Loss last_loss() const { return why_; } // why the last session ended
    Access access(uint16_t unit) const {
        return unit < units_.size() ? units_[unit].access : Access::unavailable;
    }
    void on_state(std::function<void(SessionState)> f) { on_state_ = std::move(f); }
    void on_access(std::function<void(uint16_t unit, Access)> f) { on_access_ = std::move(f); }
    uint32_t outstanding() const { return o_.depth - static_cast<uint32_t>(free_.size()); }
    const InitiatorCounters& counters() const { return counters_; }
    const Profile& profile() const { return p_; }

    void receive(Message& m) override;
    void lost(Loss why) override;

private:
    friend class RemoteUnit;
    struct Unit {
        RemoteUnit* remote = nullptr;
        Access access = Access::optimized;
    };
    struct Slot {
        Request* request = nullptr;
        RemoteUnit* unit = nullptr;
        uint32_t generation = 0;
        bool sent = false;
        bool doomed = false; // its session ended while it was being paid for
        uint16_t visits = 0; // of its messages to a core, under way
        uint32_t got = 0;    // blocks read
        int32_t newer = -1, older = -1;
        Instant deadline;
        Message* last = nullptr; // the response, while data is still being copied
        // The request's, while the command is away: its owner may be gone when the target writes.
        Span span;
    };
    // A message while somebody pays for it.
    struct Receipt : Job {
        Initiator* owner;
        Message* message;
        Connection* from;
    };

    Clock& clock_;
    const Profile p_;
    InitiatorOptions o_;
    const bool software_;
    const uint32_t generation_mask_;
    std::vector<Slot> slots_;
    std::vector<uint16_t> free_;
    int32_t oldest_ = -1, newest_ = -1; // commands sent, in that order
    std::vector<Unit> units_;
    EventQueue waiting_;
    std::deque<Receipt> receipts_;
    EventQueue free_receipts_;

    SessionState state_ = SessionState::idle;
    Loss why_ = Loss::timed_out;
    Connection* connection_ = nullptr;
    bool failing_ = false; // commands end at once
    uint32_t step_ = 0;    // of the login
    bool querying_ = false, query_again_ = false;
    int32_t aborting_ = -1; // tag of the command, or none
    uint32_t aborting_generation_ = 0;
    Instant heard_;
    InitiatorCounters counters_;
    std::function<void(SessionState)> on_state_;
    std::function<void(uint16_t, Access)> on_access_;
    Alarm overdue_, abort_late_, login_late_, again_, give_up_, removal_, ping_, ping_late_;

    // initiator.cpp: commands
    void start(Request& r);
    static void paid(Event& e);
    static void encoded(Event& e);
    void leave(Request& r);
    void issue(Slot& s);
    void park(Slot& s);
    void start_waiting();
    void append(Slot& s);
    void unlink(Slot& s);
    void release(Slot& s);
    void complete(Slot& s, IoStatus status);
    void finish(Slot& s, Message& m);
    void send_data(Slot& s, uint32_t offset, uint32_t blocks);
    uint16_t tag_of(const Slot& s) const { return static_cast<uint16_t>(&s - slots_.data()); }

    // answers.cpp: what arrives
    Slot* find(const Message& m);
    bool concludes(const Message& m) const;
    Receipt& receipt(Message& m, void (*next)(Event&));
    static void interrupted(Event& e);
    static void copied(Event& e);
    void arrive(Message& m);
    void answer(Message& m, Slot& s);
    void handle(Message& m, Slot& s);
    void take_data(Message& m, Slot& s);
    void drop(Message& m, Connection& from, uint64_t& counter);
    void violation(Message& m);

    // session.cpp: login, time, loss
    Message& control(Kind kind, uint32_t bytes);
    bool send(Message& m);
    void set_state(SessionState state);
    void set_access(uint16_t unit, Access access);
    void connect();
    void greet();
    void welcomed(Message& m);
    void query();
    void reported(Message& m);
    void now_live();
    void reset();
    void go_down();
    void fail_waiting();
    void remove();
    void check_overdue();
    void abort_answered();
    void keep_alive();
};

} // namespace storlab
