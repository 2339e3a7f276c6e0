// A volume of an array, a partition, a logical unit: a run of blocks of another device. The request
// itself goes on, moved; nothing sees its completion, so that it costs an addition. Its lba stays
// moved: a caller that wants it afterwards keeps it, as Raid and Multipath do.
// Left out: thin provisioning, volumes in several pieces, snapshots.
#pragma once
#include "sim/base/error.hpp"
#include "sim/seam/block_device.hpp"

namespace storlab {

class Volume final : public BlockDevice {
public:
    Volume(BlockDevice& inner, Lba first, uint64_t blocks)
        : inner_(inner), geometry_(inner.geometry()), first_(first) {
        STORLAB_ENSURE(first.block <= geometry_.blocks && blocks <= geometry_.blocks - first.block);
        geometry_.blocks = blocks;
    }
    Geometry geometry() const override { return geometry_; }
    // A transfer beyond the end fails, as a whole.
    Handle submit(Request& r) override {
        if (r.op == Op::flush) return inner_.submit(r);
        if (r.blocks > geometry_.blocks || r.lba.block > geometry_.blocks - r.blocks) {
            r.device = this;
            return r.finish(IoStatus::failed);
        }
        r.lba = r.lba + first_.block;
        return inner_.submit(r);
    }

private:
    BlockDevice& inner_;
    Geometry geometry_; // ours
    const Lba first_;
};

} // namespace storlab
