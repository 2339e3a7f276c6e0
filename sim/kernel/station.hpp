// FIFO stations whose completion date is known at arrival: no queue, no departure event.
// Each counts what it serves, so utilisation, throughput and mean queue follow without a second
// model.
#pragma once
#include "sim/base/time.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace storlab {

// What a station says about itself; the closed-form tests and the report are built from it.
struct StationCount {
    uint64_t served = 0;
    Duration busy;    // sum of service times
    Duration sojourn; // sum of waiting and service times
    StationCount operator-(const StationCount& o) const {
        return {served - o.served, busy - o.busy, sojourn - o.sojourn};
    }
};
struct StationDescription {
    std::string name, kind;
    uint32_t servers = 1;
    StationCount count;
};

class FifoStation { // one server, by Lindley's recursion: a link, a bus, a die, a controller
public:
    // The date at which a customer that arrives now leaves. Arrivals must come in order of date.
    Instant serve(Instant now, Duration service) {
        free_ = later(now, free_) + service;
        count_.served++;
        count_.busy += service;
        count_.sojourn += free_ - now;
        return free_;
    }
    // Work that nobody waits for: it delays those who come after it.
    void occupy(Instant now, Duration service) {
        free_ = later(now, free_) + service;
        count_.busy += service;
    }
    Instant free_at() const { return free_; }
    const StationCount& count() const { return count_; }
    // Without the service that lies ahead: a station is never busier than all of the time.
    StationCount count(Instant now) const {
        StationCount c = count_;
        c.busy -= later(now, free_) - now;
        return c;
    }

private:
    Instant free_;
    StationCount count_;
};

class MultiServerStation { // c servers, one queue (Kiefer-Wolfowitz): a heap of the dates they are
                           // free
public:
    explicit MultiServerStation(uint32_t servers) : free_(servers) {}
    Instant serve(Instant now, Duration service) {
        const Instant done = later(now, free_[0]) + service;
        const size_t n = free_.size();
        size_t i = 0;
        for (size_t c; (c = 2 * i + 1) < n; i = c) {
            c += c + 1 < n && free_[c + 1] < free_[c];
            if (free_[c] >= done) break;
            free_[i] = free_[c];
        }
        free_[i] = done;
        count_.served++;
        count_.busy += service;
        count_.sojourn += done - now;
        return done;
    }
    uint32_t servers() const { return static_cast<uint32_t>(free_.size()); }
    const StationCount& count() const { return count_; }

private:
    std::vector<Instant> free_;
    StationCount count_;
};

} // namespace storlab
