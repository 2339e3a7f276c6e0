// The host's driver of a RAID card, beside what a submission costs its caller: threads of its own
// that hand commands to the card and take its answers. What they do for a request keeps cores busy;
// the time until they get to it is part of the card's rounds.
#pragma once
#include "models/cpu/thread.hpp"
#include "sim/seam/block_device.hpp"
#include <deque>

namespace storlab {

class CardDriver final : public BlockDevice {
public:
    CardDriver(BlockDevice& array, Processor& processor, uint32_t threads)
        : array_(array), threads_(processor, threads, Duration()) {}
    Geometry geometry() const override { return array_.geometry(); }
    Handle submit(Request& r) override {
        Chore& c = take();
        threads_.owe(c.work, Operation::card_driver);
        threads_.run(c);
        return array_.submit(r);
    }

private:
    struct Chore : Job {
        CardDriver* driver;
    };
    BlockDevice& array_;
    WorkerPool threads_;
    std::deque<Chore> chores_;
    EventQueue idle_;

    Chore& take() {
        if (!idle_.empty()) return static_cast<Chore&>(idle_.pop());
        Chore& c = chores_.emplace_back();
        c.driver = this;
        c.fire = [](Event& e) { static_cast<Chore&>(e).driver->idle_.push(e); };
        return c;
    }
};

} // namespace storlab
