#include "models/raid/journal.hpp"
#include "sim/base/error.hpp"
#include <algorithm>
#include <bit>

namespace storlab {

namespace {
uint32_t blocks_of(const Journal::Entry& e) {
    return 1 + static_cast<uint32_t>(std::popcount(e.columns));
}
} // namespace

// co_await Reserve(journal, blocks): the number of an entry, in order of arrival.
class Journal::Reserve : public Resume {
public:
    Reserve(Journal& j, uint32_t n) : blocks(n), journal_(j) {}
    bool await_ready() { return journal_.take(*this); }
    void await_suspend(Handle h) {
        waiter = h;
        journal_.rooms_.push(*this);
    }
    uint64_t await_resume() const { return number; }
    const uint32_t blocks;
    uint64_t number = refused;

private:
    Journal& journal_;
};

// Until an entry is stable, or never will be.
class Journal::Stable {
public:
    Stable(Journal& j, uint64_t number) : journal_(j), number_(number) {}
    bool await_ready() const { return journal_.failed_ || number_ < journal_.stable_; }
    void await_suspend(Handle h) { journal_.slot(number_).waiter = h; }
    bool await_resume() const { return number_ < journal_.stable_; }

private:
    Journal& journal_;
    uint64_t number_;
};

class Journal::Drained : public Resume {
public:
    Drained(Journal& j, uint64_t n) : number(n), journal_(j) {}
    bool await_ready() const { return journal_.failed_ || number <= journal_.first_; }
    void await_suspend(Handle h) {
        waiter = h;
        journal_.drains_.push(*this);
    }
    void await_resume() const {}
    const uint64_t number;

private:
    Journal& journal_;
};

Journal::Journal(BlockDevice& device, uint32_t columns, Hooks hooks)
    : device_(device), columns_(columns), payload_(device.geometry().payload),
      ring_(std::min(device.geometry().blocks, most_blocks) - checkpoints),
      hooks_(std::move(hooks)), checkpoint_(payload_) {
    STORLAB_ENSURE(columns <= most_columns && payload_ >= 16);
    STORLAB_ENSURE(device.geometry().blocks >= least_blocks(columns));
}

void Journal::begin(Task<void> task) {
    std::move(task).detach(nullptr, [](void*) { return nothing(); }).resume();
}

Task<bool> Journal::append(Entry e, Ticket& ticket) {
    if (!open_ && !opening_) begin(open());
    const uint64_t number = co_await Reserve(*this, blocks_of(e));
    if (number == refused) co_return false;
    ticket = {number, true};
    const uint64_t start = slot(number).start;
    const PageMemory meta(payload_);
    seal(meta.get(), start, number, e);
    const IoStatus status = co_await move(Op::write, start, meta.get(), e);
    if (status == IoStatus::ok) landed(number);
    else fail();
    const bool stable = co_await Stable(*this, number);
    co_return stable;
}

// The meta block, if there is one, and the pages; at the ring's end the rest goes to its beginning.
Task<IoStatus> Journal::move(Op op, uint64_t start, std::byte* meta, const Entry& e) {
    Segment segments[1 + most_columns];
    uint32_t n = 0;
    if (meta) segments[n++] = {meta, 1};
    for (uint32_t left = e.columns; left; left &= left - 1)
        segments[n++] = {e.pages + size_t(std::countr_zero(left)) * payload_, 1};
    const uint64_t at = position_of(start);
    const auto first = static_cast<uint32_t>(std::min<uint64_t>(n, ring_ - at));
    Io ios[2] = {Io(&device_, op, Lba{checkpoints + at}, first, segments, first),
                 Io(&device_, op, Lba{checkpoints}, n - first, segments + first, n - first)};
    const IoStatus status = co_await all(ios, first < n ? 2 : 1);
    co_return status;
}
Task<IoStatus> Journal::flush() {
    const IoStatus status = co_await device_.io(Op::flush, Lba{0}, 1, nullptr);
    co_return status;
}

void Journal::grant(Reserve& r) {
    r.number = next_++;
    slots_.push_back({head_, r.blocks});
    head_ += r.blocks;
}
bool Journal::take(Reserve& r) {
    const auto fits = [&] { return open_ && rooms_.empty() && head_ - tail_ + r.blocks <= ring_; };
    if (!failed_ && open_ && !fits()) {
        thirsty_ = true;
        reclaim_if_wanted(); // may have ended when this returns
    }
    if (failed_) return true;
    if (!fits()) {
        thirsty_ = true;
        return false;
    }
    grant(r);
    return true;
}
void Journal::admit() {
    while (!failed_ && !rooms_.empty()) {
        auto& r = static_cast<Reserve&>(static_cast<Resume&>(*rooms_.front()));
        if (head_ - tail_ + r.blocks > ring_) break;
        rooms_.pop();
        grant(r);
        r.waiter.resume();
    }
    thirsty_ = !rooms_.empty();
}

// Only what has landed before a flush begins is covered by it, and an entry counts when all that
// precede it do: a scan of the log would not get beyond a hole.
void Journal::landed(uint64_t number) {
    slot(number).landed = true;
    while (landed_ < next_ && slot(landed_).landed) landed_++;
    if (!committing_ && stable_ < landed_) begin(commit());
}
Task<void> Journal::commit() {
    committing_ = true;
    while (!failed_ && stable_ < landed_) {
        const uint64_t from = stable_, to = landed_;
        const IoStatus status = co_await flush();
        if (status != IoStatus::ok) fail();
        if (failed_) break;
        stable_ = to;
        for (uint64_t n = from; n < to; n++)
            if (const Handle waiter = std::exchange(slot(n).waiter, {})) waiter.resume();
    }
    committing_ = false;
}

void Journal::release(Ticket& t) {
    if (!t.held) return;
    t.held = false;
    if (failed_) return;
    slot(t.number).done = true;
    while (done_ < stable_ && slot(done_).done) done_++;
    reclaim_if_wanted();
}

uint64_t Journal::reclaimable() { return (done_ == next_ ? head_ : slot(done_).start) - tail_; }
bool Journal::wants_reclaim() {
    return done_ > first_ && (thirsty_ || first_ < drain_to_ || reclaimable() >= ring_ / 4);
}
void Journal::reclaim_if_wanted() {
    if (!reclaiming_ && wants_reclaim()) begin(reclaim());
}
Task<void> Journal::reclaim() {
    reclaiming_ = true;
    while (!failed_ && wants_reclaim()) {
        const uint64_t upto = done_, start = tail_ + reclaimable();
        co_await hooks_.settle();
        const bool written = co_await write_checkpoint(start, upto);
        if (!written || failed_) break;
        slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(upto - first_));
        first_ = upto;
        tail_ = start;
        admit();
        while (!drains_.empty()) {
            auto& d = static_cast<Drained&>(static_cast<Resume&>(*drains_.front()));
            if (d.number > first_) break;
            drains_.pop();
            d.waiter.resume();
        }
    }
    reclaiming_ = false;
}
Task<bool> Journal::drain() {
    const uint64_t all = drain_to_ = next_;
    reclaim_if_wanted();
    co_await Drained(*this, all);
    co_return !failed_;
}

