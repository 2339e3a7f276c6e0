// A line of which something cannot be read, because a member is out or a sector is bad.
#include "models/raid/gather.hpp"

namespace storlab {

// Requests for blocks whose member cannot be read, or just failed to be.
Task<void> Raid::read_line(Stripe& s) {
    co_await pass();
    take(s, Op::read);
    const uint64_t wanted = s.written;
    IoList ios(columns());
    uint64_t bad = 0;
    uint32_t reads = 0;
    while (wanted & ~s.cached) {
        const uint64_t read = columns_to_read(s, wanted, bad);
        if (read == 0) break;
        ios.clear();
        for (uint64_t left = read; left; left &= left - 1) {
            const auto c = static_cast<uint32_t>(std::countr_zero(left));
            ios.add(c, Op::read, device_of(s.line, c), Lba{s.line}, page(s, c));
        }
        reads += ios.size();
        enter_taken(s, Layer::members);
        co_await ios.issue();
        const uint64_t lost = note_reads(s, ios);
        enter_taken(s, Layer::raid);
        if (!lost) break;
        bad |= lost;
    }
    const uint64_t every = (uint64_t{1} << columns()) - 1;
    bool ok = !(wanted & ~s.cached);
    if (!ok && static_cast<uint32_t>(std::popcount(every & ~s.cached)) <= layout_.parities()) {
        co_await charge(engine_, price_of_recovery(reads));
        counters_.degraded_reads++;
        ok = recover_lost(s, wanted);
    }
    for (Event* e = ok ? s.taken.front() : nullptr; e; e = e->next) {
        auto& r = static_cast<Request&>(*e);
        std::memcpy(r.segments()->at, page(s, r.step), member_geometry_.payload);
    }
    finish_taken(s, ok ? IoStatus::ok : IoStatus::failed);
    if (ok && (bad & wanted)) co_await rewrite(s, bad & wanted);
}

// What to read for the wanted columns, of which some may have to be recovered; nothing if that is
// all there or hopeless.
uint64_t Raid::columns_to_read(const Stripe& s, uint64_t wanted, uint64_t bad) const {
    const uint64_t every = (uint64_t{1} << columns()) - 1;
    const uint64_t missing = (missing_columns(s.line) | bad) & ~s.cached;
    const bool recovering = wanted & missing;
    if (!recovering) return wanted & ~s.cached;
    if (static_cast<uint32_t>(std::popcount(missing)) > layout_.parities()) return 0;
    uint64_t read = every & ~missing & ~s.cached;
    // As many columns as there are data columns suffice, data and P first.
    int spare = std::popcount(every & ~missing) - static_cast<int>(layout_.data_columns());
    for (uint32_t c = columns(); spare > 0 && c-- > 0;)
        if (read >> c & 1) read &= ~(uint64_t{1} << c), spare--;
    return read;
}

Work Raid::price_of_recovery(uint32_t sources) {
    const auto block = static_cast<uint32_t>(member_geometry_.block.count());
    Work work;
    engine_.owe(work, Operation::raid_pass);
    engine_.owe(work, Operation::raid_member_io, sources);
    engine_.owe_bytes(work, Operation::raid_parity, member_geometry_.block * sources);
    if (o_.lock) engine_.owe_locked(work, o_.lock, Operation::raid_lock_stripe);
    work.bytes_in = block * sources;
    work.bytes_out = block;
    return work;
}

// Brings all columns that can be read to memory, and says which of them turned out bad; false if
// those are too few to recover the rest.
Task<bool> Raid::read_survivors(Stripe& s, uint64_t own, uint64_t& bad) {
    const uint64_t every = (uint64_t{1} << columns()) - 1;
    IoList ios(columns());
    for (bad = 0;;) {
        const uint64_t missing = (missing_columns(s.line) | own | bad) & ~s.cached;
        if (static_cast<uint32_t>(std::popcount(missing)) > layout_.parities()) co_return false;
        ios.clear();
        for (uint64_t left = every & ~missing & ~s.cached; left; left &= left - 1) {
            const auto c = static_cast<uint32_t>(std::countr_zero(left));
            ios.add(c, Op::read, device_of(s.line, c), Lba{s.line}, page(s, c));
        }
        co_await ios.issue();
        const uint64_t lost = note_reads(s, ios);
        if (!lost) co_return true;
        bad |= lost;
    }
}

// Writes recovered columns to members that could not read them: the drive puts a good sector there.
// Who cannot even be written is out.
Task<void> Raid::rewrite(Stripe& s, uint64_t recovered) {
    IoList ios(columns());
    for (uint64_t left = recovered & ~missing_columns(s.line); left; left &= left - 1) {
        const auto c = static_cast<uint32_t>(std::countr_zero(left));
        ios.add(c, Op::write, device_of(s.line, c), Lba{s.line}, page(s, c));
    }
    co_await ios.issue();
    ios.for_each([&](uint32_t c, IoStatus status, BlockDevice& device) {
        if (status != IoStatus::ok) kick(s.line, c, device);
        counters_.rewritten += status == IoStatus::ok;
    });
}

} // namespace storlab
