// The host's way to a local NVMe drive: block layer and driver charge the submitting context and
// ring the doorbell once it has paid. A command from a context that has paid already goes straight
// on.
//
// On a machine with several sockets the driver knows where a command's data is: in memory of the
// socket its submitting thread runs on, as first touch puts it. Memory of nobody's in particular
// (a stripe cache, what a RAID card asks for) is interleaved: commands take the sockets in turn.
#pragma once
#include "models/cpu/thread.hpp"
#include "sim/seam/block_device.hpp"
#include <vector>

namespace storlab {

class NvmeDriver final : public BlockDevice {
public:
    explicit NvmeDriver(BlockDevice& drive) : NvmeDriver(drive, {&drive}, nullptr) {}
    // by_socket: the drive for data in memory of each socket of the processor.
    NvmeDriver(BlockDevice& drive, std::vector<BlockDevice*> by_socket, const Processor* processor)
        : drive_(drive), by_socket_(std::move(by_socket)), processor_(processor) {}
    Geometry geometry() const override { return drive_.geometry(); }
    Handle submit(Request& r) override {
        if (!r.cpu) return next_in_turn().submit(r);
        r.device = this;
        r.cpu->owe(r.work, Operation::block_submit);
        r.cpu->owe(r.work, Operation::drive_submit);
        r.cpu->owe(r.work, Operation::drive_complete); // the interrupt will take the same CPU
        r.fire = [](Event& e) {
            auto& paid = static_cast<Request&>(e);
            static_cast<NvmeDriver&>(*paid.device).near_the_caller().submit(paid).resume();
        };
        expect_drive();
        r.cpu->run(r);
        return nothing();
    }

private:
    BlockDevice& drive_;
    const std::vector<BlockDevice*> by_socket_;
    const Processor* const processor_;
    size_t turn_ = 0;

    BlockDevice& near_the_caller() {
        return processor_ ? *by_socket_[processor_->running_on()] : *by_socket_[0];
    }
    BlockDevice& next_in_turn() {
        if (++turn_ >= by_socket_.size()) turn_ = 0;
        return *by_socket_[turn_];
    }

    // The doorbell is a core visit away; among a thousand drives this one is in no cache.
    void expect_drive() const {
        constexpr int hot_bytes = 384; // of an Ssd: links, controller, where dies and map are
        for (int i = 0; i < hot_bytes; i += 64)
            __builtin_prefetch(reinterpret_cast<const char*>(&drive_) + i);
    }
};

} // namespace storlab
