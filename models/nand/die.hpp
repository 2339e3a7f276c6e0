// One NAND die: sensing, programming and erasing, of which it does one at a time. A read that finds
// a program or an erase under way suspends it; the interrupted operation ends that much later.
// Planes work together: a sense brings
// a page of each into the registers, where they stay until the die does something else: who wants
// the same pages next needs no sense. Left out: planes that read independently, limits on the
// number of suspensions.
#pragma once
#include "sim/base/time.hpp"
#include "sim/kernel/station.hpp"
#include <cstdint>

namespace storlab {

struct NandTiming {
    Duration read;    // tR, cell array to page register
    Duration program; // tPROG, one shot: all planes and all pages of a cell together
    Duration erase;   // tBERS, one block of every plane
    Duration suspend; // from the request to suspend until the die can sense, and back
};

class Die {
public:
    // The date at which the pages (by any number that tells them from the die's others) are in the
    // registers.
    Instant read(Instant now, const NandTiming& t, uint32_t pages) {
        if (pages == in_registers_) return later(now, sensing_until_);
        in_registers_ = pages;
        Instant start = later(now, sensing_until_);
        if (start < writing_until_) {
            const bool suspended = sensing_until_ > now; // reads in a row share one suspension
            Duration pause = t.read;
            if (!suspended) pause += t.suspend, start += t.suspend;
            writing_until_ += pause;
            postponed_ += pause;
        }
        sensing_until_ = start + t.read;
        count_.served++;
        count_.busy += t.read;
        count_.sojourn += sensing_until_ - now;
        return sensing_until_;
    }
    Instant program(Instant now, const NandTiming& t) { return write(now, t.program); }
    Instant erase(Instant now, const NandTiming& t) { return write(now, t.erase); }
    // By how much operations under way have been postponed so far: who waits for one compares this
    // with the value at its start.
    Duration postponed() const { return postponed_; }
    // Without what lies ahead, but for a suspension.
    StationCount count(Instant now) const {
        StationCount c = count_;
        c.busy -= later(now, later(sensing_until_, writing_until_)) - now;
        return c;
    }

private:
    static constexpr uint32_t none = ~0u;
    uint32_t in_registers_ = none;
    Instant sensing_until_, writing_until_;
    Duration postponed_;
    StationCount count_;

    Instant write(Instant now, Duration service) {
        in_registers_ = none;
        writing_until_ = later(later(now, writing_until_), sensing_until_) + service;
        count_.served++;
        count_.busy += service;
        count_.sojourn += writing_until_ - now;
        return writing_until_;
    }
};

} // namespace storlab
