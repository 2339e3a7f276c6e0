// The host's way to a local NVMe drive: block layer and driver charge the submitting context and
// ring the doorbell once it has paid. A command from a context that has paid already goes straight
// on.
#pragma once
#include "sim/seam/block_device.hpp"

namespace storlab {

class NvmeDriver final : public BlockDevice {
public:
    explicit NvmeDriver(BlockDevice& drive) : drive_(drive) {}
    Geometry geometry() const override { return drive_.geometry(); }
    Handle submit(Request& r) override {
        if (!r.cpu) return drive_.submit(r);
        r.device = this;
        r.cpu->owe(r.work, Operation::block_submit);
        r.cpu->owe(r.work, Operation::drive_submit);
        r.cpu->owe(r.work, Operation::drive_complete); // the interrupt will take the same CPU
        r.fire = [](Event& e) {
            auto& paid = static_cast<Request&>(e);
            static_cast<NvmeDriver&>(*paid.device).drive_.submit(paid).resume();
        };
        expect_drive();
        r.cpu->run(r);
        return nothing();
    }

private:
    BlockDevice& drive_;

    // The doorbell is a core visit away; among a thousand drives this one is in no cache.
    void expect_drive() const {
        constexpr int hot_bytes = 384; // of an Ssd: links, controller, where dies and map are
        for (int i = 0; i < hot_bytes; i += 64)
            __builtin_prefetch(reinterpret_cast<const char*>(&drive_) + i);
    }
};

} // namespace storlab
