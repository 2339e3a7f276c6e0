// What keeps an array consistent through a loss of power: the partial parity log, the journal and
// the write-intent bitmap, and the start after such a stop.
#include "models/raid/gather.hpp"
#include <algorithm>

namespace storlab {

namespace {
uint64_t regions_of(uint64_t lines, uint32_t region) { return (lines + region - 1) / region; }
} // namespace

uint64_t Raid::reserved_blocks(const RaidOptions& o, uint64_t of, const Geometry& member) {
    uint64_t blocks = 0;
    if (o.consistency == Consistency::ppl) {
        STORLAB_ENSURE(o.level == RaidLevel::raid5 && o.bitmap_region == 0);
        blocks = uint64_t{o.log_slots} * ParityLog::slot_blocks;
    } else if (o.consistency == Consistency::journal) {
        STORLAB_ENSURE(o.journal && o.bitmap_region == 0);
        STORLAB_ENSURE(o.level == RaidLevel::raid5 || o.level == RaidLevel::raid6);
        STORLAB_ENSURE(o.journal->geometry().block == member.block &&
                       o.journal->geometry().payload == member.payload);
    } else if (o.bitmap_region > 0) {
        STORLAB_ENSURE(o.level != RaidLevel::raid0 && o.bitmap_region % o.chunk_blocks == 0);
        blocks = WriteIntents::blocks_for(regions_of(of, o.bitmap_region), member.payload);
    }
    STORLAB_ENSURE(blocks < of);
    return blocks;
}

void Raid::make_consistency(uint64_t member_blocks) {
    const uint32_t payload = member_geometry_.payload;
    const uint64_t reserved = reserved_blocks(o_, member_blocks, member_geometry_);
    reserved_at_ = member_blocks - reserved;
    blocks_used_ = reserved ? member_blocks : lines();
    if (o_.consistency == Consistency::ppl)
        log_ = std::make_unique<ParityLog>(
            ParityLog::Shape{columns(), layout_.data_columns(), o_.log_slots, payload});
    else if (o_.consistency == Consistency::journal)
        journal_ = std::make_unique<Journal>(
            *o_.journal, columns(),
            Journal::Hooks{[this] { return settle_members(); },
                           [this](const Journal::Entry& e) { return replay(e); },
                           [this] {
                               if (on_journal_failure_) on_journal_failure_();
                           }});
    else if (o_.bitmap_region > 0)
        intents_ = std::make_unique<WriteIntents>(
            clock_,
            WriteIntents::Options{
                regions_of(lines(), o_.bitmap_region), payload, o_.bitmap_idle,
                [this](uint32_t block) {
                    write_intent(block).detach(this, [](void*) { return nothing(); }).resume();
                }});
}

// Writes the log entry for a change of some data columns, whose new contents and new parity are in
// the pages. The partial parity is the new parity without them. Parity that is out needs none:
// there is nothing to keep right. With a data member out it is needed all the same, because parity
// is what its column is recovered from; if that column changes too, its new contents are counted
// among those that stay: nobody can know later how much of the change had landed.
Task<void> Raid::log_line(Stripe& s, uint64_t changed, ParityLog::Ticket& ticket) {
    const uint32_t k = layout_.data_columns(), payload = member_geometry_.payload;
    const uint32_t member = layout_.column_member(row_of(s.line), k);
    if (!readable(member, s.line)) co_return;
    ticket = co_await ParityLog::Reserve(*log_, member);
    const auto logged = static_cast<uint32_t>(changed & ~missing_columns(s.line));
    const bool partial = log_->has_partial(logged);
    if (partial) {
        std::memcpy(log_->partial(ticket), page(s, k), payload);
        for (uint64_t left = logged; left; left &= left - 1)
            xor_into(log_->partial(ticket), page(s, static_cast<uint32_t>(std::countr_zero(left))),
                     payload);
    }
    log_->seal(ticket, s.line, logged);
    BlockDevice& device = *members_[member].device;
    const Lba at{reserved_at_ + uint64_t{log_->slot_of(ticket)} * ParityLog::slot_blocks};
    counters_.log_writes++;
    if (co_await device.write(at, partial ? 2 : 1, log_->header(ticket)) != IoStatus::ok)
        kick(member, device);
}

// Every write to members that changes what they hold is logged, one without parity too: an entry
// that may be replayed must not be older than what is on the members. False: there is no journal
// any more. Whoever goes on is a worker that takes up the stripe again.
Task<bool> Raid::journal_line(Stripe& s, uint64_t changed, Journal::Ticket& ticket) {
    if (changed == 0) co_return true; // nobody is there to write to
    counters_.log_writes++;
    const Journal::Entry entry{s.line, static_cast<uint32_t>(changed), s.pages};
    const bool logged = co_await journal_->append(entry, ticket);
    enter_taken(s, Layer::raid);
    co_await pass();
    enter_taken(s, Layer::members);
    co_return logged;
}

// Who cannot say that its writes are stable is out.
Task<void> Raid::settle_members() {
    IoList ios(columns());
    for (uint32_t m = 0; m < columns(); m++)
        if (writable(m)) ios.add(m, Op::flush, *members_[m].device, Lba{0}, nullptr);
    co_await ios.issue();
    ios.for_each([&](uint32_t member, IoStatus status, BlockDevice& device) {
        if (status != IoStatus::ok) kick(member, device);
    });
}

// Brings a block of the bitmap to the members, for as long as it changes.
Task<void> Raid::write_intent(uint32_t block) {
    IoList ios(columns());
    do {
        std::byte* const bits = intents_->take(block);
        ios.clear();
        for (uint32_t m = 0; m < columns(); m++)
            if (writable(m))
                ios.add(m, Op::write, *members_[m].device, Lba{reserved_at_ + block}, bits);
        counters_.bitmap_writes += ios.size();
        co_await ios.issue();
        ios.for_each([&](uint32_t member, IoStatus status, BlockDevice& device) {
            if (status != IoStatus::ok) kick(member, device);
        });
    } while (intents_->landed(block));
}

// A spare has neither log nor bitmap: its log must hold nothing of an array it was in before, and
// its bitmap what is under way here. The journal may have entries from before the member was lost;
// replayed, they would bring back to the spare what later entries could not change on the member.
Task<bool> Raid::prepare_spare(uint32_t member) {
    if (journal_) {
        const BlockDevice* const spare = members_[member].device;
        const bool drained = co_await journal_->drain();
        // Nothing is wrong with the spare.
        if (!drained && members_[member].device == spare) members_[member].state = State::failed;
        co_return drained;
    }
    if (intents_)
        for (uint32_t block = 0; block < intents_->blocks(); block++) intents_->rewrite(block);
    if (!log_) co_return true;
    const size_t bytes = size_t{log_->blocks()} * member_geometry_.payload;
    const PageMemory empty(bytes);
    std::memset(empty.get(), 0, bytes);
    BlockDevice& spare = *members_[member].device;
    if (co_await spare.write(Lba{reserved_at_}, log_->blocks(), empty.get()) == IoStatus::ok)
        co_return true;
    kick(member, spare);
    co_return false;
}

Task<RecoveryReport> Raid::recover() {
    RecoveryReport report;
    if (log_)
        for (uint32_t m = 0; m < columns(); m++) co_await replay_log(m, report);
    else if (journal_) co_await replay_journal(report);
    else if (layout_.copies() > 1 || parity()) co_await resync(report);
    co_return report;
}

Task<void> Raid::replay_log(uint32_t member, RecoveryReport& report) {
    if (!in_sync(member)) co_return; // its lines have no parity
    constexpr uint32_t slot_blocks = ParityLog::slot_blocks;
    const uint32_t payload = member_geometry_.payload;
    const PageMemory memory(size_t{log_->blocks()} * payload);
    BlockDevice& device = *members_[member].device;
    const Lba at{reserved_at_};
    const IoStatus all = co_await device.read(at, log_->blocks(), memory.get());
    if (all == IoStatus::no_device) {
        kick(member, device);
        co_return;
    }
    const auto slot_bytes = [&](uint32_t slot) {
        return memory.get() + size_t{slot} * slot_blocks * payload;
    };
    std::vector<ParityLog::Entry> found;
    uint64_t unreadable = 0;
    for (uint32_t slot = 0; slot < log_->slots(); slot++) {
        const Lba here = at + uint64_t{slot} * slot_blocks;
        if (all != IoStatus::ok &&
            co_await device.read(here, slot_blocks, slot_bytes(slot)) != IoStatus::ok)
            unreadable++;
        else if (const auto entry = log_->read(slot, slot_bytes(slot)); entry)
            found.push_back(*entry);
    }
    const std::vector<ParityLog::Entry> entries = log_->unfinished(member, std::move(found));
    report.entries += entries.size();
    report.unreadable += unreadable;
    for (const ParityLog::Entry& e : entries) {
        // What cannot be read may be a later entry for the same line.
        bool done = false; // gcc 12 does not get a co_await behind && right
        if (unreadable == 0) done = co_await replay(e, slot_bytes(e.slot) + payload);
        (done ? report.replayed : report.undecided)++;
    }
}

// Parity becomes the partial parity and what the changing columns hold, whichever of them landed.
Task<bool> Raid::replay(ParityLog::Entry e, const std::byte* partial) {
    const uint32_t k = layout_.data_columns(), payload = member_geometry_.payload;
    const uint64_t changed = e.columns, p = uint64_t{1} << k;
    if (e.line >= lines()) co_return false;
    Stripe& s = *co_await lock_line(e.line);
    s.cached = 0;
    IoList ios(columns());
    bool ok = !(missing_columns(s.line) & (changed | p));
    if (ok) {
        for (uint64_t left = changed; left; left &= left - 1) {
            const auto c = static_cast<uint32_t>(std::countr_zero(left));
            ios.add(c, Op::read, device_of(s.line, c), Lba{s.line}, page(s, c));
        }
        co_await ios.issue();
        ok = note_reads(s, ios) == 0;
    }
    if (ok) {
        const auto sources = static_cast<uint32_t>(std::popcount(changed));
        co_await charge(engine_, price_of_recovery(sources));
        if (log_->has_partial(e.columns)) std::memcpy(page(s, k), partial, payload);
        else std::memset(page(s, k), 0, payload);
        for (uint64_t left = changed; left; left &= left - 1)
            xor_into(page(s, k), page(s, static_cast<uint32_t>(std::countr_zero(left))), payload);
        BlockDevice& device = device_of(s.line, k);
        ok = co_await device.write(Lba{s.line}, 1, page(s, k)) == IoStatus::ok;
        if (!ok) kick(s.line, k, device);
    }
    s.cached = 0;
    settle(s).resume();
    co_return ok;
}

Task<void> Raid::replay_journal(RecoveryReport& report) {
    const Journal::Found found = co_await journal_->recover();
    report.entries = found.entries;
    report.replayed = found.applied;
    report.undecided = found.entries - found.applied;
    report.unreadable = found.unreadable;
    // What was under way is not known: parity becomes that of the data, where it can be compared.
    if (found.unreadable > 0 && !journal_->failed()) co_await make_agree(0, lines(), report.scrub);
}

// The members that are there get what the entry has for them.
Task<bool> Raid::replay(const Journal::Entry& e) {
    if (e.line >= lines() || failed()) co_return false;
    Stripe& s = *co_await lock_line(e.line);
    s.cached = 0;
    IoList ios(columns());
    const uint32_t payload = member_geometry_.payload;
    for (uint32_t left = e.columns; left; left &= left - 1) {
        const auto c = static_cast<uint32_t>(std::countr_zero(left));
        if (!writable(layout_.column_member(row_of(e.line), c))) continue;
        ios.add(c, Op::write, device_of(e.line, c), Lba{e.line}, e.pages + size_t{c} * payload);
    }
    co_await charge(engine_, price_of_recovery(ios.size()));
    co_await ios.issue();
    ios.for_each([&](uint32_t c, IoStatus status, BlockDevice& device) {
        if (status != IoStatus::ok) kick(s.line, c, device);
    });
    settle(s).resume();
    co_return !failed();
}

// All bits that any member has.
Task<void> Raid::load_bitmap() {
    const uint32_t payload = member_geometry_.payload;
    const PageMemory bits(size_t{intents_->blocks()} * payload);
    bool any = false;
    for (uint32_t m = 0; m < columns(); m++) {
        if (!in_sync(m)) continue;
        BlockDevice& device = *members_[m].device;
        const IoStatus status =
            co_await device.read(Lba{reserved_at_}, intents_->blocks(), bits.get());
        if (status == IoStatus::no_device) kick(m, device);
        if (status != IoStatus::ok) continue;
        any = true;
        for (uint32_t block = 0; block < intents_->blocks(); block++)
            intents_->load(block, bits.get() + size_t{block} * payload);
    }
    if (!any) intents_->distrust();
    intents_->agree();
}

Task<void> Raid::resync(RecoveryReport& report) {
    if (!intents_) {
        co_await make_agree(0, lines(), report.scrub);
        co_return;
    }
    co_await load_bitmap();
    for (uint64_t region = 0; region < intents_->regions(); region++) {
        if (!intents_->stale(region)) continue;
        const uint64_t first = region * o_.bitmap_region, unreadable = report.scrub.unreadable;
        co_await make_agree(first, std::min(first + o_.bitmap_region, lines()), report.scrub);
        report.regions++;
        // Copies that are there agree; parity that could not be compared is not to be trusted.
        if (!parity() || report.scrub.unreadable == unreadable) intents_->trust(region);
    }
}

} // namespace storlab
