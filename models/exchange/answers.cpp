// What arrives at the initiator: who pays for it, and which command it belongs to.
#include "models/exchange/remote_unit.hpp"
#include "models/exchange/transfer.hpp"

namespace storlab {

void Initiator::receive(Message& m) {
    counters_.received++;
    heard_ = clock_.now();
    if (o_.interrupt) {
        Work debt;
        o_.interrupt->owe_bytes(debt, Operation::packet_receive, Bytes(m.wire_bytes));
        if (debt.owed()) {
            Receipt& x = receipt(m, interrupted);
            x.work = debt;
            return o_.interrupt->run(x);
        }
    }
    arrive(m);
}

Initiator::Receipt& Initiator::receipt(Message& m, void (*next)(Event&)) {
    if (free_receipts_.empty()) free_receipts_.push(receipts_.emplace_back());
    auto& x = static_cast<Receipt&>(free_receipts_.pop());
    x.fire = next;
    x.owner = this;
    x.message = &m;
    x.from = connection_;
    return x;
}

void Initiator::interrupted(Event& e) {
    auto& x = static_cast<Receipt&>(e);
    Initiator& i = *x.owner;
    Message& m = *x.message;
    Connection& from = *x.from;
    i.free_receipts_.push(x);
    if (&from == i.connection_) i.arrive(m);
    else i.drop(m, from, i.counters_.late);
}

void Initiator::drop(Message& m, Connection& from, uint64_t& counter) {
    counter++;
    from.recycle(m);
}

// Nothing after that can be believed.
void Initiator::violation(Message& m) {
    drop(m, *connection_, counters_.violations);
    reset();
}

void Initiator::arrive(Message& m) {
    switch (kind_of(m)) {
    case Kind::ready:
    case Kind::data_in:
    case Kind::response:
        if (Slot* s = find(m)) return answer(m, *s);
        return drop(m, *connection_, counters_.late);
    case Kind::abort_answer: connection_->recycle(m); return abort_answered();
    case Kind::pong: connection_->recycle(m); return ping_late_.stop();
    case Kind::access_changed: connection_->recycle(m); return query();
    case Kind::welcome: return welcomed(m);
    case Kind::access_report: return reported(m);
    default: return violation(m);
    }
}

Initiator::Slot* Initiator::find(const Message& m) {
    if (m.tag >= slots_.size()) return nullptr;
    Slot& s = slots_[m.tag];
    return s.sent && s.generation == (m.generation & generation_mask_) ? &s : nullptr;
}

bool Initiator::concludes(const Message& m) const {
    return kind_of(m) == Kind::response ||
           (kind_of(m) == Kind::data_in && m.last && p_.status_in_data);
}

void Initiator::answer(Message& m, Slot& s) {
    Request& r = *s.request;
    if (concludes(m) && r.span) {
        *r.span = s.span;
        r.enter(Layer::host, clock_.now());
    }
    if (r.cpu) {
        Work debt;
        if (software_) {
            const Bytes block(s.unit->block_);
            const bool data = kind_of(m) == Kind::data_in;
            r.cpu->owe_bytes(debt, Operation::pdu_receive, data ? block * m.blocks : Bytes());
            if (kind_of(m) == Kind::ready)
                owe_messages(*r.cpu, debt, Operation::pdu_send,
                             messages_for(m.blocks, blocks_of(p_.data_out_unit, s.unit->block_)),
                             block * m.blocks);
        }
        if (concludes(m)) r.cpu->owe(debt, Operation::fabric_complete);
        if (debt.owed()) {
            Receipt& x = receipt(m, copied);
            x.work = debt;
            x.urgency = Urgency::completion;
            s.visits++;
            return r.cpu->run(x);
        }
    }
    handle(m, s);
}

void Initiator::copied(Event& e) {
    auto& x = static_cast<Receipt&>(e);
    Initiator& i = *x.owner;
    Message& m = *x.message;
    Connection& from = *x.from;
    i.free_receipts_.push(x);
    Slot* s = &from == i.connection_ ? i.find(m) : nullptr;
    if (!s) return i.drop(m, from, i.counters_.late);
    s->visits--;
    i.handle(m, *s);
}

void Initiator::handle(Message& m, Slot& s) {
    const Request& r = *s.request;
    if (kind_of(m) == Kind::response) {
        if (s.last) return violation(m);
    } else if (m.blocks == 0 || m.offset > r.blocks || m.blocks > r.blocks - m.offset) {
        return violation(m);
    }
    if (kind_of(m) == Kind::ready) {
        const uint32_t offset = m.offset, blocks = m.blocks;
        if (r.op != Op::write || s.last) return violation(m);
        connection_->recycle(m);
        return send_data(s, offset, blocks);
    }
    if (kind_of(m) == Kind::data_in) {
        const uint32_t payload = s.unit->geometry_.payload;
        if (r.op != Op::read || m.payload.size() != size_t{m.blocks} * payload ||
            m.blocks > r.blocks - s.got)
            return violation(m);
        copy_to(r, m.offset, m.blocks, payload, m.payload.data());
        s.got += m.blocks;
    }
    if (concludes(m)) {
        if (s.visits == 0) return finish(s, m);
        s.last = &m; // several workers copy, and this one was the first to be done
        return;
    }
    connection_->recycle(m);
    if (s.last && s.visits == 0) finish(s, *std::exchange(s.last, nullptr));
}

} // namespace storlab
