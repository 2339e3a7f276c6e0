// A loss of power in the middle of things. The first `sure` commands to the drives behind it are
// carried out. Of the later ones each is carried out or lost, at random; of a write of several
// blocks a part may be. Nobody gets an answer to what was lost, so that nothing happens which
// depends on it: what is on the drives when the world has come to rest is a state in which they may
// be found. Then switch_off() ends what still waits.
#pragma once
#include "sim/faults/faulty_device.hpp"
#include <memory>

namespace storlab::test {

struct PowerCut {
    uint64_t sure = ~uint64_t{0};
    uint32_t lands = 0; // percent of the later commands that are carried out all the same
    uint64_t seed = 1;
    bool off = false;
    std::vector<Request*> lost = {};
    std::unique_ptr<Random> random = {};

    uint64_t draw(uint64_t below) {
        if (!random) random = std::make_unique<Random>(seed, "power cut");
        return random->below(below);
    }
    void switch_off() {
        off = true;
        for (Request* const r : std::exchange(lost, {})) r->finish(IoStatus::no_device).resume();
    }
};

class CutDevice final : public DeviceFilter {
public:
    CutDevice(BlockDevice& inner, PowerCut& cut) : DeviceFilter(inner), cut_(cut) {}
    Handle submit(Request& r) override {
        r.device = this;
        if (cut_.off) return r.finish(IoStatus::no_device);
        if (cut_.sure > 0) {
            cut_.sure--;
            return run(r, whole(r));
        }
        if (cut_.draw(100) < cut_.lands) return run(r, whole(r));
        cut_.lost.push_back(&r);
        if (r.op == Op::write && r.blocks > 1 && cut_.draw(2) == 0)
            return part(r).detach(this, [](void*) { return nothing(); });
        return nothing();
    }

private:
    PowerCut& cut_;

    Task<IoStatus> whole(Request& r) { co_return co_await copy_of(r); }
    // One block of the write lands.
    Task<void> part(Request& r) {
        const uint64_t which = cut_.draw(r.blocks);
        std::byte* data = nullptr;
        for_each_segment(r, [&](uint32_t offset, std::byte* at, uint32_t blocks) {
            if (which >= offset && which < offset + blocks)
                data = at + (which - offset) * geometry().payload;
        });
        co_await inner_.write(r.lba + which, 1, data);
    }
};

// Which blocks of a drive commands touched.
class TouchedBlocks final : public DeviceFilter {
public:
    using DeviceFilter::DeviceFilter;
    Handle submit(Request& r) override {
        std::set<uint64_t>& touched = r.op == Op::write ? written : read;
        if (r.op != Op::flush)
            for (uint32_t b = 0; b < r.blocks; b++) touched.insert(r.lba.block + b);
        return inner_.submit(r);
    }
    std::set<uint64_t> read, written;
};

} // namespace storlab::test