// Nobody waits for what will not happen.
void Journal::close() {
    failed_ = true;
    while (!rooms_.empty()) static_cast<Resume&>(rooms_.pop()).waiter.resume();
    while (!drains_.empty()) static_cast<Resume&>(drains_.pop()).waiter.resume();
    for (size_t i = 0; i < slots_.size(); i++) // of one that is stable nobody waits
        if (const Handle waiter = std::exchange(slots_[i].waiter, {})) waiter.resume();
}
void Journal::fail() {
    if (failed_) return;
    close();
    if (hooks_.lost) hooks_.lost();
}

// The first entry of an array that has not been asked to recover: whatever is in the log belongs to
// some other time.
Task<void> Journal::open() {
    opening_ = true;
    const bool known = co_await load_checkpoint();
    co_await begin_life(known);
}
// If the latest checkpoint is not known, it may be of the life after the one that is. Both are
// written then, so that they are never further apart.
Task<void> Journal::begin_life(bool known) {
    life_ += known ? 1 : 2;
    if (failed_) co_return;
    bool ok = true;
    if (!known) ok = co_await write_checkpoint(tail_, first_);
    if (!ok) co_return;
    open_ = co_await write_checkpoint(tail_, first_);
    if (open_) admit();
}

// Reads the entry of that number with its pages; none if it is not there, or not as it was written.
Task<IoStatus> Journal::read(uint64_t start, uint64_t number, std::byte* pages,
                             std::optional<Entry>& entry) {
    entry.reset();
    const PageMemory meta(payload_);
    IoStatus status = co_await device_.read(Lba{checkpoints + position_of(start)}, 1, meta.get());
    if (status != IoStatus::ok) co_return status;
    const std::optional<Entry> e = parse(meta.get(), number, pages);
    if (!e || start - tail_ + blocks_of(*e) > ring_) co_return status;
    status = co_await move(Op::read, start + 1, nullptr, *e);
    if (status == IoStatus::ok && whole(meta.get(), start, *e)) entry = e;
    co_return status;
}

Task<Journal::Found> Journal::recover() {
    STORLAB_ENSURE(!open_ && !opening_);
    opening_ = true;
    Found found;
    const bool known = co_await load_checkpoint();
    const PageMemory pages(size_t{columns_} * payload_);
    std::optional<Entry> e;
    IoStatus status = known ? IoStatus::ok : IoStatus::failed;
    while (status == IoStatus::ok) {
        status = co_await read(head_, next_, pages.get(), e);
        if (status != IoStatus::ok || !e) break;
        head_ += blocks_of(*e);
        next_++;
    }
    found.entries = next_ - first_;
    found.unreadable = status != IoStatus::ok;
    if (status == IoStatus::no_device) fail();
    if (status == IoStatus::ok) co_await apply_all(found);
    if (failed_) co_return found;
    co_await hooks_.settle();
    first_ = done_ = stable_ = landed_ = next_;
    tail_ = head_;
    co_await begin_life(known);
    co_return found;
}
Task<void> Journal::apply_all(Found& found) {
    const PageMemory pages(size_t{columns_} * payload_);
    std::optional<Entry> e;
    uint64_t start = tail_;
    for (uint64_t n = first_; n < next_; n++) {
        const IoStatus status = co_await read(start, n, pages.get(), e);
        found.unreadable += status != IoStatus::ok;
        bool ok = status == IoStatus::ok && e;
        if (ok) ok = co_await hooks_.apply(*e);
        if (!ok) { // the rest must not be forgotten
            close();
            co_return;
        }
        found.applied++;
        start += blocks_of(*e);
    }
}

} // namespace storlab
