// A drive without a model of its time: every command takes effect at a random moment and is
// answered at a later one, so that commands overtake each other in all ways a drive allows.
// Whatever holds over it does not lean on an order of completion.
#pragma once
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/seam/block_device.hpp"
#include "sim/seam/clock.hpp"
#include <string>
#include <vector>

namespace storlab::test {

class MemoryDevice final : public BlockDevice {
public:
    struct Options {
        uint64_t blocks;
        uint32_t payload = 16;
        uint64_t seed = 1;
        std::string name = "drive";
    };
    MemoryDevice(Clock& clock, const Options& o)
        : clock_(clock), o_(o), random_(o.seed, o.name), bytes_(o.blocks * o.payload) {}

    Geometry geometry() const override { return {o_.blocks, Bytes(4096), o_.payload}; }
    Handle submit(Request& r) override {
        r.device = this;
        if (r.op != Op::flush) STORLAB_ENSURE(r.blocks > 0 && r.lba.block + r.blocks <= o_.blocks);
        commands_++;
        r.fire = take_effect;
        clock_.wake(r, clock_.now() + some_time());
        return nothing();
    }
    void fail() { failed_ = true; }
    std::byte* peek(uint64_t block) { return bytes_.data() + block * o_.payload; }
    uint64_t commands() const { return commands_; }

private:
    Clock& clock_;
    Options o_;
    Random random_;
    std::vector<std::byte> bytes_;
    uint64_t commands_ = 0;
    bool failed_ = false;

    Duration some_time() { return Duration::ns(static_cast<int64_t>(1 + random_.below(50'000))); }
    static void take_effect(Event& e) {
        auto& r = static_cast<Request&>(e);
        auto& d = static_cast<MemoryDevice&>(*r.device);
        if (!d.failed_ && r.op != Op::flush) d.copy(r);
        r.fire = answer;
        d.clock_.wake(r, d.clock_.now() + d.some_time());
    }
    static void answer(Event& e) {
        auto& r = static_cast<Request&>(e);
        const bool gone = static_cast<MemoryDevice&>(*r.device).failed_;
        r.finish(gone ? IoStatus::no_device : IoStatus::ok).resume();
    }
    void copy(const Request& r) {
        for_each_segment(r, [&](uint32_t offset, std::byte* at, uint32_t blocks) {
            std::byte* const here = peek(r.lba.block + offset);
            const size_t bytes = size_t{blocks} * o_.payload;
            if (r.op == Op::read) std::memcpy(at, here, bytes);
            else std::memcpy(here, at, bytes);
        });
    }
};

} // namespace storlab::test
