// What becomes of a command at the target: data asked for, the device, the answer.
#include "models/exchange/target_session.hpp"
#include "models/exchange/transfer.hpp"

namespace storlab {

// The next thing to do for a command that is being prepared, unless it is being paid for.
void TargetSession::advance(Slot& s) {
    if (s.visiting) return;
    const Request& r = s.request;
    if (r.op != Op::write || s.got == r.blocks) return to_device(s);
    if (s.got < s.asked &&
        s.asked - s.got > (t_.p_.ready_limit - 1) * uint64_t{blocks_of(t_.p_.burst, s.block)})
        return;
    if (s.asked < r.blocks) ask(s);
}

// Asks for the next burst; who runs the protocol on its cores pays first.
void TargetSession::ask(Slot& s) {
    Request& r = s.request;
    if (t_.software_) r.cpu->owe_bytes(s.debt, Operation::target_send, Bytes());
    r.work = std::exchange(s.debt, {});
    r.owner = &s;
    r.fire = asked;
    s.visiting = true;
    if (r.work.owed()) r.cpu->run(r);
    else asked(r);
}
void TargetSession::asked(Event& e) {
    auto& s = *static_cast<Slot*>(static_cast<Request&>(e).owner);
    TargetSession& t = *s.session;
    s.visiting = false;
    if (t.ended_early(s)) return;
    Message& m = t.answer(Kind::ready, t.t_.p_.ready);
    m.op = Op::write;
    m.unit = s.unit;
    m.tag = s.tag;
    m.generation = s.generation;
    m.offset = s.asked;
    m.blocks = std::min(blocks_of(t.t_.p_.burst, s.block), s.request.blocks - s.asked);
    s.asked += m.blocks;
    const uint32_t generation = s.generation;
    if (t.send(m) && s.phase == Phase::gathering && s.generation == generation) t.advance(s);
}

// The session has ended, or the command was aborted: nobody wants an answer.
bool TargetSession::ended_early(Slot& s) {
    if (connection_ && !s.aborted) return false;
    Message* const abort = s.abort;
    const uint32_t tag = s.tag, generation = s.generation;
    (connection_ ? t_.counters_.aborted : t_.counters_.dropped)++;
    if (abort) last_connection_->recycle(*abort);
    s.abort = nullptr;
    free_slot(s);
    if (abort && connection_) {
        Message& a = answer(Kind::abort_answer, t_.p_.abort.answer);
        a.tag = tag;
        a.generation = generation;
        send(a);
    }
    return true;
}

void TargetSession::free_slot(Slot& s) {
    s.phase = Phase::free;
    s.aborted = false;
    s.debt = {};
    s.request.work = {};
    s.request.span = nullptr;
    if (--busy_ == 0 && !connection_) t_.drained();
}

void TargetSession::to_device(Slot& s) {
    Request& r = s.request;
    s.phase = Phase::at_device;
    t_.counters_.to_device++;
    r.cpu->owe(s.debt, r.op == Op::write ? Operation::target_write : Operation::target_read);
    r.work = std::exchange(s.debt, {});
    r.status = IoStatus::ok;
    r.step = 0;
    r.urgency = Urgency::usual;
    r.saved = {nullptr, nullptr, {}};
    r.owner = &s;
    r.done = finished;
    r.device->submit(r).resume();
}

Handle TargetSession::finished(Request& r) {
    auto& s = *static_cast<Slot*>(r.owner);
    TargetSession& t = *s.session;
    t.t_.counters_.done++;
    s.phase = Phase::answering;
    r.cpu = s.context; // a RAID card that talked to the drives took it away
    if (!t.ended_early(s)) t.pay_answer(s);
    return nothing();
}

uint32_t TargetSession::data_messages(const Slot& s) const {
    if (s.request.op != Op::read || s.request.status != IoStatus::ok) return 0;
    return messages_for(s.request.blocks, blocks_of(t_.p_.data_in_unit, s.block));
}

void TargetSession::pay_answer(Slot& s) {
    Request& r = s.request;
    if (t_.software_) {
        Cpu& cpu = *r.cpu;
        const uint32_t with_data = data_messages(s);
        owe_messages(cpu, r.work, Operation::target_send,
                     with_data + !(with_data && t_.p_.status_in_data),
                     Bytes(s.block) * (with_data ? r.blocks : 0));
    }
    r.fire = answer_paid;
    if (r.work.owed()) r.cpu->run(r);
    else answer_paid(r);
}
void TargetSession::answer_paid(Event& e) {
    auto& s = *static_cast<Slot*>(static_cast<Request&>(e).owner);
    TargetSession& t = *s.session;
    if (!t.ended_early(s)) t.send_answer(s);
}

void TargetSession::send_answer(Slot& s) {
    const Request& r = s.request;
    const uint32_t messages = data_messages(s), unit = blocks_of(t_.p_.data_in_unit, s.block);
    if (r.span) r.span->enter(Layer::fabric, t_.clock_.now());
    t_.counters_.answered++;
    const auto address = [&s](Message& m) {
        m.op = s.request.op;
        m.unit = s.unit;
        m.tag = s.tag;
        m.generation = s.generation;
    };
    // The tag is free once the initiator has the last message: the slot is free before it is sent.
    for (uint32_t i = 0; i < messages; i++) {
        const uint32_t offset = i * unit, n = std::min(unit, r.blocks - offset);
        Message& m = answer(Kind::data_in, t_.p_.data_in + n * s.block);
        address(m);
        m.offset = offset;
        m.blocks = n;
        m.last = i + 1 == messages;
        m.payload.assign(s.data.data() + size_t{offset} * s.payload,
                         s.data.data() + size_t{offset + n} * s.payload);
        if (m.last && t_.p_.status_in_data) {
            free_slot(s);
            send(m);
            return;
        }
        if (!send(m)) return free_slot(s);
    }
    const bool good = r.status == IoStatus::ok;
    Message& m = answer(Kind::response, good ? t_.p_.response : t_.p_.refusal);
    address(m);
    set_outcome(m, outcome_of(r.status));
    free_slot(s);
    send(m);
}

} // namespace storlab
