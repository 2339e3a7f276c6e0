// The initiator's session: login, access states, timeouts, loss and return.
#include "models/exchange/remote_unit.hpp"

namespace storlab {

Message& Initiator::control(Kind kind, uint32_t bytes) {
    Message& m = connection_->message();
    m.kind = static_cast<uint8_t>(kind);
    m.op = Op::read;
    m.status = IoStatus::ok;
    m.last = false;
    m.unit = 0;
    m.tag = m.generation = 0;
    m.lba = {};
    m.offset = m.blocks = 0;
    m.wire_bytes = bytes;
    m.payload.clear();
    m.span = nullptr;
    return m;
}

// False if the session ended of it.
bool Initiator::send(Message& m) {
    counters_.sent++;
    Connection* const to = connection_;
    to->send(m);
    return connection_ == to;
}

void Initiator::set_state(SessionState state) {
    if (state_ == state) return;
    state_ = state;
    if (on_state_) on_state_(state);
}
void Initiator::set_access(uint16_t unit, Access access) {
    if (unit >= units_.size() || units_[unit].access == access) return;
    units_[unit].access = access;
    if (on_access_) on_access_(unit, access);
}

void Initiator::start() {
    STORLAB_ENSURE(state_ == SessionState::idle || state_ == SessionState::removed);
    connect();
}
void Initiator::reconnect_now() {
    if (state_ != SessionState::lost) return;
    again_.stop();
    connect();
}

void Initiator::connect() {
    set_state(SessionState::connecting);
    if (state_ != SessionState::connecting) return;
    connection_ = o_.connect();
    if (!connection_) return go_down();
    step_ = 0;
    login_late_.set(clock_.now() + p_.timers.connect);
    connection_->attach(*this);
    if (connection_) greet();
}

void Initiator::greet() {
    Message& m = control(Kind::hello, p_.login[step_].request);
    m.offset = step_;
    m.blocks = o_.depth;
    m.lba = {o_.identity};
    send(m);
}

void Initiator::welcomed(Message& m) {
    if (state_ != SessionState::connecting || m.offset != step_ || m.status != IoStatus::ok)
        return violation(m);
    connection_->recycle(m);
    if (++step_ < p_.login.size()) greet();
    else query(); // live once we know which units can be reached how
}

void Initiator::query() {
    if (!connection_) return;
    if (querying_) {
        query_again_ = true;
    } else {
        querying_ = true;
        send(control(Kind::access_query, p_.query));
    }
}

void Initiator::reported(Message& m) {
    if (!querying_ || m.payload.size() % AccessEntry::bytes) return violation(m);
    querying_ = false;
    Connection* const from = connection_;
    for (size_t at = 0; at < m.payload.size(); at += AccessEntry::bytes) {
        const AccessEntry e = access_entry(m.payload.data() + at);
        set_access(e.unit, e.access);
    }
    from->recycle(m);
    if (from != connection_) return; // ended by who was told
    if (std::exchange(query_again_, false)) query();
    if (state_ == SessionState::connecting && from == connection_) now_live();
}

void Initiator::now_live() {
    login_late_.stop();
    give_up_.stop();
    removal_.stop();
    failing_ = false;
    counters_.logins++;
    if (p_.timers.keep_alive > Duration()) ping_.set(clock_.now() + p_.timers.keep_alive);
    set_state(SessionState::live);
    start_waiting();
}

void Initiator::lost(Loss why) {
    if (!connection_) return;
    why_ = why;
    go_down();
}

void Initiator::reset() {
    if (!connection_) return;
    counters_.resets++;
    why_ = Loss::timed_out;
    connection_->close();
    go_down();
}

// The session is over. Commands that were sent may have been carried out or not.
void Initiator::go_down() {
    if (connection_) counters_.losses++;
    for (Alarm* a : {&overdue_, &abort_late_, &login_late_, &ping_, &ping_late_}) a->stop();
    querying_ = query_again_ = false;
    aborting_ = -1;
    EventQueue held; // in the order in which they were given to us
    while (oldest_ >= 0) {
        Slot& s = slots_[static_cast<size_t>(oldest_)];
        held.push(*s.request);
        release(s);
    }
    while (!waiting_.empty()) held.push(waiting_.pop());
    waiting_ = held;
    for (Slot& s : slots_) s.doomed = s.request != nullptr; // being paid for
    connection_ = nullptr;
    if (state_ == SessionState::removed) return;

    const Instant now = clock_.now();
    if (p_.timers.hold == Duration()) failing_ = true;
    else if (!failing_ && !give_up_.is_set()) give_up_.set(now + p_.timers.hold);
    if (p_.timers.removal > Duration() && !removal_.is_set()) removal_.set(now + p_.timers.removal);
    again_.set(now + p_.timers.reconnect);
    set_state(SessionState::lost);
    if (failing_) fail_waiting();
}

void Initiator::fail_waiting() {
    failing_ = true;
    EventQueue ended = std::exchange(waiting_, EventQueue());
    while (!ended.empty()) {
        counters_.completed++;
        static_cast<Request&>(ended.pop()).finish(IoStatus::no_path).resume();
    }
}

// Nobody waits for the target any more.
void Initiator::remove() {
    if (state_ == SessionState::removed) return;
    failing_ = true;
    for (Alarm* a : {&again_, &give_up_, &removal_}) a->stop();
    if (connection_) connection_->close();
    state_ = SessionState::removed;
    go_down();
    if (on_state_) on_state_(state_);
    fail_waiting();
}
void Initiator::stop() { remove(); }

void Initiator::check_overdue() {
    if (oldest_ < 0 || aborting_ >= 0) return;
    Slot& s = slots_[static_cast<size_t>(oldest_)];
    if (clock_.now() < s.deadline) return overdue_.set(s.deadline);
    counters_.timeouts++;
    if (!o_.abort_first) return reset();
    aborting_ = oldest_;
    aborting_generation_ = s.generation;
    Message& m = control(Kind::abort, p_.abort.request);
    m.unit = s.unit->number();
    m.tag = tag_of(s);
    m.generation = s.generation;
    abort_late_.set(clock_.now() + p_.timers.abort);
    send(m);
}

// One abort at a time: the next of those overdue follows.
void Initiator::abort_answered() {
    if (aborting_ < 0) return;
    abort_late_.stop();
    Slot& s = slots_[static_cast<size_t>(aborting_)];
    const bool waits = s.sent && s.generation == aborting_generation_;
    aborting_ = -1;
    if (waits) {
        counters_.aborted++;
        complete(s, IoStatus::no_path);
    }
    if (connection_) check_overdue();
}

void Initiator::keep_alive() {
    const Instant now = clock_.now();
    const bool heard = now - heard_ < p_.timers.keep_alive;
    ping_.set(now + p_.timers.keep_alive);
    if (ping_late_.is_set() || (p_.keep_alive_when_idle && heard)) return;
    ping_late_.set(now + p_.timers.keep_alive_answer);
    send(control(Kind::ping, p_.keep_alive.request));
}

} // namespace storlab
