// Runs the jobs of a fio job file against volumes, as fio does: each clone is a thread with iodepth
// I/Os outstanding, which takes completions and issues what follows. Every read is checked against
// the volume's model disk.
// Left out: verify, trims, several files with weights; batching of submissions (fio's default is
// one).
#pragma once
#include "models/workload/fio/io_log.hpp"
#include "models/workload/fio/job_file.hpp"
#include "models/workload/fio/pattern.hpp"
#include "models/workload/model_disk.hpp"
#include "sim/seam/clock.hpp"
#include "sim/seam/probe.hpp"
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace storlab::fio {

struct Volume {
    BlockDevice* device;
    ModelDisk* model; // null: contents are not checked, and writes carry buffer_pattern, if given
    uint32_t log_file = 0; // its number in the log of requests
};

struct LoadOptions {
    std::string name;
    uint64_t seed = 1;
    // A job ends with its size, io_size, number_ios or runtime; otherwise it goes on until stopped.
    bool ends = false;
    // Open loop: I/Os of each clone arrive at rate_iops whether or not earlier ones are done, and
    // their latency counts from their arrival.
    bool open = false;
    IoLog* log = nullptr; // what is issued; null: not wanted
};

class Load {
public:
    // A context for each clone of each job; clone i of a job works on volume i modulo their number.
    using ThreadOf = std::function<Cpu&(uint32_t job, uint32_t clone)>;
    Load(Clock& clock, std::vector<Volume> volumes, std::vector<Job> jobs,
         const ThreadOf& thread_of, Probe& probe, const LoadOptions& options);
    ~Load();

    void start();
    void stop() { stopping_ = true; }                   // every slot ends with its present I/O
    bool idle() const { return running_ == sleeping_; } // nothing in flight
    // Called when the last slot has ended.
    void on_idle(std::function<void()> f) { on_idle_ = std::move(f); }
    int64_t depth() const { return depth_; }
    const std::vector<Job>& jobs() const { return jobs_; }
    uint64_t hash() const {
        return hash_;
    } // of (completion date, latency, offset, first data word)
    uint64_t issued() const { return issued_; }
    uint64_t completed() const { return completed_; }

private:
    struct Clone;
    struct Attempt;
    struct Pause;
    Clock& clock_;
    std::vector<Volume> volumes_;
    std::vector<Job> jobs_;
    Probe& probe_;
    LoadOptions o_;
    std::deque<Clone> clones_;
    std::function<void()> on_idle_;
    int64_t depth_ = 0;
    uint64_t running_ = 0, hash_ = 0, issued_ = 0, completed_ = 0;
    Pause* pauses_ = nullptr; // who waits for its time to go on; sleeping_ of them
    uint64_t sleeping_ = 0;
    bool stopping_ = false;
    uint32_t next_job_ = 0; // to begin; those with stonewall wait until all before have ended

    void begin_phase();
    Task<void> begin(uint32_t job);
    Task<void> slot(Clone& c);
    Task<void> arrivals(Clone& c);
    Task<void> one(Clone& c, Draw d, Instant arrived);
    Task<void> flush(Clone& c);
    void begin(Clone& c, Attempt& a, const Draw& d, Instant issued);
    static Io command(Clone& c, Attempt& a);
    static void submitted(Clone& c, Attempt& a, Io& io);
    static Charge reap(Clone& c, const Io& io);
    void end(Clone& c, Attempt& a, IoStatus status);
    void spawn(Task<void> task);
    void account(const IoRecord& io, const std::byte* data);
};

} // namespace storlab::fio
