// Private to models/raid: commands issued together. Not installed, not included from elsewhere.
#pragma once
#include "models/raid/plan.hpp"
#include "models/raid/raid.hpp"
#include "sim/base/error.hpp"
#include <bit>
#include <deque>

namespace storlab {

// Commands issued over time and awaited once: co_await gather.
struct Raid::Gather {
    uint32_t left = 1; // one for the issuer, who is not done issuing
    Handle waiter{};

    void expect(Request& r) {
        left++;
        r.owner = this;
        r.done = [](Request& done) {
            auto& g = *static_cast<Gather*>(done.owner);
            return --g.left ? nothing() : g.waiter;
        };
    }
    bool await_ready() { return --left == 0; }
    void await_suspend(Handle h) { waiter = h; }
    void await_resume() const {}
};

// co_await Room(cache): until a stripe has become idle.
struct Room : Resume {
    StripeCache& cache;
    explicit Room(StripeCache& c) : cache(c) {}
    bool await_ready() const { return false; }
    void await_suspend(Handle h) {
        waiter = h;
        cache.waiters.push(*this);
    }
    void await_resume() const {}
};

// The member commands of one line; at most one a column. The space comes from the frame pool. The
// device is kept apart, because layers that forward a command write over its own.
class Raid::IoList {
public:
    explicit IoList(uint32_t capacity)
        : capacity_(capacity), ios_(static_cast<Io*>(FramePool::take(bytes()))),
          devices_(reinterpret_cast<BlockDevice**>(ios_ + capacity)), columns_(0) {}
    IoList(const IoList&) = delete;
    IoList& operator=(const IoList&) = delete;
    ~IoList() { FramePool::give(ios_, bytes()); }

    void clear() { n_ = 0, columns_ = 0; }
    void add(uint32_t column, Op op, BlockDevice& device, Lba at, std::byte* data) {
        STORLAB_ENSURE(n_ < capacity_);
        devices_[n_] = &device;
        new (&ios_[n_++]) Io(&device, op, at, 1, data);
        columns_ |= uint64_t{1} << column;
    }
    bool empty() const { return n_ == 0; }
    uint64_t columns() const { return columns_; }
    uint32_t size() const { return n_; }
    All issue() { return all(ios_, n_); }
    // f(column, status, device) in the order of columns, which is the order they were added in.
    template <class F> void for_each(F&& f) const {
        uint64_t left = columns_;
        for (uint32_t i = 0; i < n_; i++, left &= left - 1)
            f(static_cast<uint32_t>(std::countr_zero(left)), ios_[i].status, *devices_[i]);
    }

private:
    static_assert(std::is_trivially_destructible_v<Io>);
    uint32_t capacity_, n_ = 0;
    Io* ios_;
    BlockDevice** devices_;
    uint64_t columns_;

    size_t bytes() const { return capacity_ * (sizeof(Io) + sizeof(BlockDevice*)); }
};

// A change of one line under way.
struct Raid::Change {
    explicit Change(uint32_t columns) : ios(columns) {}
    IoList ios;
    WritePlan plan{};
    uint64_t bad = 0;  // columns whose read failed
    uint64_t heal = 0; // those of them that are written although nobody changes them
    uint32_t reads = 0;
    ParityLog::Ticket ticket; // of the partial parity log
    Journal::Ticket entry;
};

// Tasks that run at once and are awaited together: co_await window.
template <class T> struct Window {
    uint32_t left = 1; // one for who starts them
    Handle waiter{};
    void (*result)(Window&, T) = nullptr;

    void run(Task<T> task) {
        left++;
        std::move(task)
            .detach(this,
                    [](void* c, T value) {
                        auto& w = *static_cast<Window*>(c);
                        w.result(w, value);
                        return --w.left ? nothing() : w.waiter;
                    })
            .resume();
    }
    bool await_ready() { return --left == 0; }
    void await_suspend(Handle h) { waiter = h; }
    void await_resume() const {}
};

// Finds the memory of the blocks of a request.
class SegmentCursor {
public:
    explicit SegmentCursor(const Request& r, uint32_t payload)
        : segment_(r.segments()), payload_(payload) {}
    // Where the next block is, and how many follow it in memory (itself included).
    std::byte* at() const { return segment_->at + size_t{offset_} * payload_; }
    uint32_t contiguous() const { return segment_->blocks - offset_; }
    void advance(uint32_t blocks) {
        while (blocks > 0 && blocks >= contiguous()) {
            blocks -= contiguous();
            segment_++;
            offset_ = 0;
        }
        offset_ += blocks;
    }

private:
    const Segment* segment_;
    uint32_t payload_, offset_ = 0;
};

} // namespace storlab
