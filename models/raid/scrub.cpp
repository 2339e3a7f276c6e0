// Scrub: do parity and copies agree with the data? And the same with many lines at once, after a
// stop without notice.
#include "models/raid/gather.hpp"
#include <algorithm>

namespace storlab {

namespace {
constexpr uint64_t all_bits = ~uint64_t{0};

void count(ScrubReport& report, uint64_t differ) {
    report.lines++;
    if (differ == all_bits) report.unreadable++;
    else report.mismatches += differ != 0;
}
} // namespace

// Of a line with parity anything is lost; of copies, all.
bool Raid::nothing_to_compare(uint64_t line) const {
    if (missing_ == 0) return false;
    if (parity()) return missing_columns(line) != 0;
    for (uint32_t m = 0; m < columns(); m++)
        if (readable(m, line)) return false;
    return true;
}

Task<ScrubReport> Raid::scrub(uint64_t first, uint64_t lines_wanted, bool repair) {
    ScrubReport report;
    const uint64_t end = std::min(first + lines_wanted, lines());
    for (uint64_t line = first; line < end && !repairs_stopped_; line++) {
        const bool hopeless = nothing_to_compare(line);
        const bool nothing_twice = !parity() && layout_.copies() == 1;
        // Lines that take no time do not suspend either: thousands in a row must not pile up.
        if (hopeless || nothing_twice) count(report, hopeless ? all_bits : 0);
        else count(report, co_await check(line, repair));
    }
    co_return report;
}

Task<void> Raid::make_agree(uint64_t first, uint64_t end, ScrubReport& report) {
    constexpr uint64_t at_once = 32; // as in a rebuild
    for (uint64_t line = first; line < end; line += at_once) {
        struct Lines : Window<uint64_t> {
            ScrubReport* report;
        } window;
        window.report = &report;
        window.result = [](Window<uint64_t>& w, uint64_t differ) {
            count(*static_cast<Lines&>(w).report, differ);
        };
        for (uint64_t l = line; l < std::min(end, line + at_once); l++) window.run(check(l, true));
        co_await window;
    }
}

// Parities of the line, or copies whose first is in it.
Task<uint64_t> Raid::check(uint64_t line, bool repair) {
    if (parity()) co_return co_await check_line(line, repair);
    co_return co_await check_copies(line, repair);
}

// Which parity columns differ from what the data says.
Task<uint64_t> Raid::check_line(uint64_t line, bool repair) {
    if (missing_columns(line)) co_return all_bits; // nothing left to compare with
    Stripe& s = *co_await lock_line(line);
    if (missing_columns(line)) { // lost while this waited
        settle(s).resume();
        co_return all_bits;
    }
    s.cached = 0; // what the members hold is the question
    IoList ios(columns());
    for (uint32_t c = 0; c < columns(); c++)
        ios.add(c, Op::read, device_of(line, c), Lba{line}, page(s, c));
    uint64_t differ = 0;
    co_await ios.issue();
    if (note_reads(s, ios)) {
        differ = all_bits;
        if (repair) co_await heal_line(s);
    } else {
        Work work;
        engine_.owe(work, Operation::raid_pass);
        engine_.owe_bytes(work, Operation::raid_parity,
                          member_geometry_.block * layout_.data_columns());
        work.bytes_in = static_cast<uint32_t>(member_geometry_.block.count()) * columns();
        co_await charge(engine_, work);
        differ = compare_parity(s);
        if (differ && repair) co_await write_parity(s);
    }
    s.cached = 0; // the pages have the parity there should be
    settle(s).resume();
    co_return differ;
}

// Leaves the right parity in the pages.
uint64_t Raid::compare_parity(Stripe& s) {
    const uint32_t k = layout_.data_columns(), payload = member_geometry_.payload;
    const std::vector<std::byte> found(page(s, k),
                                       page(s, k) + size_t{payload} * layout_.parities());
    code_->encode(all_pages(s), payload);
    uint64_t differ = 0;
    for (uint32_t p = 0; p < layout_.parities(); p++)
        if (std::memcmp(found.data() + size_t{p} * payload, page(s, k + p), payload) != 0)
            differ |= uint64_t{1} << (k + p);
    return differ;
}

Task<void> Raid::write_parity(Stripe& s) {
    const uint32_t k = layout_.data_columns();
    ParityLog::Ticket ticket;
    // What the log says of this line is no longer so: parity is now that of all data.
    if (log_) co_await log_line(s, (uint64_t{1} << k) - 1, ticket);
    Journal::Ticket entry;
    bool logged = true;
    if (journal_)
        logged = co_await journal_line(s, ((uint64_t{1} << columns()) - 1) >> k << k, entry);
    if (!logged) co_return;
    IoList ios(columns());
    for (uint32_t c = k; c < columns(); c++)
        ios.add(c, Op::write, device_of(s.line, c), Lba{s.line}, page(s, c));
    co_await ios.issue();
    ios.for_each([&](uint32_t c, IoStatus status, BlockDevice& device) {
        if (status != IoStatus::ok) kick(s.line, c, device);
    });
    if (log_) log_->release(ticket);
    if (journal_) journal_->release(entry);
}

// Recovers what could not be read, and puts it back.
Task<void> Raid::heal_line(Stripe& s) {
    uint64_t bad = 0;
    const uint64_t every = (uint64_t{1} << columns()) - 1, lost = every & ~s.cached;
    if (!co_await read_survivors(s, lost, bad)) co_return;
    if (recover_lost(s, lost | bad)) co_await rewrite(s, lost | bad);
}

// Which members' copies differ from the first; on RAID 0 there is nothing to compare.
Task<uint64_t> Raid::check_copies(uint64_t line, bool repair) {
    if (layout_.copies() == 1) co_return 0;
    uint64_t differ = 0;
    const uint32_t members = layout_.level() == RaidLevel::raid1 ? 1 : columns();
    for (uint32_t m = 0; m < members; m++) {
        const Lba lba = layout_.copied_lba(line, m);
        if (lba.block >= layout_.blocks()) continue;
        const Place first = layout_.place(lba);
        if (first.member != m || first.at.block != line) continue; // looked at from its first copy
        differ |= co_await compare_copies(lba, repair);
    }
    co_return differ;
}

// The first copy that can be read is right; those that cannot be read are rewritten too.
Task<uint64_t> Raid::compare_copies(Lba lba, bool repair) {
    const uint32_t payload = member_geometry_.payload;
    OverlapLocks::Held held(mirrors_, lba.block / layout_.chunk_blocks(), lba.block, 1);
    co_await held;
    const PageMemory first(payload), other(payload);
    uint64_t good = 0, differ = 0, bad = 0;
    bool out = false;
    for (uint32_t c = 0; c < layout_.copies(); c++) {
        const Place p = layout_.place_copy(lba, c);
        const uint64_t member = uint64_t{1} << p.member;
        if (!readable(p.member, p.at.block)) {
            out = true;
            continue;
        }
        BlockDevice& device = *members_[p.member].device;
        const IoStatus status = co_await device.read(p.at, 1, (good ? other : first).get());
        if (status == IoStatus::no_device) kick(p.member, device);
        if (status != IoStatus::ok) bad |= member;
        else if (good && std::memcmp(first.get(), other.get(), payload) != 0) differ |= member;
        else good |= member;
    }
    if (repair && good) co_await write_block(lba, first.get(), differ | bad, bad);
    co_return out || bad ? all_bits : differ;
}

} // namespace storlab
