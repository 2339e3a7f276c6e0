// Orders writes to mirrored copies: two that overlap go one after the other, so that all copies end
// with the same one. First come, first served within a chunk; writes that do not overlap pass
// freely.
#pragma once
#include "sim/seam/clock.hpp"
#include <vector>

namespace storlab {

class OverlapLocks {
public:
    explicit OverlapLocks(Clock& clock) : clock_(clock), bucket_(buckets, nullptr) {}

    // Held held(locks, first, blocks); co_await held;   released at the end of the scope.
    // The range lies within one chunk.
    class Held : Resume {
    public:
        Held(OverlapLocks& locks, uint64_t chunk, uint64_t first, uint32_t blocks)
            : locks_(locks), chunk_(chunk), first_(first), end_(first + blocks) {}
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
        ~Held() {
            if (queued_) locks_.release(*this);
        }
        bool await_ready() { return locks_.take(*this); }
        void await_suspend(Handle h) { waiter = h; }
        void await_resume() const {}

    private:
        friend class OverlapLocks;
        OverlapLocks& locks_;
        uint64_t chunk_, first_, end_;
        Held* after_ = nullptr; // in order of arrival within the bucket
        bool queued_ = false, granted_ = false;

        bool overlaps(const Held& o) const {
            return chunk_ == o.chunk_ && first_ < o.end_ && o.first_ < end_;
        }
    };

private:
    static constexpr size_t buckets = 1024; // chains stay short at a few thousand writes in flight
    Clock& clock_;
    std::vector<Held*> bucket_;

    Held*& bucket(uint64_t chunk) { return bucket_[chunk % buckets]; }
    // Nobody who came before and is still here overlaps.
    bool free_for(const Held& h) {
        for (const Held* b = bucket(h.chunk_); b != &h; b = b->after_)
            if (b->overlaps(h)) return false;
        return true;
    }
    bool take(Held& h) {
        Held** p = &bucket(h.chunk_);
        while (*p) p = &(*p)->after_;
        *p = &h;
        h.queued_ = true;
        return h.granted_ = free_for(h);
    }
    void release(Held& h) {
        Held** p = &bucket(h.chunk_);
        while (*p != &h) p = &(*p)->after_;
        *p = h.after_;
        for (Held* w = h.after_; w; w = w->after_)
            if (!w->granted_ && w->overlaps(h) && free_for(*w)) {
                w->granted_ = true;
                clock_.wake(*w, clock_.now());
            }
    }
};

} // namespace storlab
