#include "models/workload/fio/load.hpp"
#include "models/workload/fio/buffer_pattern.hpp"
#include "sim/base/error.hpp"
#include <algorithm>
#include <cmath>

namespace storlab::fio {

namespace {
// Beyond any run, and far from the end of the clock.
constexpr double longest_wait = 1e6; // seconds
constexpr Instant out_of_reach = Instant::at(Duration::s(1'000'000));
} // namespace

// One thread of a job.
struct Load::Clone {
    const Job& job;
    uint32_t job_index;
    Volume volume;
    Cpu& cpu;
    AddressPattern pattern;
    Random pacing;
    uint32_t block; // of the volume, bytes
    uint32_t payload;
    uint32_t largest; // blocks of the largest I/O
    int64_t bytes_left, ios_left;
    std::vector<std::byte> contents; // of every write; empty: the model's
    Instant ends_at = Instant::never();
    PerDirection<Instant> due{}; // the next issue that the rate allows
    Instant thinks_until{};
    int64_t since_thought = 0, writes_since_flush = 0;

    bool paced() const {
        return job.rate.read || job.rate.write || job.rate_iops.read || job.rate_iops.write ||
               job.thinktime > Duration{};
    }
    // Takes an I/O out of what is left to do.
    bool take(const Draw& d) {
        if (ios_left <= 0 || bytes_left < int64_t{d.bytes}) return false;
        ios_left--;
        bytes_left -= d.bytes;
        return true;
    }
    Duration interval(bool write, uint32_t bytes) {
        double seconds = 0;
        if (const auto& r = job.rate.of(write)) seconds = bytes / r->in_bytes_per_second();
        if (const auto& r = job.rate_iops.of(write))
            seconds = std::max(seconds, 1 / r->per_second());
        if (job.rate_process == RateProcess::poisson) seconds *= -std::log1p(-pacing.uniform());
        return Duration::seconds(std::min(seconds, longest_wait));
    }
    // An open load: the arrivals of both directions are one stream, each as many as its rate.
    double arrivals_per_second(bool write) const {
        const auto& rate = job.rate_iops.of(write);
        return rate && (write ? job.writes() : job.reads()) ? rate->per_second() : 0;
    }
    Duration arrival_gap() {
        double seconds = 1 / (arrivals_per_second(false) + arrivals_per_second(true));
        if (job.rate_process == RateProcess::poisson) seconds *= -std::log1p(-pacing.uniform());
        return Duration::seconds(std::min(seconds, longest_wait));
    }
    Draw arrival() {
        if (!pattern.mixed()) return pattern.next();
        const double reads = arrivals_per_second(false);
        return pattern.next(pacing.uniform() * (reads + arrivals_per_second(true)) >= reads);
    }
    // fio: of a mix, a direction that is ahead of its rate lets the other one go first.
    void take_turns(Draw& d, Instant now) {
        if (pattern.mixed() && due.of(d.write) > later(now, due.of(!d.write)))
            d = pattern.next(!d.write);
    }
    // When this I/O may go. A job that fell behind its rate catches up.
    Instant slot_for(const Draw& d, Instant now) {
        Instant at = now;
        if (const Duration gap = interval(d.write, d.bytes); gap > Duration{}) {
            Instant& next = due.of(d.write);
            at = later(now, next);
            if (next < out_of_reach) next = next + gap;
        }
        return later(at, thinks_until);
    }
    void thought(Instant now) {
        if (job.thinktime == Duration{}) return;
        if (++since_thought < job.thinktime_blocks.value_or(1)) return;
        since_thought = 0;
        thinks_until = now + job.thinktime;
    }
};

namespace {
Random stream(const LoadOptions& o, const Job& job, uint32_t job_index, uint32_t clone,
              const char* what) {
    // fio: without randrepeat every run differs; here every seed does, and randseed adds its own.
    const uint64_t seed = o.seed + job.randseed.value_or(0) * 0x9e3779b97f4a7c15ull;
    return Random(seed, o.name + "/" + std::to_string(job_index) + "/" + std::to_string(clone) +
                            "/" + what);
}
int64_t bytes_to_do(const LoadOptions& o, const Job& job, Bytes region) {
    if (!o.ends || job.time_based) return INT64_MAX;
    return (job.io_size ? job.io_size->of(region) : region).count();
}
} // namespace

Load::Load(Clock& clock, std::vector<Volume> volumes, std::vector<Job> jobs,
           const ThreadOf& thread_of, Probe& probe, const LoadOptions& options)
    : clock_(clock), volumes_(std::move(volumes)), jobs_(std::move(jobs)), probe_(probe),
      o_(options) {
    STORLAB_ENSURE(!volumes_.empty());
    for (uint32_t j = 0; j < jobs_.size(); j++) {
        const Job& job = jobs_[j];
        depth_ += effective_depth(job).total;
        for (uint32_t i = 0; i < job.numjobs; i++) {
            const Volume& v = volumes_[i % volumes_.size()];
            const Geometry g = v.device->geometry();
            const Bytes size = g.block * static_cast<int64_t>(g.blocks);
            AddressPattern pattern(job, i, size, stream(o_, job, j, i, "addresses"));
            const int64_t to_do = bytes_to_do(o_, job, pattern.region().length);
            const int64_t largest =
                std::max(job.block.read.largest().count(), job.block.write.largest().count());
            clones_.push_back({job, j, v, thread_of(j, i), std::move(pattern),
                               stream(o_, job, j, i, "pacing"),
                               static_cast<uint32_t>(g.block.count()), g.payload,
                               static_cast<uint32_t>(largest / g.block.count()), to_do,
                               o_.ends && job.number_ios > 0 ? job.number_ios : INT64_MAX,
                               v.model || job.buffer_pattern.empty()
                                   ? std::vector<std::byte>{}
                                   : pattern_bytes(job.buffer_pattern, job.place)});
        }
    }
}

// A sleep that may well outlast the load: then its coroutine ends with the load.
struct Load::Pause : SleepUntil {
    Load& load;
    Pause *before = nullptr, *after = nullptr;
    Pause(Load& l, Instant t) : SleepUntil(l.clock_, t), load(l) {}
    void await_suspend(Handle h) {
        after = load.pauses_;
        if (after) after->before = this;
        load.pauses_ = this;
        load.sleeping_++;
        SleepUntil::await_suspend(h);
    }
    void await_resume() {
        if (waiter) leave();
    }
    void leave() {
        (before ? before->after : load.pauses_) = after;
        if (after) after->before = before;
        load.sleeping_--;
    }
};
Load::~Load() {
    while (Pause* const p = pauses_) {
        p->leave();
        p->waiter.destroy();
    }
}

void Load::spawn(Task<void> task) {
    running_++;
    std::move(task)
        .detach(this,
                [](void* c) {
                    auto& l = *static_cast<Load*>(c);
                    if (--l.running_ > 0) return nothing();
                    if (!l.stopping_ && l.next_job_ < l.jobs_.size()) l.begin_phase();
                    else if (l.on_idle_) l.on_idle_();
                    return nothing();
                })
        .resume();
}

void Load::start() { begin_phase(); }
void Load::begin_phase() {
    running_++; // not idle before all have begun
    do spawn(begin(next_job_++));
    while (next_job_ < jobs_.size() && !jobs_[next_job_].stonewall);
    running_--;
}

Task<void> Load::begin(uint32_t j) {
    const Job& job = jobs_[j];
    if (job.startdelay > Duration{}) co_await Pause(*this, clock_.now() + job.startdelay);
    for (Clone& c : clones_) {
        if (c.job_index != j || stopping_) continue;
        const Instant now = clock_.now();
        c.due = {now, now};
        if (o_.ends && job.runtime && *job.runtime < out_of_reach - now)
            c.ends_at = now + *job.runtime + job.ramp_time;
        if (o_.open) {
            spawn(arrivals(c));
            continue;
        }
        const int64_t depth = effective_depth(job).per_clone;
        for (int64_t i = 0; i < depth; i++) spawn(slot(c));
    }
}

// An I/O of a slot: its memory, its span and what the model disk knew when it was issued.
struct Load::Attempt {
    std::vector<std::byte> data;
    ModelDisk::ReadMark mark;
    Span span;
    Draw draw;
    Instant issued;
    uint64_t block = 0;
    uint32_t blocks = 0;
};

void Load::begin(Clone& c, Attempt& a, const Draw& d, Instant issued) {
    a.draw = d;
    a.issued = issued;
    a.block = d.offset_bytes / c.block;
    a.blocks = d.bytes / c.block;
    if (ModelDisk* const model = c.volume.model) {
        if (d.write) model->begin_write(a.block, a.blocks, a.data.data());
        else model->begin_read(a.block, a.blocks, a.mark);
    } else if (d.write && !c.contents.empty())
        repeat_pattern(c.contents, {a.data.data(), size_t{a.blocks} * c.payload});
    if (o_.log)
        o_.log->issued(c.volume.log_file, d.write ? Op::write : Op::read, d.offset_bytes, d.bytes);
    issued_++;
    probe_.issued(issued);
    a.span.open(issued);
}
Io Load::command(Clone& c, Attempt& a) {
    return {c.volume.device, a.draw.write ? Op::write : Op::read, Lba{a.block}, a.blocks,
            a.data.data()};
}
void Load::submitted(Clone& c, Attempt& a, Io& io) {
    io.cpu = &c.cpu;
    io.span = &a.span;
    c.cpu.owe(io.work, Operation::load_submit);
}
// What no device let the submission pay for is paid now.
Charge Load::reap(Clone& c, const Io& io) {
    Work work = io.work;
    c.cpu.owe(work, Operation::load_reap);
    Charge reaping = charge(c.cpu, work);
    reaping.urgency = Urgency::completion;
    return reaping;
}
void Load::end(Clone& c, Attempt& a, IoStatus status) {
    const Instant now = clock_.now();
    a.span.close(now);
    const bool ok = status == IoStatus::ok;
    if (ModelDisk* const model = c.volume.model) {
        if (a.draw.write) model->end_write(a.block, a.blocks, a.data.data(), ok);
        else if (ok) model->end_read(a.block, a.blocks, a.data.data(), a.mark);
    }
    account({c.job_index, a.draw.write ? Op::write : Op::read, status, a.draw.bytes,
             a.draw.offset_bytes, a.issued, now, &a.span},
            a.data.data());
}

// One of a clone's iodepth slots. The next address is drawn one core visit before it is used, so
// that its entry in the model disk is on its way by then.
Task<void> Load::slot(Clone& c) {
    Attempt a;
    a.data.resize(size_t{c.largest} * c.payload);
    const ModelDisk* const model = c.volume.model;
    Draw d = c.pattern.next();
    const bool paced = c.paced(), flushes = c.job.fsync || c.job.fdatasync;
    while (!stopping_ && clock_.now() < c.ends_at) {
        if (paced) c.take_turns(d, clock_.now());
        if (!c.take(d)) break;
        if (paced) {
            co_await Pause(*this, c.slot_for(d, clock_.now()));
            if (stopping_) break;
        }
        begin(c, a, d, clock_.now());
        Io io = command(c, a);
        submitted(c, a, io);
        const IoStatus status = co_await io;
        if (model) model->expect(a.block);
        d = c.pattern.next();
        if (model) model->expect(d.offset_bytes / c.block);
        co_await reap(c, io);
        end(c, a, status);
        c.thought(clock_.now());
        if (flushes && a.draw.write) co_await flush(c);
    }
}

// Open loop: arrivals do not wait for anybody.
Task<void> Load::arrivals(Clone& c) {
    Instant at = clock_.now();
    while (!stopping_ && at < c.ends_at) {
        const Draw d = c.arrival();
        at += c.arrival_gap();
        co_await Pause(*this, at);
        if (stopping_ || !c.take(d)) break;
        spawn(one(c, d, at));
    }
}
Task<void> Load::one(Clone& c, Draw d, Instant arrived) {
    Attempt a;
    a.data.resize(size_t{d.bytes / c.block} * c.payload);
    begin(c, a, d, arrived);
    Io io = command(c, a);
    submitted(c, a, io);
    const IoStatus status = co_await io;
    co_await reap(c, io);
    end(c, a, status);
}

Task<void> Load::flush(Clone& c) {
    const int64_t every = c.job.fsync ? c.job.fsync : c.job.fdatasync;
    if (++c.writes_since_flush < every) co_return;
    c.writes_since_flush = 0;
    const Instant issued = clock_.now();
    Io io = c.volume.device->io(Op::flush, Lba{0}, 1, nullptr);
    io.cpu = &c.cpu;
    c.cpu.owe(io.work, Operation::load_submit);
    if (o_.log) o_.log->issued(c.volume.log_file, Op::flush, 0, 0);
    issued_++;
    probe_.issued(issued);
    const IoStatus status = co_await io;
    if (io.work.owed()) co_await charge(c.cpu, io.work);
    account({c.job_index, Op::flush, status, 0, 0, issued, clock_.now(), nullptr}, nullptr);
}

void Load::account(const IoRecord& io, const std::byte* data) {
    completed_++;
    uint64_t word = 0;
    if (data) std::memcpy(&word, data, 8);
    const auto now = static_cast<uint64_t>(io.completed.since_start().count_ps());
    const auto latency = static_cast<uint64_t>((io.completed - io.issued).count_ps());
    hash_ += mix(now ^ io.offset << 24) ^ mix(latency ^ word);
    probe_.completed(io);
}

} // namespace storlab::fio
