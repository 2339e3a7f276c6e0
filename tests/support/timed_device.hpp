// A device and a core for tests in which only the dates of answers matter.
#pragma once
#include "sim/kernel/calendar.hpp"
#include "sim/seam/block_device.hpp"
#include <functional>

namespace storlab::test {

// Answers when it is told to; holds nothing.
class TimedDevice final : public BlockDevice {
public:
    using Answer = std::function<Instant(Instant now)>;
    TimedDevice(Calendar& calendar, Answer answer)
        : calendar_(calendar), answer_(std::move(answer)) {}
    Geometry geometry() const override { return {1 << 20, Bytes(4096), 16}; }
    Handle submit(Request& r) override {
        r.fire = [](Event& e) { static_cast<Request&>(e).finish(IoStatus::ok).resume(); };
        r.phase = Phase::completion;
        calendar_.wake(r, answer_(calendar_.now()));
        return nothing();
    }

private:
    Calendar& calendar_;
    Answer answer_;
};

class FreeCore final : public Cpu { // takes no time
public:
    explicit FreeCore(Calendar& calendar) : Cpu(free_, ledger_), calendar_(calendar) {}
    void run(Job& job) override {
        job.work = {};
        calendar_.wake(job, calendar_.now());
    }

private:
    static inline const PriceList free_{};
    Ledger ledger_{};
    Calendar& calendar_;
};

} // namespace storlab::test
