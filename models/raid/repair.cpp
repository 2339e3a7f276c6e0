// Rebuild onto a spare.
#include "models/raid/gather.hpp"
#include <algorithm>

namespace storlab {

namespace {
// Waits in line for a stripe somebody works on.
struct Turn : Resume {
    Stripe& stripe;
    explicit Turn(Stripe& s) : stripe(s) {}
    bool await_ready() const { return false; }
    void await_suspend(Handle h) {
        waiter = h;
        stripe.exclusive.push(*this);
    }
    void await_resume() const {}
};
} // namespace

Task<Stripe*> Raid::lock_line(uint64_t line) {
    for (;;) {
        Stripe* const s = cache_.get(line);
        if (!s) {
            co_await Room(cache_);
            continue;
        }
        s->array = this;
        if (s->idle()) s->active = true;
        else co_await Turn(*s);
        co_return s;
    }
}

Task<RebuildReport> Raid::rebuild(uint32_t member, BlockDevice& spare, RebuildOptions o) {
    STORLAB_ENSURE(members_[member].state == State::failed);
    RebuildReport report{0, 0, clock_.now(), clock_.now()};
    if (spare.geometry().blocks < blocks_used_) {
        report.failed = lines();
        co_return report;
    }
    members_[member] = {&spare, State::rebuilding};
    const auto goes_on = [&] { // the spare may be lost too, and be replaced by another one
        const Member& m = members_[member];
        return m.state == State::rebuilding && m.device == &spare;
    };
    if (!co_await prepare_spare(member)) {
        report.failed = lines();
        co_return report;
    }
    uint64_t seen = user_ios_;
    for (uint64_t line = 0; line < lines() && goes_on();) {
        const uint64_t end = std::min<uint64_t>(lines(), line + o.window_lines);
        // All lines of a window at once. A busy array sees the window drain before the next begins.
        struct Lines : Window<bool> {
            uint64_t failed = 0;
        } window;
        window.result = [](Window<bool>& w, bool ok) { static_cast<Lines&>(w).failed += !ok; };
        for (uint64_t l = line; l < end; l++) window.run(rebuild_line(l, member));
        co_await window;
        report.failed += window.failed;
        if (report.failed || !goes_on()) break;
        line = members_[member].rebuilt = end;
        report.lines = end;
        if (repairs_stopped_) {
            report.ended = clock_.now();
            co_return report;
        }
        const Bytes done = member_geometry_.block * static_cast<int64_t>(end);
        co_await sleep_until(clock_, report.started + done / o.speed_max);
        // With others at work and the floor met, leave the members alone for an eighth of the time
        // a window has taken so far, on average.
        const Duration elapsed = clock_.now() - report.started;
        const bool busy = user_ios_ != seen, ahead_of_floor = elapsed <= done / o.speed_min;
        seen = user_ios_;
        if (busy && ahead_of_floor)
            co_await sleep_for(clock_, (elapsed / static_cast<int64_t>(end)) * o.window_lines / 8);
    }
    report.ended = clock_.now();
    if (!goes_on()) {
        report.failed = lines() - report.lines;
        co_return report;
    }
    if (report.failed) { // a line that could not be recovered must never be read: no spare, then
        fail(member);
        co_return report;
    }
    members_[member].state = State::in_sync;
    missing_--;
    co_return report;
}

Task<bool> Raid::rebuild_line(uint64_t line, uint32_t member) {
    if (parity()) co_return co_await recover_line(line, member);
    co_return co_await copy_line(line, member);
}

Task<bool> Raid::recover_line(uint64_t line, uint32_t member) {
    Stripe& s = *co_await lock_line(line);
    uint32_t column = 0;
    while (layout_.column_member(row_of(line), column) != member) column++;
    const uint64_t own = uint64_t{1} << column;
    uint64_t bad = 0;
    bool ok = true;
    if (!(s.cached & own)) {
        ok = co_await read_survivors(s, own, bad);
        if (ok) {
            co_await charge(engine_, price_of_recovery(layout_.data_columns()));
            ok = recover_lost(s, own | bad);
        }
    }
    if (ok && bad) co_await rewrite(s, bad);
    if (ok) {
        BlockDevice& spare = *members_[member].device;
        ok = co_await spare.write(Lba{line}, 1, page(s, column)) == IoStatus::ok;
        if (!ok) kick(member, spare);
    }
    settle(s).resume();
    co_return ok;
}

Task<bool> Raid::copy_line(uint64_t line, uint32_t member) {
    const Lba lba = layout_.copied_lba(line, member);
    if (lba.block >= layout_.blocks()) co_return true; // the odd chunk at the end of an odd RAID 10
    OverlapLocks::Held held(mirrors_, lba.block / layout_.chunk_blocks(), lba.block, 1);
    co_await held;
    const PageMemory block(member_geometry_.payload);
    uint64_t tried = uint64_t{1} << member, bad = 0;
    for (IoStatus status = IoStatus::failed; status != IoStatus::ok;) {
        const std::optional<Place> p = readable_copy(lba, 1, tried);
        if (!p) co_return false;
        tried |= uint64_t{1} << p->member;
        BlockDevice& source = *members_[p->member].device;
        status = co_await source.read(p->at, 1, block.get());
        if (status == IoStatus::no_device) kick(p->member, source);
        if (status == IoStatus::failed) bad |= uint64_t{1} << p->member;
    }
    if (bad) co_await write_block(lba, block.get(), bad, bad);
    BlockDevice& spare = *members_[member].device;
    const bool ok = co_await spare.write(Lba{line}, 1, block.get()) == IoStatus::ok;
    if (!ok) kick(member, spare);
    co_return ok;
}

} // namespace storlab
