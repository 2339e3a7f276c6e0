#include "models/exchange/remote_unit.hpp"
#include "models/exchange/transfer.hpp"

namespace storlab {

namespace {
constexpr uint32_t most_tags = 0xff0; // what a 16-bit NVMe command identifier leaves for tags
} // namespace

Initiator::Initiator(Clock& clock, const Profile& profile, InitiatorOptions options)
    : clock_(clock), p_(profile), o_(std::move(options)), software_(p_.software && !o_.adapter),
      generation_mask_(p_.generation_bits >= 32 ? ~0u : (1u << p_.generation_bits) - 1),
      slots_(o_.depth),
      overdue_(clock, this, [](void* i) { static_cast<Initiator*>(i)->check_overdue(); }),
      abort_late_(clock, this, [](void* i) { static_cast<Initiator*>(i)->reset(); }),
      login_late_(clock, this, [](void* i) { static_cast<Initiator*>(i)->reset(); }),
      again_(clock, this, [](void* i) { static_cast<Initiator*>(i)->connect(); }),
      give_up_(clock, this, [](void* i) { static_cast<Initiator*>(i)->fail_waiting(); }),
      removal_(clock, this, [](void* i) { static_cast<Initiator*>(i)->remove(); }),
      ping_(clock, this, [](void* i) { static_cast<Initiator*>(i)->keep_alive(); }),
      ping_late_(clock, this, [](void* i) { static_cast<Initiator*>(i)->reset(); }) {
    STORLAB_ENSURE(o_.depth > 0 && o_.depth <= most_tags && o_.connect && !p_.login.empty());
    for (uint32_t tag = o_.depth; tag-- > 0;) free_.push_back(static_cast<uint16_t>(tag));
}

Handle Initiator::submit(Request& r, uint16_t unit) {
    STORLAB_ENSURE(unit < units_.size() && units_[unit].remote);
    r.device = units_[unit].remote;
    counters_.commands++;
    if (failing_) {
        counters_.completed++;
        return r.finish(IoStatus::no_path);
    }
    if (state_ == SessionState::live && !free_.empty()) start(r);
    else waiting_.push(r);
    return nothing();
}

void Initiator::start(Request& r) {
    const uint16_t tag = free_.back();
    free_.pop_back();
    Slot& s = slots_[tag];
    s.request = &r;
    s.unit = static_cast<RemoteUnit*>(r.device);
    r.step = tag;
    if (!r.cpu) return leave(r);
    r.cpu->owe(r.work, Operation::fabric_submit);
    if (software_) {
        WritePlan w{};
        if (r.op == Op::write) w = plan_write(p_, r.blocks, s.unit->block_);
        const uint32_t unit = blocks_of(p_.data_out_unit, s.unit->block_);
        owe_messages(*r.cpu, r.work, Operation::pdu_send,
                     1 + messages_for(w.unasked - w.in_command, unit),
                     s.unit->geometry_.block * w.unasked);
    }
    if (!r.work.owed()) return leave(r);
    r.fire = paid;
    r.cpu->run(r);
}

void Initiator::paid(Event& e) {
    auto& r = static_cast<Request&>(e);
    static_cast<RemoteUnit*>(r.device)->initiator_.leave(r);
}

void Initiator::leave(Request& r) {
    Slot& s = slots_[r.step];
    if (s.doomed) return park(s);
    r.enter(Layer::fabric, clock_.now());
    if (!o_.adapter) return issue(s);
    o_.adapter->owe(r.work, Operation::adapter_command);
    if (r.op == Op::write) o_.adapter->owe(r.work, Operation::adapter_write);
    if (!r.work.owed()) return issue(s);
    r.fire = encoded;
    o_.adapter->run(r);
}

void Initiator::encoded(Event& e) {
    auto& r = static_cast<Request&>(e);
    Initiator& i = static_cast<RemoteUnit*>(r.device)->initiator_;
    Slot& s = i.slots_[r.step];
    s.doomed ? i.park(s) : i.issue(s);
}

void Initiator::issue(Slot& s) {
    const Request& r = *s.request;
    const uint32_t block = s.unit->block_, payload = s.unit->geometry_.payload;
    s.sent = true;
    s.deadline = clock_.now() + p_.timers.command;
    append(s);
    if (oldest_ == tag_of(s)) overdue_.set(s.deadline);

    WritePlan w{};
    if (r.op == Op::write) w = plan_write(p_, r.blocks, block);
    Message& m = connection_->message();
    m.kind = static_cast<uint8_t>(Kind::command);
    m.op = r.op;
    m.status = IoStatus::ok;
    m.last = w.in_command == r.blocks;
    m.unit = s.unit->number_;
    m.tag = tag_of(s);
    m.generation = s.generation;
    m.lba = r.lba;
    m.offset = w.in_command; // blocks of data inside
    m.blocks = r.blocks;
    m.wire_bytes = p_.command + w.in_command * block;
    if (r.span) s.span = *r.span;
    m.span = r.span ? &s.span : nullptr;
    m.payload.resize(size_t{w.in_command} * payload);
    if (w.in_command) copy_from(r, 0, w.in_command, payload, m.payload.data());
    const uint32_t generation = s.generation;
    if (!send(m) || s.generation != generation) return;
    if (w.unasked > w.in_command) send_data(s, w.in_command, w.unasked - w.in_command);
}

void Initiator::send_data(Slot& s, uint32_t offset, uint32_t blocks) {
    const uint32_t block = s.unit->block_, payload = s.unit->geometry_.payload;
    const uint32_t unit = blocks_of(p_.data_out_unit, block), generation = s.generation;
    for (const uint32_t end = offset + blocks; offset < end;) {
        const uint32_t n = std::min(unit, end - offset);
        Message& m = connection_->message();
        m.kind = static_cast<uint8_t>(Kind::data_out);
        m.op = Op::write;
        m.status = IoStatus::ok;
        m.unit = s.unit->number_;
        m.tag = tag_of(s);
        m.generation = generation;
        m.offset = offset;
        m.blocks = n;
        m.last = offset + n == end;
        m.wire_bytes = p_.data_out + n * block;
        m.span = nullptr;
        m.payload.resize(size_t{n} * payload);
        copy_from(*s.request, offset, n, payload, m.payload.data());
        offset += n;
        if (!send(m) || s.generation != generation) return;
    }
}

// The session ended while this command was on its way to a core.
void Initiator::park(Slot& s) {
    Request& r = *s.request;
    release(s);
    if (failing_) {
        counters_.completed++;
        r.finish(IoStatus::no_path).resume();
    } else {
        waiting_.push(r);
    }
    start_waiting();
}

void Initiator::start_waiting() {
    while (state_ == SessionState::live && !free_.empty() && !waiting_.empty())
        start(static_cast<Request&>(waiting_.pop()));
}

void Initiator::append(Slot& s) {
    const int32_t tag = tag_of(s);
    s.older = newest_;
    s.newer = -1;
    (newest_ < 0 ? oldest_ : slots_[static_cast<size_t>(newest_)].newer) = tag;
    newest_ = tag;
}
void Initiator::unlink(Slot& s) {
    (s.older < 0 ? oldest_ : slots_[static_cast<size_t>(s.older)].newer) = s.newer;
    (s.newer < 0 ? newest_ : slots_[static_cast<size_t>(s.newer)].older) = s.older;
}

// From here on whatever arrives for this use of the tag is late.
void Initiator::release(Slot& s) {
    if (s.sent) unlink(s);
    if (s.last) connection_->recycle(*s.last);
    const uint32_t next = (s.generation + 1) & generation_mask_;
    s.request = nullptr;
    s.last = nullptr;
    s.sent = s.doomed = false;
    s.visits = 0;
    s.got = 0;
    s.generation = next;
    free_.push_back(tag_of(s));
}

void Initiator::complete(Slot& s, IoStatus status) {
    Request& r = *s.request;
    release(s);
    counters_.completed++;
    start_waiting();
    r.finish(status).resume();
}

// The response, all data having been copied.
void Initiator::finish(Slot& s, Message& m) {
    const Outcome o = kind_of(m) == Kind::response ? outcome(m) : Outcome::done;
    if (o == Outcome::done && s.request->op == Op::read && s.got != s.request->blocks)
        return violation(m);
    connection_->recycle(m);
    const uint32_t generation = s.generation;
    switch (o) {
    case Outcome::attention: // not carried out: once more, and ask what has changed
        counters_.attentions++;
        s.request->enter(Layer::fabric, clock_.now());
        unlink(s);
        s.generation = (s.generation + 1) & generation_mask_;
        s.got = 0;
        s.visits = 0;
        s.last = nullptr;
        issue(s);
        return query();
    case Outcome::inaccessible: set_access(s.unit->number_, Access::inaccessible); break;
    case Outcome::unavailable: set_access(s.unit->number_, Access::unavailable); break;
    case Outcome::transition: set_access(s.unit->number_, Access::transition); break;
    default: break;
    }
    if (s.generation == generation) complete(s, status_of(o)); // unless who was told ended it
}

} // namespace storlab
