#include "python/simulator_thread.hpp"
#include <stdexcept>
#include <thread>

namespace storlab {

bool SimulatorJob::wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return done_; });
}

void SimulatorJob::work() {
    try {
        work_(stop_);
    } catch (...) { thrown_ = std::current_exception(); }
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
}

// Detached: it lives as long as the process, and waits when the process ends.
SimulatorThread::SimulatorThread() {
    std::thread([this] { run(); }).detach();
}

void SimulatorThread::add(std::shared_ptr<SimulatorJob> job) {
    const std::lock_guard lock(mutex_);
    if (closed_) throw std::runtime_error("the interpreter is ending: no run can begin");
    used_ = true;
    jobs_.push_back(std::move(job));
    changed_.notify_all();
}

void SimulatorThread::close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    jobs_.clear();
    if (current_) current_->stop();
    changed_.wait(lock, [&] { return !current_; });
}

void SimulatorThread::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return !jobs_.empty(); });
        current_ = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        current_->work();
        lock.lock();
        current_ = nullptr;
        changed_.notify_all();
    }
}

} // namespace storlab
