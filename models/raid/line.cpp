// One line of an array with parity: changing it and reading what is lost of it.
#include "models/raid/gather.hpp"
#include "models/raid/plan.hpp"

namespace storlab {

Charge Raid::pass(bool deferred) {
    Work work;
    engine_.owe(work, Operation::raid_pass);
    Charge c = charge(engine_, work);
    c.deferred = deferred;
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
    const uint32_t k = layout_.data_columns();
    // A line that may still fill up lets full ones go first: they need no reads.
    co_await pass(s.waiting < k);
    take(s, Op::write);
    const Lba at{s.line};
    const uint32_t block = static_cast<uint32_t>(member_geometry_.block.count());
    IoList ios(columns());
    uint64_t bad = 0; // columns whose read failed
    WritePlan plan;
    uint32_t reads = 0;
    for (;;) {
        plan = plan_write({k, layout_.parities(), s.written, missing_columns(s.line) | bad,
                           absent_columns(s.line), s.cached});
        if (plan.read == 0) break;
        ios.clear();
        for (uint64_t left = plan.read; left; left &= left - 1) {
            const auto c = static_cast<uint32_t>(std::countr_zero(left));
            ios.add(c, Op::read, device_of(s.line, c), at, page(s, c));
        }
        reads += ios.size();
        enter_taken(s, Layer::members);
        co_await ios.issue();
        uint64_t lost = 0;
        ios.for_each([&](uint32_t c, IoStatus status, BlockDevice& device) {
            if (status == IoStatus::ok) s.cached |= uint64_t{1} << c;
            else lost |= uint64_t{1} << c;
            if (status == IoStatus::no_device) kick(s.line, c, device);
        });
        enter_taken(s, Layer::raid);
        if (!lost) break;
        bad |= lost;
    }
    if (plan.method == WriteMethod::impossible) {
        s.cached = 0;
        finish_taken(s, IoStatus::failed);
        co_return;
    }

    ios.clear();
    for (uint64_t left = plan.write; left; left &= left - 1) {
        const auto c = static_cast<uint32_t>(std::countr_zero(left));
        if (!writable(layout_.column_member(row_of(s.line), c))) continue;
        ios.add(c, Op::write, device_of(s.line, c), at, page(s, c));
    }
    // Old data, old parity and new data are three, though old and new are of one column.
    const auto sources = static_cast<uint32_t>(std::popcount(plan.read) + std::popcount(s.written));
    Work work;
    if (reads) engine_.owe(work, Operation::raid_pass);
    engine_.owe(work, Operation::raid_member_io, reads + ios.size());
    engine_.owe_bytes(work, Operation::raid_parity, Bytes(int64_t{block} * sources));
    if (o_.lock) engine_.owe_locked(work, o_.lock, Operation::raid_lock_stripe);
    work.bytes_in = block * sources;
    work.bytes_out = block * layout_.parities();
    co_await charge(engine_, work);

    if (plan.method == WriteMethod::plain) {
        for (Event* e = s.taken.front(); e; e = e->next) {
            auto& r = static_cast<Request&>(*e);
            std::memcpy(page(s, r.step), r.segments()->at, member_geometry_.payload);
        }
    } else if (plan.method == WriteMethod::read_modify) {
        counters_.read_modify++;
        apply_change(s, plan.write >> k);
    } else {
        (plan.method == WriteMethod::recover ? counters_.recover
         : reads                             ? counters_.reconstruct
                                             : counters_.full_line)++;
        apply_anew(s, plan.recover);
    }
    enter_taken(s, Layer::members);
    co_await ios.issue();
    IoStatus status = IoStatus::ok;
    s.cached &= (uint64_t{1} << k) - 1; // a parity that was left out is not that of the new data
    s.cached |= plan.write;
    ios.for_each([&](uint32_t c, IoStatus written, BlockDevice& device) {
        if (written != IoStatus::ok) kick(s.line, c, device);
    });
    if (failed()) status = IoStatus::failed, s.cached = 0;
    enter_taken(s, Layer::raid);
    co_await pass();
    finish_taken(s, status);
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

// Requests for blocks whose member cannot be read, or just failed to be.
Task<void> Raid::read_line(Stripe& s) {
    co_await pass();
    take(s, Op::read);
    const uint64_t wanted = s.written, every = (uint64_t{1} << columns()) - 1;
    const Lba at{s.line};
    IoList ios(columns());
    uint64_t bad = 0;
    uint32_t reads = 0;
    IoStatus status = IoStatus::ok;
    while (wanted & ~s.cached) {
        const uint64_t missing = (missing_columns(s.line) | bad) & ~s.cached;
        const bool recovering = wanted & missing;
        if (recovering && static_cast<uint32_t>(std::popcount(missing)) > layout_.parities()) {
            status = IoStatus::failed;
            break;
        }
        uint64_t read = (recovering ? every & ~missing : wanted) & ~s.cached;
        if (recovering) { // as many columns as there are data columns suffice, data and P first
            int spare = std::popcount(every & ~missing) - static_cast<int>(layout_.data_columns());
            for (uint32_t c = columns(); spare > 0 && c-- > 0;)
                if (read >> c & 1) read &= ~(uint64_t{1} << c), spare--;
        }
        if (read == 0) break;
        ios.clear();
        for (uint64_t left = read; left; left &= left - 1) {
            const auto c = static_cast<uint32_t>(std::countr_zero(left));
            ios.add(c, Op::read, device_of(s.line, c), at, page(s, c));
        }
        reads += ios.size();
        enter_taken(s, Layer::members);
        co_await ios.issue();
        uint64_t lost = 0;
        ios.for_each([&](uint32_t c, IoStatus done, BlockDevice& device) {
            if (done == IoStatus::ok) s.cached |= uint64_t{1} << c;
            else lost |= uint64_t{1} << c;
            if (done == IoStatus::no_device) kick(s.line, c, device);
        });
        enter_taken(s, Layer::raid);
        if (lost) bad |= lost;
        else break;
    }
    if (status == IoStatus::ok && (wanted & ~s.cached)) {
        const uint32_t block = static_cast<uint32_t>(member_geometry_.block.count());
        Work work;
        engine_.owe(work, Operation::raid_pass);
        engine_.owe(work, Operation::raid_member_io, reads);
        engine_.owe_bytes(work, Operation::raid_parity, member_geometry_.block * reads);
        if (o_.lock) engine_.owe_locked(work, o_.lock, Operation::raid_lock_stripe);
        work.bytes_in = block * reads;
        work.bytes_out = block;
        co_await charge(engine_, work);
        counters_.degraded_reads++;
        if (!recover_lost(s, wanted)) status = IoStatus::failed;
    }
    if (status == IoStatus::ok)
        for (Event* e = s.taken.front(); e; e = e->next) {
            auto& r = static_cast<Request&>(*e);
            std::memcpy(r.segments()->at, page(s, r.step), member_geometry_.payload);
        }
    finish_taken(s, status);
}

} // namespace storlab
