#include "models/raid/gather.hpp"
#include <algorithm>

namespace storlab {

namespace {
uint64_t smallest(const std::vector<BlockDevice*>& members) {
    STORLAB_ENSURE(!members.empty());
    uint64_t blocks = ~uint64_t{0};
    for (const BlockDevice* m : members) blocks = std::min(blocks, m->geometry().blocks);
    return blocks;
}
} // namespace

Raid::Raid(Clock& clock, Cpu& engine, std::vector<BlockDevice*> members, const RaidOptions& o)
    : clock_(clock), engine_(engine), o_(o),
      layout_(o.level, static_cast<uint32_t>(members.size()), o.chunk_blocks,
              smallest(members) - reserved_blocks(o, smallest(members), members[0]->geometry())),
      member_geometry_(members[0]->geometry()),
      cache_(layout_.parities() ? o.stripes : 1, layout_.members(), member_geometry_.payload),
      mirrors_(clock) {
    STORLAB_ENSURE(members.size() >= Layout::least_members(o.level) && members.size() < 64);
    for (BlockDevice* m : members) members_.push_back({m});
    if (layout_.parities()) code_.emplace(layout_.data_columns(), layout_.parities());
    make_consistency(smallest(members));
}

Geometry Raid::geometry() const {
    return {layout_.blocks(), member_geometry_.block, member_geometry_.payload};
}

uint64_t Raid::missing_columns(uint64_t line) const {
    if (missing_ == 0) return 0;
    uint64_t missing = 0;
    for (uint32_t c = 0; c < columns(); c++)
        if (!readable(layout_.column_member(row_of(line), c), line)) missing |= uint64_t{1} << c;
    return missing;
}

uint64_t Raid::absent_columns(uint64_t line) const {
    if (missing_ == 0) return 0;
    uint64_t absent = 0;
    for (uint32_t c = 0; c < columns(); c++)
        if (!writable(layout_.column_member(row_of(line), c))) absent |= uint64_t{1} << c;
    return absent;
}

bool Raid::failed() const {
    if (missing_ <= layout_.survivable()) return false;
    if (layout_.level() != RaidLevel::raid10) return true;
    const uint32_t n = layout_.members(); // copies are neighbours; all pairs occur if n is odd
    for (uint32_t m = 0; m < n; m += n % 2 ? 1 : 2)
        if (!in_sync(m) && !in_sync((m + 1) % n)) return true;
    return false;
}

void Raid::fail(uint32_t member) {
    State& s = members_[member].state;
    if (s == State::failed) return;
    if (s == State::in_sync) missing_++;
    s = State::failed;
    if (on_failure_) on_failure_(member);
}

Handle Raid::run(Request& r, Task<IoStatus> task) {
    return std::move(task).detach(
        &r, [](void* c, IoStatus s) { return static_cast<Request*>(c)->finish(s); });
}

Handle Raid::submit(Request& r) {
    r.device = this;
    user_ios_++;
    if (r.op == Op::flush) {
        // What was acknowledged is stable in the journal; md does the same.
        if (journal_ && !journal_->failed()) return r.finish(IoStatus::ok);
        return run(r, flush_members(r));
    }
    const Place p = layout_.place(r.lba);
    return r.op == Op::read ? read(r, p) : write(r, p);
}

// What the caller has done is paid in its own context, then `next` goes on.
void Raid::pay_then(Request& r, void (*next)(Event&)) {
    r.fire = next;
    if (r.cpu) r.cpu->run(r);
    else next(r);
}

Handle Raid::read(Request& r, const Place& p) {
    if (r.blocks > p.left) return run(r, read_large(r));
    const uint32_t turn = next_copy_;
    const bool readable_now = readable_copy(r.lba, r.blocks).has_value();
    next_copy_ = turn; // of whoever sends it, or every read would go to the same copy
    if (!readable_now) {
        if (!parity()) return r.finish(IoStatus::failed);
        return run(r, read_again(r));
    }
    if (o_.through_engine) {
        if (r.cpu) r.cpu->owe(r.work, Operation::card_submit);
        pay_then(r, reached_engine);
        return nothing();
    }
    if (r.cpu) {
        r.cpu->owe(r.work, Operation::raid_read_chunk);
        if (o_.lock) r.cpu->owe_locked(r.work, o_.lock, Operation::raid_lock_chunk);
    }
    return forward(r);
}

void Raid::reached_engine(Event& e) {
    auto& r = static_cast<Request&>(e);
    auto& a = static_cast<Raid&>(*r.device);
    r.enter(Layer::card, a.clock_.now());
    a.engine_.owe(r.work, Operation::raid_pass);
    r.fire = passed_engine;
    a.engine_.run(r);
}
void Raid::passed_engine(Event& e) {
    auto& r = static_cast<Request&>(e);
    r.cpu = nullptr; // the card talks to the drives
    static_cast<Raid&>(*r.device).forward(r).resume();
}

std::optional<Place> Raid::readable_copy(Lba lba, uint32_t blocks, uint64_t not_members) {
    const uint32_t copies = layout_.copies();
    for (uint32_t i = 0; i < copies; i++) {
        const Place p = layout_.place_copy(lba, copies > 1 ? (next_copy_ + i) % copies : 0);
        if ((not_members >> p.member & 1) || !readable(p.member, p.at, blocks)) continue;
        if (copies > 1) next_copy_++;
        return p;
    }
    return std::nullopt;
}

// A read that needs nothing but its member.
Handle Raid::forward(Request& r) {
    const std::optional<Place> p = readable_copy(r.lba, r.blocks);
    if (!p) return run(r, read_again(r)); // lost since
    return send(r, *p);
}
// The request itself is sent on: no frame, no event. An array within an array finds its place in
// the request taken by the outer one, and sends a copy.
Handle Raid::send(Request& r, const Place& p) {
    if (r.saved.done) return run(r, send_copy(r, p));
    r.saved = {r.done, this, r.lba};
    r.done = forwarded;
    r.lba = p.at;
    return members_[p.member].device->submit(r);
}
Task<IoStatus> Raid::send_copy(Request& r, Place p) {
    Io io(members_[p.member].device, r.op, p.at, r.blocks, r.segments(), r.segment_count);
    io.cpu = r.cpu;
    io.span = r.span;
    io.work = std::exchange(r.work, {}); // the debt goes with the command
    const IoStatus status = co_await io;
    if (status == IoStatus::ok || r.op == Op::write) co_return status;
    co_return co_await read_again(r);
}
Handle Raid::forwarded(Request& r) {
    auto& a = static_cast<Raid&>(*r.saved.device);
    r.done = r.saved.done;
    r.lba = r.saved.lba;
    r.device = &a;
    r.saved = {nullptr, nullptr, {}};
    if (r.status == IoStatus::ok || r.op == Op::write) return r.done(r);
    return a.run(r, a.read_again(r));
}

Handle Raid::write(Request& r, const Place& p) {
    if (layout_.copies() > 1) return run(r, write_copies(r));
    if (!parity()) { // RAID 0
        if (r.blocks > p.left) return run(r, write_large(r));
        if (!writable(p.member)) return r.finish(IoStatus::failed);
        return send(r, p);
    }
    if (r.blocks > 1) return run(r, write_large(r));
    if (r.cpu) {
        if (o_.through_engine) r.cpu->owe(r.work, Operation::card_submit);
        else {
            r.cpu->owe(r.work, Operation::raid_write);
            r.cpu->owe(r.work, Operation::raid_write_page);
            if (o_.lock) r.cpu->owe_locked(r.work, o_.lock, Operation::raid_lock_chunk);
        }
    }
    pay_then(r, accept);
    return nothing();
}

} // namespace storlab
