// Stripes and who works on them: one coroutine at a time, until nothing waits.
#include "models/raid/gather.hpp"

namespace storlab {

// A request within one block: it waits on its line's stripe, or for a stripe.
void Raid::accept(Event& e) {
    auto& r = static_cast<Request&>(e);
    auto& a = static_cast<Raid&>(*r.device);
    r.enter(Layer::raid, a.clock_.now());
    const Place p = a.layout_.place(r.lba);
    Stripe* const s = a.cache_.get(p.at.block);
    if (!s) {
        r.fire = accept;
        return a.cache_.waiters.push(r);
    }
    a.plug(r, *s);
    s->plugs--;
    if (!s->active && s->plugs == 0) a.start(*s);
}

void Raid::plug(Request& r, Stripe& s) {
    s.array = this;
    r.step = static_cast<uint16_t>(layout_.place(r.lba).column);
    s.pending.push(r);
    s.waiting++;
    s.plugs++;
}
void Raid::unplug(std::vector<Stripe*>& plugged) {
    for (Stripe* s : plugged) // whoever worked on it meanwhile may have taken what we added
        if (--s->plugs == 0 && !s->active) settle(*s).resume();
    plugged.clear();
}

void Raid::start(Stripe& s) {
    s.active = true;
    const bool reading = static_cast<Request*>(s.pending.front())->op == Op::read;
    (reading ? read_line(s) : update_line(s))
        .detach(&s,
                [](void* c) {
                    auto& done = *static_cast<Stripe*>(c);
                    return done.array->settle(done);
                })
        .resume();
}

// What follows when a coroutine is done with a stripe.
Handle Raid::settle(Stripe& s) {
    s.active = false;
    if (!s.exclusive.empty()) {
        s.active = true;
        return static_cast<Resume&>(s.exclusive.pop()).waiter;
    }
    if (!s.pending.empty() && s.plugs == 0) {
        start(s);
        return nothing();
    }
    if (!s.idle()) return nothing(); // plugged: unplug will start it
    cache_.put(s);
    return nothing();
}

// A member that does not answer, or cannot be written, is out; unless a spare has taken its place
// since the command was issued.
void Raid::kick(uint64_t line, uint32_t column, const BlockDevice& device) {
    kick(layout_.column_member(row_of(line), column), device);
}
void Raid::kick(uint32_t member, const BlockDevice& device) {
    if (members_[member].device == &device) fail(member);
}

void Raid::enter_taken(Stripe& s, Layer layer) {
    const Instant now = clock_.now();
    for (Event* e = s.taken.front(); e; e = e->next) static_cast<Request*>(e)->enter(layer, now);
}
void Raid::finish_taken(Stripe& s, IoStatus status) {
    if (s.taken.empty()) return;
    enter_taken(s, Layer::host);
    while (!s.taken.empty()) static_cast<Request&>(s.taken.pop()).finish(status).resume();
}

} // namespace storlab
