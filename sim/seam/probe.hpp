// What a load tells about its I/Os while it runs.
#pragma once
#include "sim/seam/block_device.hpp"

namespace storlab {

struct IoRecord {
    uint32_t job; // of the load's jobs
    Op op;
    IoStatus status;
    uint32_t bytes;
    uint64_t offset; // bytes from the start of the volume
    Instant issued, completed;
    const Span* span;
};

struct Probe {
    virtual ~Probe() = default;
    virtual void issued(Instant now) = 0;
    virtual void completed(const IoRecord& io) = 0;
};

} // namespace storlab
