#include "models/cpu/thread.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include <algorithm>
#include <numeric>

namespace storlab {

Processor::Processor(Calendar& calendar, const ProcessorOptions& options, const PriceList& prices)
    : calendar_(calendar), options_(options), prices_(prices) {
    STORLAB_ENSURE(cores() > 0 && options.threads_per_core > 0);
}
Processor::~Processor() = default;

Thread& Processor::start_thread(const CpuSet& allowed) {
    CpuSet cpus = allowed;
    if (cpus.empty()) {
        cpus.resize(logical_cpus());
        std::iota(cpus.begin(), cpus.end(), 0u);
    }
    STORLAB_ENSURE(cpus.back() < logical_cpus());
    const auto set = std::find(sets_.begin(), sets_.end(), cpus);
    const auto number = static_cast<uint32_t>(set - sets_.begin());
    const auto of_set = std::count_if(threads_.begin(), threads_.end(),
                                      [&](const Thread& t) { return t.cpu_set_ == number; });
    const uint32_t socket = options_.socket_of(cpus[static_cast<size_t>(of_set) % cpus.size()]);
    if (set == sets_.end()) sets_.push_back(std::move(cpus));
    return threads_.emplace_back(*this, socket, number);
}

void Processor::seal() {
    const Partition parts = partition(sets_);
    std::vector<std::vector<Thread*>> groups(sets_.size());
    for (Thread& t : threads_) groups[parts.owner[t.cpu_set_]].push_back(&t);
    for (size_t i = 0; i < groups.size(); i++) {
        const CpuShare share = share_of(options_, parts.cpus[i]);
        if (groups[i].size() <= share.cores) continue;
        shared_.push_back(std::make_unique<SharedStation>(
            calendar_, [share](uint32_t n) { return share.capacity(n) / n; }, share.logical));
        for (Thread* t : groups[i]) t->shared_ = shared_.back().get();
    }
}

Duration Processor::busy() const {
    Duration sum;
    // A thread that waits for its slice is not on a CPU.
    for (const auto& s : shared_) sum += s->occupied();
    for (const Thread& t : threads_)
        if (!t.shared_) sum += t.busy();
    return sum;
}

bool Processor::idle() const {
    return std::all_of(threads_.begin(), threads_.end(), [](const Thread& t) {
        return !t.job_ && t.completions_.empty() && t.queue_.empty();
    });
}

Thread::Thread(Processor& processor, uint32_t socket, uint32_t cpu_set)
    : Cpu(processor.prices_, processor.ledger_), p_(processor), socket_(socket), cpu_set_(cpu_set),
      turn_(mix(processor.threads_.size())) {
    fire = [](Event& e) { static_cast<Thread&>(e).step(); };
}

Duration Thread::busy() const {
    const Instant now = p_.calendar_.now();
    return job_ && started_ < now ? busy_ + (now - started_) : busy_;
}

void Thread::run(Job& job) {
    if (job_) (job.urgency == Urgency::completion ? completions_ : queue_).push(job);
    else start(job);
}

void Thread::start(Job& job, Duration wake_up) {
    job_ = &job;
    locking_ = false;
    started_ = p_.calendar_.now() + wake_up;
    // Sharing sees the wake-up as part of the work; with a core of one's own it is only a delay.
    if (job.work.lock) {
        const Duration drawn = uneven(job.work.busy);
        p_.chance_ += drawn - job.work.busy;
        job.work.busy = drawn;
    }
    if (shared_) shared_->arrive(*this, wake_up + job.work.busy);
    else p_.calendar_.schedule(*this, started_ + job.work.busy);
}

// The same work never takes exactly as long twice: caches, other interrupts. Nothing depends on it
// but the order in which threads come to a lock, which would otherwise be the same for ever, with
// as many hand-overs between sockets as it happened to begin with.
Duration Thread::uneven(Duration work) {
    constexpr double spread = 0.2; // of the work, evenly around its mean
    turn_ += 0x9e3779b97f4a7c15ull;
    const double u = static_cast<double>(mix(turn_) >> 11) * 0x1p-53;
    return work.scaled(1 + spread * (u - 0.5));
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
        if (shared_) shared_->join();
        p_.calendar_.schedule(*this, released);
        return;
    }
    if (locking_) {
        if (shared_) shared_->leave();
        job.enter(Layer::host, now);
    }
    busy_ += now - started_;
    job_ = nullptr;
    job.work = {};
    take_next();
    p_.running_on_ = socket_;
    job.fire(job);
}

void Thread::take_next() {
    if (!completions_.empty()) return start(static_cast<Job&>(completions_.pop()));
    EventQueue& own = pool_ ? pool_->queue_ : queue_;
    if (!own.empty()) return start(static_cast<Job&>(own.pop()));
    if (!pool_) return;
    if (!pool_->deferred_.empty()) return start(static_cast<Job&>(pool_->deferred_.pop()));
    pool_->idle_.push_back(this);
}

WorkerPool::WorkerPool(Processor& processor, uint32_t workers, Duration wake_up,
                       const CpuSet& allowed)
    : Cpu(processor.prices_, processor.ledger_), wake_up_(wake_up), workers_(workers) {
    STORLAB_ENSURE(workers > 0);
    for (uint32_t i = 0; i < workers; i++) {
        Thread& t = processor.start_thread(allowed);
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
    if (idle_.empty()) return (job.urgency == Urgency::deferred ? deferred_ : queue_).push(job);
    Thread& t = *idle_.back();
    idle_.pop_back();
    t.start(job, wake_up_);
}

} // namespace storlab
