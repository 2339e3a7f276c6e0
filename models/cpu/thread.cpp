#include "models/cpu/thread.hpp"
#include "sim/base/error.hpp"

namespace storlab {

Processor::Processor(Calendar& calendar, const ProcessorOptions& options, const PriceList& prices)
    : calendar_(calendar), options_(options), prices_(prices) {
    STORLAB_ENSURE(cores() > 0 && options.threads_per_core > 0);
}
Processor::~Processor() = default;

Thread& Processor::start_thread() {
    const auto socket = static_cast<uint32_t>(threads_.size()) % options_.sockets;
    return threads_.emplace_back(*this, socket);
}

void Processor::seal() {
    if (threads_.size() <= cores()) return;
    const double c = cores(), logical = logical_cpus();
    const double doubled = options_.threads_per_core > 1 ? options_.smt_yield : 1;
    shared_ = std::make_unique<SharedStation>(
        calendar_,
        [=](uint32_t n) {
            if (n <= c) return 1.0;
            // n - c cores run two threads, the others one; beyond that all are full and time is
            // sliced
            const double capacity = n < logical ? (2 * c - n) + (n - c) * doubled : c * doubled;
            return capacity / n;
        },
        logical_cpus());
}

Duration Processor::busy() const {
    if (shared_) return shared_->occupied(); // a thread that waits for its slice is not on a CPU
    Duration sum;
    for (const Thread& t : threads_) sum += t.busy();
    return sum;
}

Thread::Thread(Processor& processor, uint32_t socket)
    : Cpu(processor.prices_, processor.ledger_), p_(processor), socket_(socket) {
    fire = [](Event& e) { static_cast<Thread&>(e).step(); };
}

Duration Thread::busy() const {
    const Instant now = p_.calendar_.now();
    return job_ && started_ < now ? busy_ + (now - started_) : busy_;
}

void Thread::run(Job& job) {
    if (job_) queue_.push(job);
    else start(job);
}

void Thread::start(Job& job, Duration wake_up) {
    job_ = &job;
    locking_ = false;
    started_ = p_.calendar_.now() + wake_up;
    // Sharing sees the wake-up as part of the work; with a core of one's own it is only a delay.
    if (p_.shared_) p_.shared_->arrive(*this, wake_up + job.work.busy);
    else p_.calendar_.schedule(*this, started_ + job.work.busy);
}

void Thread::step() {
    Job& job = *job_;
    const Instant now = p_.calendar_.now();
    if (job.work.lock && !locking_) {
        locking_ = true;
        job.enter(Layer::lock, now);
        const Instant released =
            job.work.lock->serve(now, job.work.hold, job.work.sections, socket_);
        const Duration spin = released - now - job.work.hold;
        spun_ += spin;
        note(Operation::lock_spin, spin);
        if (p_.shared_) p_.shared_->join();
        p_.calendar_.schedule(*this, released);
        return;
    }
    if (locking_) {
        if (p_.shared_) p_.shared_->leave();
        job.enter(Layer::host, now);
    }
    busy_ += now - started_;
    job_ = nullptr;
    job.work = {};
    take_next();
    job.fire(job);
}

void Thread::take_next() {
    EventQueue& own = pool_ ? pool_->queue_ : queue_;
    if (!own.empty()) return start(static_cast<Job&>(own.pop()));
    if (!pool_) return;
    if (!pool_->deferred_.empty()) return start(static_cast<Job&>(pool_->deferred_.pop()));
    pool_->idle_.push_back(this);
}

WorkerPool::WorkerPool(Processor& processor, uint32_t workers, Duration wake_up)
    : Cpu(processor.prices_, processor.ledger_), wake_up_(wake_up), workers_(workers) {
    STORLAB_ENSURE(workers > 0);
    for (uint32_t i = 0; i < workers; i++) {
        Thread& t = processor.start_thread();
        t.pool_ = this;
        all_.push_back(&t);
    }
    idle_.assign(all_.rbegin(), all_.rend());
}

Duration WorkerPool::working() const {
    Duration sum;
    for (const Thread* t : all_) sum += t->busy() - t->spun();
    return sum;
}

void WorkerPool::run(Job& job) {
    if (idle_.empty()) return (job.deferred ? deferred_ : queue_).push(job);
    Thread& t = *idle_.back();
    idle_.pop_back();
    t.start(job, wake_up_);
}

} // namespace storlab
