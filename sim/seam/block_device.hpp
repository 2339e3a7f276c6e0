// The data seam. A command is an awaiter in its caller's frame, and that awaiter is also the
// request and the calendar's node: a layer without a loop of its own needs neither frame nor
// allocation. submit() and done() return the coroutine to resume next, so completions never nest on
// the stack.
//
// A block is the device's unit of address. It carries geometry().payload bytes: all of the block in
// the real world, a sketch of it in the simulated one; real code never asks which.
#pragma once
#include "sim/seam/cpu.hpp"
#include <cstring>

namespace storlab {

// no_path: the command did not get there, or its answer did not come back; the device may be well
// and another path to it may work.
enum class IoStatus : uint8_t { ok, failed, no_device, no_path };
constexpr IoStatus worst(IoStatus a, IoStatus b) { return a < b ? b : a; }
enum class Op : uint8_t { read, write, flush };

struct Geometry {
    uint64_t blocks = 0;
    Bytes block;          // logical size: what time and CPU are charged for
    uint32_t payload = 0; // bytes carried for a block
};

// Blocks that are neighbours on the device need not be neighbours in memory.
struct Segment {
    std::byte* at;
    uint32_t blocks;
};

struct BlockDevice;

// One command. Whoever finishes it calls finish(), exactly once. Whoever is working on it may use
// fire, next, device and step; owner and done belong to the submitter.
struct Request : Job {
    Op op;
    IoStatus status = IoStatus::ok;
    uint16_t step = 0; // the device's own
    uint32_t blocks;
    uint32_t segment_count = 1;
    Lba lba;
    Segment whole;                 // the one segment, when there is one
    const Segment* list = nullptr; // otherwise
    BlockDevice* device;
    Handle (*done)(Request&) = nullptr;
    void* owner = nullptr;
    Cpu* cpu = nullptr;           // the context that submits; null: already paid for
    struct {                      // a layer that forwards the request itself, and must see its
        Handle (*done)(Request&); // completion, keeps here what it replaced; one layer at a time
        BlockDevice* device;
        Lba lba;
    } saved = {nullptr, nullptr, {}};

    Request(BlockDevice* d, Op o, Lba l, uint32_t n, std::byte* data)
        : op(o), blocks(n), lba(l), whole{data, n}, device(d) {}
    Request(BlockDevice* d, Op o, Lba l, uint32_t n, const Segment* segments, uint32_t count)
        : op(o), blocks(n), segment_count(count), lba(l), whole{nullptr, 0}, list(segments),
          device(d) {}

    const Segment* segments() const { return list ? list : &whole; }
    Handle finish(IoStatus s) {
        status = s;
        return done(*this);
    }
};

struct Io : Request { // co_await device.read(...)
    using Request::Request;
    bool await_ready() const { return false; }
    inline Handle await_suspend(Handle waiter);
    IoStatus await_resume() const { return status; }
};

struct BlockDevice {
    virtual ~BlockDevice() = default;
    virtual Geometry geometry() const = 0;
    virtual Handle submit(Request& request) = 0;
    Io io(Op op, Lba lba, uint32_t blocks, std::byte* data) {
        return {this, op, lba, blocks, data};
    }
    Io read(Lba lba, uint32_t blocks, std::byte* into) { return io(Op::read, lba, blocks, into); }
    Io write(Lba lba, uint32_t blocks, std::byte* from) { return io(Op::write, lba, blocks, from); }
};

inline Handle Io::await_suspend(Handle waiter) {
    owner = waiter.address();
    done = [](Request& r) { return Handle::from_address(r.owner); };
    return device->submit(*this);
}

// co_await all(ios): all at once, resumed after the last. Statuses stay in the ios.
struct All {
    Io* first;
    uint32_t n, left = 0;
    Handle waiter{};
    bool await_ready() const { return n == 0; }
    Handle await_suspend(Handle h) {
        waiter = h;
        left = n;
        Io* const ios = first;
        for (uint32_t i = 0, last = n - 1;; i++) {
            ios[i].owner = this;
            ios[i].done = [](Request& r) {
                All& a = *static_cast<All*>(r.owner);
                return --a.left ? nothing() : a.waiter;
            };
            const Handle next = ios[i].device->submit(ios[i]);
            if (i == last) return next; // this awaiter may be gone by now: only locals from here
            next.resume();
        }
    }
    IoStatus await_resume() const {
        IoStatus s = IoStatus::ok;
        for (uint32_t i = 0; i < n; i++) s = worst(s, first[i].status);
        return s;
    }
};
inline All all(Io* first, uint32_t n) { return {first, n}; }

// Walks a request's segments: f(block offset in the request, bytes at, blocks).
template <class F> void for_each_segment(const Request& r, F&& f) {
    const Segment* s = r.segments();
    uint32_t offset = 0;
    for (uint32_t i = 0; i < r.segment_count; offset += s[i].blocks, i++)
        f(offset, s[i].at, s[i].blocks);
}

} // namespace storlab
