// The target's session: login, what arrives, and aborts. What becomes of a command: target_io.cpp.
#include "models/exchange/target_session.hpp"
#include "models/exchange/transfer.hpp"

namespace storlab {

void TargetSession::begin(Connection& connection) {
    STORLAB_ENSURE(over());
    connection_ = last_connection_ = &connection;
    live_ = false;
    identity_ = 0;
    step_ = 0;
    heard_ = t_.clock_.now();
    attention_.clear();
    connection.attach(*this);
}

void TargetSession::drop() {
    if (!connection_) return;
    connection_->close();
    lost(Loss::peer_gone);
}

void TargetSession::lost(Loss) {
    if (!connection_) return;
    connection_ = nullptr;
    live_ = false;
    if (hello_) last_connection_->recycle(*std::exchange(hello_, nullptr));
    for (Slot& s : slots_)
        if (s.phase == Phase::gathering && !s.visiting) {
            t_.counters_.dropped++;
            free_slot(s);
        }
}

void TargetSession::violation(Message& m) {
    t_.counters_.violations++;
    last_connection_->recycle(m);
    drop();
}

void TargetSession::receive(Message& m) {
    t_.counters_.received++;
    heard_ = t_.clock_.now();
    const Kind kind = kind_of(m);
    if (kind == Kind::hello) return login(m);
    if (!live_) return violation(m);
    switch (kind) {
    case Kind::command: return command(m);
    case Kind::data_out: return data(m);
    case Kind::abort: return abort(m);
    case Kind::access_query: connection_->recycle(m); return report();
    case Kind::ping:
        connection_->recycle(m);
        send(answer(Kind::pong, t_.p_.keep_alive.answer));
        return;
    default: return violation(m);
    }
}

Message& TargetSession::answer(Kind kind, uint32_t bytes) {
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
bool TargetSession::send(Message& m) {
    t_.counters_.sent++;
    Connection* const to = connection_;
    to->send(m);
    return connection_ == to;
}

void TargetSession::login(Message& m) {
    if (live_ || hello_ || m.offset != step_ || step_ >= t_.p_.login.size()) return violation(m);
    if (m.blocks) {
        slots_.resize(std::min(m.blocks, t_.o_.depth)); // nothing is under way in them
        identity_ = m.lba.block;
    }
    if (++step_ < t_.p_.login.size()) return welcome(m);
    if (slots_.empty()) return violation(m);
    t_.drop_older(*this);
    hello_ = &m;
    leftovers_gone();
}
void TargetSession::leftovers_gone() {
    if (!hello_ || t_.has_leftovers(*this)) return;
    live_ = true;
    welcome(*std::exchange(hello_, nullptr));
}
void TargetSession::welcome(Message& m) {
    const uint32_t step = m.offset;
    connection_->recycle(m);
    Message& w = answer(Kind::welcome, t_.p_.login[step].answer);
    w.offset = step;
    w.blocks = static_cast<uint32_t>(slots_.size());
    send(w);
}

void TargetSession::notify(uint16_t unit) {
    if (t_.p_.notice_at_once) {
        send(answer(Kind::access_changed, t_.p_.notice));
        return;
    }
    if (attention_.size() <= unit) attention_.resize(unit + size_t{1});
    attention_[unit] = true;
}

void TargetSession::report() {
    Message& m = answer(Kind::access_report, t_.p_.report);
    for (size_t u = 0; u < t_.units_.size(); u++) {
        if (!t_.units_[u].device) continue;
        append(m.payload, {static_cast<uint16_t>(u), t_.units_[u].access});
        m.wire_bytes += t_.p_.report_each;
    }
    send(m);
}

// Whether a command is to be carried out.
Outcome TargetSession::judge(const Message& m) {
    const TargetUnit* u = t_.unit(m.unit);
    if (!u) return Outcome::no_unit;
    if (m.unit < attention_.size() && attention_[m.unit]) {
        attention_[m.unit] = false;
        return Outcome::attention;
    }
    if (!reachable(u->access)) return outcome_of(u->access);
    if (m.op == Op::flush) return Outcome::done;
    const auto most = static_cast<uint64_t>(t_.o_.largest / Bytes(u->block));
    if (m.blocks == 0 || m.blocks > most || m.lba.block >= u->blocks ||
        m.blocks > u->blocks - m.lba.block)
        return Outcome::out_of_range;
    return Outcome::done;
}

void TargetSession::command(Message& m) {
    t_.counters_.commands++;
    m.enter(Layer::target, t_.clock_.now());
    if (m.tag >= slots_.size() || slots_[m.tag].phase != Phase::free) return violation(m);
    const Outcome o = judge(m);
    if (o != Outcome::done) return refuse(m, o);
    const TargetUnit& u = *t_.unit(m.unit);
    WritePlan w{};
    if (m.op == Op::write) w = plan_write(t_.p_, m.blocks, u.block);
    if (m.offset != w.in_command || m.payload.size() != size_t{w.in_command} * u.payload)
        return violation(m);

    Slot& s = slots_[m.tag];
    s.session = this;
    s.phase = Phase::gathering;
    s.unit = m.unit;
    s.tag = m.tag;
    s.generation = m.generation;
    s.block = u.block;
    s.payload = u.payload;
    s.got = w.in_command;
    s.asked = w.unasked;
    busy_++;
    const size_t bytes = m.op == Op::flush ? 0 : size_t{m.blocks} * u.payload;
    if (s.data.size() < bytes) s.data.resize(bytes);
    if (w.in_command) std::memcpy(s.data.data(), m.payload.data(), m.payload.size());
    Request& r = s.request;
    r.op = m.op;
    r.lba = m.lba;
    r.blocks = m.blocks;
    r.whole = {s.data.data(), m.blocks};
    r.device = u.device;
    r.cpu = s.context = u.context;
    r.span = m.span;
    if (t_.software_)
        u.context->owe_bytes(s.debt, Operation::target_receive, Bytes(u.block) * w.in_command);
    connection_->recycle(m);
    advance(s);
}

void TargetSession::refuse(const Message& got, Outcome why) {
    t_.counters_.refused++;
    got.span ? got.span->enter(Layer::fabric, t_.clock_.now()) : void();
    const uint16_t unit = got.unit;
    const uint32_t tag = got.tag, generation = got.generation;
    const Op op = got.op;
    connection_->recycle(const_cast<Message&>(got));
    Message& m = answer(Kind::response, t_.p_.refusal);
    m.op = op;
    m.unit = unit;
    m.tag = tag;
    m.generation = generation;
    set_outcome(m, why);
    t_.counters_.answered++;
    send(m);
}

void TargetSession::data(Message& m) {
    Slot* const s = m.tag < slots_.size() ? &slots_[m.tag] : nullptr;
    if (!s || s->phase != Phase::gathering || s->generation != m.generation) {
        t_.counters_.stray++; // sent before its command was refused or aborted
        return connection_->recycle(m);
    }
    if (m.offset != s->got || m.blocks == 0 || m.blocks > s->asked - s->got ||
        m.payload.size() != size_t{m.blocks} * s->payload)
        return violation(m);
    std::memcpy(s->data.data() + size_t{m.offset} * s->payload, m.payload.data(), m.payload.size());
    s->got += m.blocks;
    if (t_.software_)
        s->request.cpu->owe_bytes(s->debt, Operation::target_receive, Bytes(s->block) * m.blocks);
    connection_->recycle(m);
    advance(*s);
}

void TargetSession::abort(Message& m) {
    Slot* const s = m.tag < slots_.size() ? &slots_[m.tag] : nullptr;
    if (!s || s->phase == Phase::free || s->generation != m.generation || s->abort) {
        const uint32_t tag = m.tag, generation = m.generation;
        connection_->recycle(m);
        Message& a = answer(Kind::abort_answer, t_.p_.abort.answer);
        a.tag = tag;
        a.generation = generation;
        send(a);
        return;
    }
    s->aborted = true;
    s->abort = &m;
    if (s->phase == Phase::gathering && !s->visiting) ended_early(*s);
}

} // namespace storlab
