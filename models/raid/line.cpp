// One line of an array with parity: changing it.
#include "models/raid/gather.hpp"

namespace storlab {

Charge Raid::pass(bool deferred) {
    Work work;
    engine_.owe(work, Operation::raid_pass);
    Charge c = charge(engine_, work);
    if (deferred) c.urgency = Urgency::deferred;
    return c;
}

std::vector<std::byte*> Raid::all_pages(const Stripe& s) const {
    std::vector<std::byte*> pages;
    for (uint32_t c = 0; c < columns(); c++) pages.push_back(page(s, c));
    return pages;
}

// Moves the pending requests of one kind to the taken.
void Raid::take(Stripe& s, Op op) {
    EventQueue rest;
    s.written = 0;
    while (!s.pending.empty()) {
        auto& r = static_cast<Request&>(s.pending.pop());
        if (r.op != op) {
            rest.push(r);
            continue;
        }
        s.taken.push(r);
        s.waiting--;
        s.written |= uint64_t{1} << r.step;
    }
    s.pending = rest;
}

Task<void> Raid::update_line(Stripe& s) {
    // A line that may still fill up lets full ones go first: they need no reads.
    co_await pass(s.waiting < layout_.data_columns());
    take(s, Op::write);
    Change c(columns());
    while (plan_reads(s, c)) {
        enter_taken(s, Layer::members);
        co_await c.ios.issue();
        const uint64_t lost = note_reads(s, c.ios);
        enter_taken(s, Layer::raid);
        if (!lost) break;
        c.bad |= lost;
    }
    if (c.plan.method == WriteMethod::impossible) {
        s.cached = 0;
        finish_taken(s, IoStatus::failed);
        co_return;
    }
    plan_writes(s, c);
    co_await charge(engine_, price_of(s, c));
    change_pages(s, c);
    enter_taken(s, Layer::members);
    if (log_) co_await log_line(s, s.written, c.ticket);
    bool logged = true;
    if (journal_) logged = co_await journal_line(s, c.ios.columns(), c.entry);
    if (!logged) {
        s.cached = 0;
        finish_taken(s, IoStatus::failed);
        co_return;
    }
    if (intents_) co_await WriteIntents::Begin(*intents_, region_of(s.line));
    co_await c.ios.issue();
    if (intents_) intents_->end(region_of(s.line));
    const IoStatus status = note_writes(s, c);
    enter_taken(s, Layer::raid);
    co_await pass();
    finish_taken(s, status);
}

// What is to be read for the change, given what could not be; false if nothing is.
bool Raid::plan_reads(Stripe& s, Change& c) {
    c.plan = plan_write({layout_.data_columns(), layout_.parities(), s.written,
                         missing_columns(s.line) | c.bad, absent_columns(s.line), s.cached});
    if (c.plan.read == 0) return false;
    c.ios.clear();
    for (uint64_t left = c.plan.read; left; left &= left - 1) {
        const auto column = static_cast<uint32_t>(std::countr_zero(left));
        c.ios.add(column, Op::read, device_of(s.line, column), Lba{s.line}, page(s, column));
    }
    c.reads += c.ios.size();
    return true;
}

// Returns the columns that could not be read.
uint64_t Raid::note_reads(Stripe& s, const IoList& ios) {
    uint64_t lost = 0;
    ios.for_each([&](uint32_t c, IoStatus status, BlockDevice& device) {
        (status == IoStatus::ok ? s.cached : lost) |= uint64_t{1} << c;
        if (status == IoStatus::no_device) kick(s.line, c, device);
    });
    return lost;
}

void Raid::plan_writes(Stripe& s, Change& c) {
    // What was recovered because a sector is bad goes back: the drive then has a good one for it.
    c.heal = c.bad & c.plan.recover & ~s.written;
    if (c.heal) c.heal &= ~missing_columns(s.line);
    c.plan.write |= c.heal;
    c.ios.clear();
    for (uint64_t left = c.plan.write; left; left &= left - 1) {
        const auto column = static_cast<uint32_t>(std::countr_zero(left));
        if (!writable(layout_.column_member(row_of(s.line), column))) continue;
        c.ios.add(column, Op::write, device_of(s.line, column), Lba{s.line}, page(s, column));
    }
}

Work Raid::price_of(const Stripe& s, const Change& c) {
    const auto block = static_cast<uint32_t>(member_geometry_.block.count());
    // Old data, old parity and new data are three, though old and new are of one column.
    const auto sources =
        static_cast<uint32_t>(std::popcount(c.plan.read) + std::popcount(s.written));
    Work work;
    if (c.reads) engine_.owe(work, Operation::raid_pass);
    engine_.owe(work, Operation::raid_member_io, c.reads + c.ios.size());
    engine_.owe_bytes(work, Operation::raid_parity, Bytes(int64_t{block} * sources));
    if (log_ && readable(layout_.parity_member(row_of(s.line)), s.line)) {
        // An entry is new parity without the new data.
        engine_.owe(work, Operation::raid_member_io);
        engine_.owe_bytes(work, Operation::raid_parity,
                          Bytes(int64_t{block} * (std::popcount(s.written) + 1)));
    }
    if (journal_) { // a pass over the bytes for the checksum is taken to cost what one for XOR does
        engine_.owe(work, Operation::raid_member_io);
        engine_.owe_bytes(work, Operation::raid_parity, Bytes(int64_t{block} * c.ios.size()));
    }
    if (o_.lock) engine_.owe_locked(work, o_.lock, Operation::raid_lock_stripe);
    work.bytes_in = block * sources;
    work.bytes_out = block * layout_.parities();
    return work;
}

void Raid::change_pages(Stripe& s, const Change& c) {
    if (c.plan.method == WriteMethod::plain) {
        for (Event* e = s.taken.front(); e; e = e->next) {
            auto& r = static_cast<Request&>(*e);
            std::memcpy(page(s, r.step), r.segments()->at, member_geometry_.payload);
        }
    } else if (c.plan.method == WriteMethod::read_modify) {
        counters_.read_modify++;
        apply_change(s, c.plan.write >> layout_.data_columns());
    } else {
        (c.plan.method == WriteMethod::recover ? counters_.recover
         : c.reads                             ? counters_.reconstruct
                                               : counters_.full_line)++;
        apply_anew(s, c.plan.recover);
    }
}

IoStatus Raid::note_writes(Stripe& s, Change& c) {
    // A parity that was left out is not that of the new data.
    s.cached &= (uint64_t{1} << layout_.data_columns()) - 1;
    s.cached |= c.plan.write;
    c.ios.for_each([&](uint32_t column, IoStatus written, BlockDevice& device) {
        if (written != IoStatus::ok) kick(s.line, column, device);
    });
    counters_.rewritten += static_cast<uint64_t>(std::popcount(c.heal));
    if (log_) log_->release(c.ticket);
    if (journal_) journal_->release(c.entry);
    if (!failed()) return IoStatus::ok;
    s.cached = 0;
    return IoStatus::failed;
}

// Parity takes in what changes: the old data goes out of it and the new data in.
void Raid::apply_change(Stripe& s, uint64_t parities) {
    const uint32_t payload = member_geometry_.payload, k = layout_.data_columns();
    for (Event* e = s.taken.front(); e; e = e->next) {
        auto& r = static_cast<Request&>(*e);
        std::byte* const data = page(s, r.step);
        const std::byte* const fresh = r.segments()->at;
        xor_into(data, fresh, payload); // old XOR new
        for (uint32_t p = 0; p < layout_.parities(); p++)
            if (parities >> p & 1) code_->update(p, r.step, data, page(s, k + p), payload);
        std::memcpy(data, fresh, payload);
    }
}

// Parity computed from all data, after recovering the data that cannot be read.
void Raid::apply_anew(Stripe& s, uint64_t recover) {
    if (recover) STORLAB_ENSURE(recover_lost(s, recover));
    for (Event* e = s.taken.front(); e; e = e->next) {
        auto& r = static_cast<Request&>(*e);
        std::memcpy(page(s, r.step), r.segments()->at, member_geometry_.payload);
    }
    if (columns() <= 16) { // no allocation for arrays of usual width
        std::byte* pages[16];
        for (uint32_t c = 0; c < columns(); c++) pages[c] = page(s, c);
        code_->encode({pages, columns()}, member_geometry_.payload);
    } else code_->encode(all_pages(s), member_geometry_.payload);
}

// Recovers columns from those in memory; false when those do not suffice.
bool Raid::recover_lost(Stripe& s, uint64_t lost) {
    const uint64_t every = (uint64_t{1} << columns()) - 1;
    if (!code_->recover(every & ~s.cached, all_pages(s), member_geometry_.payload)) return false;
    s.cached |= lost;
    return true;
}

} // namespace storlab
