// The one thread of the process that simulates. SimGrid has one engine a process, and the engine's
// actors run on the thread that made it; Python may ask from any thread. Jobs are done one after
// the other, in the order they came. No job touches Python: it has neither the interpreter's lock
// nor a Python frame on a stack that SimGrid switches.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

namespace storlab {

// Something to do, and whether it has been asked to stop.
class SimulatorJob {
public:
    explicit SimulatorJob(std::function<void(const std::atomic<bool>& stop)> work)
        : work_(std::move(work)) {}
    void stop() { stop_ = true; }
    bool wait_for(std::chrono::milliseconds time); // whether it is done
    void rethrow() const {                         // what the work threw
        if (thrown_) std::rethrow_exception(thrown_);
    }

private:
    friend class SimulatorThread;
    void work();

    std::function<void(const std::atomic<bool>& stop)> work_;
    std::atomic<bool> stop_{false};
    std::exception_ptr thrown_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
};

class SimulatorThread {
public:
    SimulatorThread();
    void add(std::shared_ptr<SimulatorJob> job);
    // The process ends: asks what runs to stop, waits for it, and begins nothing more.
    void close();
    bool used() const { return used_; }

private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<SimulatorJob>> jobs_;
    std::shared_ptr<SimulatorJob> current_;
    bool closed_ = false;
    std::atomic<bool> used_{false};
};

} // namespace storlab
