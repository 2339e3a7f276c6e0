// Threads of one machine. A thread is a serial context: it executes its jobs one after another and
// keeps its core while it spins for a lock (simultaneous possession: a model that lets the caller
// go gets the right IOPS and the wrong CPU).
//
// Threads may be held to a set of CPUs. With no more threads than cores in their set every thread
// has a core of its own; otherwise the cores are shared, two threads of a core yielding together
// `smt_yield` of one. Left out: what threads of one set cost those of another on the same core.
#pragma once
#include "models/cpu/cpu_set.hpp"
#include "models/cpu/spin_lock.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/kernel/shared_station.hpp"
#include "sim/seam/cpu.hpp"
#include <deque>
#include <memory>
#include <string>

namespace storlab {

class Thread;
class WorkerPool;

class Processor {
public:
    Processor(Calendar& calendar, const ProcessorOptions& options, const PriceList& prices);
    ~Processor();
    // A new thread, on any of these CPUs; threads are spread over the sockets in turn, as the
    // scheduler does.
    Thread& start_thread(const CpuSet& allowed = {});
    // All threads are known: decides whether cores are shared. To be called before the first job.
    void seal();

    uint32_t logical_cpus() const { return options_.logical_cpus(); }
    uint32_t cores() const { return options_.cores(); }
    uint32_t sockets() const { return options_.sockets; }
    // Of the thread whose job has just been executed; to be asked from that job's fire.
    uint32_t running_on() const { return running_on_; }
    Duration busy() const; // of all logical CPUs, spinning included
    bool idle() const;     // no thread has anything to do
    const Ledger& ledger() const { return ledger_; }
    // What cores were asked for beyond the ledger, by chance; may be less than nothing.
    Duration chance() const { return chance_; }

private:
    friend class Thread;
    friend class WorkerPool;
    Calendar& calendar_;
    ProcessorOptions options_;
    PriceList prices_;
    Ledger ledger_{};
    Duration chance_;
    uint32_t running_on_ = 0;
    std::deque<Thread> threads_;
    std::vector<CpuSet> sets_; // that threads are held to, each once
    std::vector<std::unique_ptr<SharedStation>> shared_;
};

class Thread final : public Cpu, Event {
public:
    Thread(Processor& processor, uint32_t socket, uint32_t cpu_set);
    void run(Job& job) override;
    Duration busy() const;                  // on its core, spinning included
    Duration spun() const { return spun_; } // of which waiting for a lock
    uint32_t socket() const { return socket_; }

private:
    friend class Processor;
    friend class WorkerPool;
    Processor& p_;
    SharedStation* shared_ = nullptr; // null: a core of its own
    uint32_t socket_, cpu_set_;
    uint64_t turn_; // of uneven()
    EventQueue completions_, queue_;
    Job* job_ = nullptr;
    bool locking_ = false;
    Instant started_;
    Duration busy_, spun_;
    WorkerPool* pool_ = nullptr;

    void start(Job& job, Duration wake_up = {});
    Duration uneven(Duration work);
    void step();
    void take_next();
};

// Workers that take jobs from one queue, deferred jobs last; an idle one needs its wake-up time.
class WorkerPool final : public Cpu {
public:
    WorkerPool(Processor& processor, uint32_t workers, Duration wake_up,
               const CpuSet& allowed = {});
    void run(Job& job) override;
    uint32_t workers() const { return workers_; }
    Duration working() const; // of all of them, without spinning

private:
    friend class Thread;
    Duration wake_up_;
    uint32_t workers_;
    std::vector<Thread*> idle_, all_;
    EventQueue queue_, deferred_;
};

} // namespace storlab
