// A device that answers after a fixed time and copies data when it answers, as DMA does.
#pragma once
#include "sim/kernel/calendar.hpp"
#include "sim/kernel/store.hpp"

namespace storlab::testing {

class SlowDevice final : public BlockDevice {
public:
    SlowDevice(Calendar& calendar, Duration latency)
        : calendar_(calendar), latency_(latency), store_(blocks, payload) {}
    Geometry geometry() const override { return {blocks, Bytes(4096), payload}; }
    Handle submit(Request& r) override {
        submitted++;
        r.device = this;
        r.fire = [](Event& e) {
            auto& request = static_cast<Request&>(e);
            auto& d = static_cast<SlowDevice&>(*request.device);
            d.answered++;
            if (request.op == Op::read) d.store_.read(request);
            if (request.op == Op::write) d.store_.write(request);
            request.finish(IoStatus::ok).resume();
        };
        calendar_.schedule(r, calendar_.now() + latency_);
        return nothing();
    }
    std::byte* contents(uint64_t block) { return store_.at(Lba{block}); }
    uint64_t submitted = 0, answered = 0;

private:
    static constexpr uint64_t blocks = 64;
    static constexpr uint32_t payload = 16;
    Calendar& calendar_;
    Duration latency_;
    Store store_;
};

} // namespace storlab::testing
