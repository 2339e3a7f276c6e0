// A closed or open load straight onto a device, for tests of hardware models.
#pragma once
#include "sim/base/random.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/report/histogram.hpp"
#include "sim/seam/block_device.hpp"
#include <deque>
#include <vector>

namespace storlab::test {

struct DriveLoadOptions {
    uint32_t depth = 1, blocks = 1;
    double write_share = 0;
    bool sequential = false;
    uint64_t seed = 1;
};

class DriveLoad {
public:
    DriveLoad(Calendar& calendar, BlockDevice& device, const DriveLoadOptions& o)
        : calendar_(calendar), device_(device), o_(o), random_(o.seed, "drive load") {
        for (running_ = 0; running_ < o.depth; running_++)
            slot()
                .detach(this,
                        [](void* l) {
                            static_cast<DriveLoad*>(l)->running_--;
                            return nothing();
                        })
                .resume();
    }
    ~DriveLoad() { // nothing may be left in flight
        stopping_ = true;
        while (running_ > 0) {
            Event* const e = calendar_.pop(Instant::never());
            e->fire(*e);
        }
    }
    DriveLoad(const DriveLoad&) = delete;
    DriveLoad& operator=(const DriveLoad&) = delete;
    // Runs until so many more I/Os are done; I/Os a second over that time.
    double rate_over(uint64_t ios) {
        const uint64_t from = done_, until = done_ + ios;
        const Instant began = calendar_.now();
        latency.clear();
        while (done_ < until) {
            Event* const e = calendar_.pop(Instant::never());
            e->fire(*e);
        }
        return static_cast<double>(done_ - from) / (calendar_.now() - began).in_seconds();
    }
    Histogram latency;

private:
    Calendar& calendar_;
    BlockDevice& device_;
    DriveLoadOptions o_;
    Random random_;
    uint64_t done_ = 0, next_ = 0;
    uint32_t running_ = 0;
    bool stopping_ = false;

    Task<void> slot() {
        std::vector<std::byte> data(size_t{o_.blocks} * device_.geometry().payload);
        const uint64_t extents = device_.geometry().blocks / o_.blocks;
        while (!stopping_) {
            const uint64_t extent = o_.sequential ? next_++ % extents : random_.below(extents);
            const bool write = random_.uniform() < o_.write_share;
            const Instant began = calendar_.now();
            co_await device_.io(write ? Op::write : Op::read, Lba{extent * o_.blocks}, o_.blocks,
                                data.data());
            latency.record(calendar_.now() - began);
            done_++;
        }
    }
};

} // namespace storlab::test
