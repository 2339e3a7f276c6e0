// Rebuild onto a spare, and scrub.
#include "models/raid/gather.hpp"
#include <algorithm>

namespace storlab {

namespace {
constexpr uint64_t unreadable = ~uint64_t{0};

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

// The array's address that a member's line holds a copy of (RAID 1, and RAID 10 "near 2").
Lba copied_lba(const Layout& l, uint64_t line, uint32_t member) {
    if (l.level() == RaidLevel::raid1) return {line};
    const uint64_t chunk = (line / l.chunk_blocks() * l.members() + member) / 2;
    return {chunk * l.chunk_blocks() + line % l.chunk_blocks()};
}
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
    if (spare.geometry().blocks < lines()) {
        report.failed = lines();
        co_return report;
    }
    members_[member] = {&spare, State::rebuilding};
    rebuilt_ = 0;
    uint64_t seen = user_ios_;
    for (uint64_t line = 0; line < lines() && members_[member].state == State::rebuilding;) {
        const uint64_t end = std::min<uint64_t>(lines(), line + o.window_lines);
        // All lines of a window at once. A busy array sees the window drain before the next begins.
        struct Window {
            uint32_t left = 1;
            uint64_t failed = 0;
            Handle waiter{};
            bool await_ready() { return --left == 0; }
            void await_suspend(Handle h) { waiter = h; }
            void await_resume() const {}
        } window;
        for (uint64_t l = line; l < end; l++) {
            window.left++;
            rebuild_line(l, member)
                .detach(&window,
                        [](void* c, bool ok) {
                            auto& w = *static_cast<Window*>(c);
                            w.failed += !ok;
                            return --w.left ? nothing() : w.waiter;
                        })
                .resume();
        }
        co_await window;
        report.failed += window.failed;
        if (report.failed) break;
        line = rebuilt_ = end;
        report.lines = end;
        const Bytes done = member_geometry_.block * static_cast<int64_t>(end);
        co_await sleep_until(clock_, report.started + done / o.speed_max);
        // With others at work and the floor met, leave the members alone for as long as a window
        // took.
        const Duration elapsed = clock_.now() - report.started;
        const bool busy = user_ios_ != seen, ahead_of_floor = elapsed <= done / o.speed_min;
        seen = user_ios_;
        if (busy && ahead_of_floor)
            co_await sleep_for(clock_, (elapsed / static_cast<int64_t>(end)) * o.window_lines / 8);
    }
    report.ended = clock_.now();
    if (members_[member].state != State::rebuilding) co_return report;
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

// Brings all columns that can be read to memory; false if those are too few to recover the rest.
Task<bool> Raid::read_survivors(Stripe& s, uint64_t own) {
    const uint64_t every = (uint64_t{1} << columns()) - 1;
    uint64_t bad = own;
    for (;;) {
        const uint64_t missing = (missing_columns(s.line) | bad) & ~s.cached;
        if (static_cast<uint32_t>(std::popcount(missing)) > layout_.parities()) co_return false;
        IoList ios(columns());
        for (uint64_t left = every & ~missing & ~s.cached; left; left &= left - 1) {
            const auto c = static_cast<uint32_t>(std::countr_zero(left));
            ios.add(c, Op::read, device_of(s.line, c), Lba{s.line}, page(s, c));
        }
        co_await ios.issue();
        uint64_t lost = 0;
        ios.for_each([&](uint32_t c, IoStatus status, BlockDevice& device) {
            (status == IoStatus::ok ? s.cached : lost) |= uint64_t{1} << c;
            if (status == IoStatus::no_device) kick(s.line, c, device);
        });
        if (!lost) co_return true;
        bad |= lost;
    }
}

Task<bool> Raid::recover_line(uint64_t line, uint32_t member) {
    Stripe& s = *co_await lock_line(line);
    uint32_t column = 0;
    while (layout_.column_member(row_of(line), column) != member) column++;
    const uint64_t own = uint64_t{1} << column;
    bool ok = true;
    if (!(s.cached & own)) {
        ok = co_await read_survivors(s, own);
        if (ok) {
            const auto sources = layout_.data_columns();
            const auto block = static_cast<uint32_t>(member_geometry_.block.count());
            Work work;
            engine_.owe(work, Operation::raid_pass);
            engine_.owe(work, Operation::raid_member_io, sources + 1);
            engine_.owe_bytes(work, Operation::raid_parity, member_geometry_.block * sources);
            if (o_.lock) engine_.owe_locked(work, o_.lock, Operation::raid_lock_stripe);
            work.bytes_in = block * sources;
            work.bytes_out = block;
            co_await charge(engine_, work);
            ok = recover_lost(s, own);
        }
    }
    if (ok) {
        const IoStatus status =
            co_await members_[member].device->write(Lba{line}, 1, page(s, column));
        ok = status == IoStatus::ok;
        if (!ok) fail(member);
    }
    settle(s).resume();
    co_return ok;
}

Task<bool> Raid::copy_line(uint64_t line, uint32_t member) {
    const Lba lba = copied_lba(layout_, line, member);
    if (lba.block >= layout_.blocks()) co_return true; // the odd chunk at the end of an odd RAID 10
    OverlapLocks::Held held(mirrors_, lba.block / layout_.chunk_blocks(), lba.block, 1);
    co_await held;
    std::vector<std::byte> block(member_geometry_.payload);
    uint64_t tried = uint64_t{1} << member;
    for (IoStatus status = IoStatus::failed; status != IoStatus::ok;) {
        const std::optional<Place> p = readable_copy(lba, tried);
        if (!p) co_return false;
        tried |= uint64_t{1} << p->member;
        BlockDevice& source = *members_[p->member].device;
        status = co_await source.read(p->at, 1, block.data());
        if (status == IoStatus::no_device) kick(p->member, source);
    }
    BlockDevice& spare = *members_[member].device;
    const bool ok = co_await spare.write(Lba{line}, 1, block.data()) == IoStatus::ok;
    if (!ok) kick(member, spare);
    co_return ok;
}

Task<ScrubReport> Raid::scrub(uint64_t first, uint64_t count, bool repair) {
    ScrubReport report;
    for (uint64_t line = first; line < std::min(first + count, lines()); line++) {
        const uint64_t differ =
            parity() ? co_await check_line(line, repair) : co_await check_copies(line, repair);
        report.lines++;
        if (differ == unreadable) report.unreadable++;
        else report.mismatches += differ != 0;
    }
    co_return report;
}

// Which parity columns differ from what the data says.
Task<uint64_t> Raid::check_line(uint64_t line, bool repair) {
    if (missing_columns(line)) co_return unreadable; // nothing left to compare with
    Stripe& s = *co_await lock_line(line);
    s.cached = 0; // what the members hold is the question
    IoList ios(columns());
    for (uint32_t c = 0; c < columns(); c++)
        ios.add(c, Op::read, device_of(line, c), Lba{line}, page(s, c));
    uint64_t differ = 0;
    if (co_await ios.issue() != IoStatus::ok) differ = unreadable;
    ios.for_each([&](uint32_t c, IoStatus status, BlockDevice& device) {
        if (status == IoStatus::no_device) kick(line, c, device);
    });
    if (differ == 0) {
        Work work;
        engine_.owe(work, Operation::raid_pass);
        engine_.owe_bytes(work, Operation::raid_parity,
                          member_geometry_.block * layout_.data_columns());
        work.bytes_in = static_cast<uint32_t>(member_geometry_.block.count()) * columns();
        co_await charge(engine_, work);
        const uint32_t k = layout_.data_columns(), payload = member_geometry_.payload;
        const std::vector<std::byte> found(page(s, k),
                                           page(s, k) + size_t{payload} * layout_.parities());
        code_->encode(all_pages(s), payload);
        for (uint32_t p = 0; p < layout_.parities(); p++)
            if (std::memcmp(found.data() + size_t{p} * payload, page(s, k + p), payload) != 0)
                differ |= uint64_t{1} << (k + p);
        if (differ && repair) {
            ios.clear();
            for (uint32_t c = k; c < columns(); c++)
                ios.add(c, Op::write, device_of(line, c), Lba{line}, page(s, c));
            co_await ios.issue();
            ios.for_each([&](uint32_t c, IoStatus status, BlockDevice& device) {
                if (status != IoStatus::ok) kick(line, c, device);
            });
        }
    }
    settle(s).resume();
    co_return differ;
}

// Which members' copies differ from the first; on RAID 0 there is nothing to compare.
Task<uint64_t> Raid::check_copies(uint64_t line, bool repair) {
    if (layout_.copies() == 1) co_return 0;
    uint64_t differ = 0;
    const uint32_t payload = member_geometry_.payload;
    const uint32_t first_member = 0, members = layout_.level() == RaidLevel::raid1 ? 1 : columns();
    for (uint32_t m = first_member; m < members; m++) {
        const Lba lba = copied_lba(layout_, line, m);
        if (lba.block >= layout_.blocks()) continue;
        const Place origin = layout_.place_copy(lba, 0);
        if (origin.member != m || origin.at.block != line)
            continue; // looked at from its first copy
        OverlapLocks::Held held(mirrors_, lba.block / layout_.chunk_blocks(), lba.block, 1);
        co_await held;
        std::vector<std::byte> first(payload), other(payload);
        if (!readable(m, line) ||
            co_await members_[m].device->read(origin.at, 1, first.data()) != IoStatus::ok)
            co_return unreadable;
        for (uint32_t c = 1; c < layout_.copies(); c++) {
            const Place p = layout_.place_copy(lba, c);
            if (!readable(p.member, p.at.block)) co_return unreadable;
            if (co_await members_[p.member].device->read(p.at, 1, other.data()) != IoStatus::ok)
                co_return unreadable;
            if (first == other) continue;
            differ |= uint64_t{1} << p.member;
            if (!repair) continue;
            if (co_await members_[p.member].device->write(p.at, 1, first.data()) != IoStatus::ok)
                co_return unreadable;
        }
    }
    co_return differ;
}

} // namespace storlab
