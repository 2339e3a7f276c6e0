#include "sim/scenario/run.hpp"
#include "models/workload/fio/load.hpp"
#include "sim/base/text.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/real/real_world.hpp"
#include "sim/report/write_file.hpp"
#include "sim/scenario/build.hpp"
#include "sim/scenario/conductor.hpp"
#include "sim/scenario/findings.hpp"
#include "sim/scenario/real_hosts.hpp"
#include "sim/scenario/repair_shop.hpp"
#include "sim/scenario/testbed.hpp"
#include "sim/scenario/wiring.hpp"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace storlab {

namespace {
// What stands for what in the real world's fabric.
void add_travel(RunResult& r, const Scenario& s) {
    for (const ArraySchema& a : s.arrays)
        if (a.exported)
            r.assumptions.push_back({a.name + "/export",
                                     is_nvme(a.exported->protocol) ? "NVMe/TCP" : "iSCSI",
                                     "assumed",
                                     "in the real world it travels over loopback sockets, between "
                                     "processes",
                                     {}});
}

double process_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// One run, from objects to answer.
class Run {
public:
    Run(const Scenario& s, const RunControl& c, Testbed& bed, Stage& stage,
        const Calendar* calendar)
        : s_(s), control_(c), bed_(bed), stage_(stage), calendar_(calendar), shop_(s, bed, stage) {
        for (const LoadSchema& l : s.loads)
            observers_.push_back(std::make_unique<LoadObserver>(l, Duration{}));
        for (size_t i = 0; i < s.loads.size(); i++) {
            check_buffers(s.loads[i]);
            for (size_t n = 0; n < s.loads[i].from.size(); n++) build_load(i, n);
        }
        bed.seal();
        check_overlap();
    }
    RunResult go(RunCost* cost);

private:
    const Scenario& s_;
    const RunControl& control_;
    Testbed& bed_;
    Stage& stage_;
    const Calendar* calendar_;
    RepairShop shop_;
    std::vector<std::unique_ptr<LoadObserver>> observers_;
    std::vector<std::unique_ptr<fio::Load>> loads_;
    std::vector<StationDescription> stations_from_;
    std::vector<CpuUse> cpus_from_;
    std::vector<std::string> phase_ends_;
    Instant phase_from_;
    bool measuring_ = false;
    fio::IoLog log_;

    void build_load(size_t i, size_t machine);
    void check_buffers(const LoadSchema& l) const;
    void limit_open_loads(Conductor& conductor);
    void begin_phases();
    void end_phase(const std::string& event);
    void check_overlap() const;
    void snapshot(double& cpu, uint64_t& events, uint64_t& ios, uint64_t& frames) const;
    Instant horizon() const;
    Duration fixed_length() const;
    void add_full_length(RunResult& r, Duration measured) const;
    void fill(RunResult& r, const Conductor& c, Duration measured);
    uint64_t trace_hash() const;
};

// The jobs of a load on one of its machines.
void Run::build_load(size_t i, size_t n) {
    const LoadSchema& l = s_.loads[i];
    const std::string& machine = l.from[n];
    std::vector<fio::Volume> volumes;
    for (const std::string& name : share_of(l, n)) {
        const uint32_t file = control_.iolog.empty() ? 0 : log_.add_file(name);
        volumes.push_back({&bed_.reach(l, machine, name), bed_.model(name), file});
    }
    fio::LoadOptions o;
    o.name = l.from.size() == 1 ? l.name : l.name + "@" + machine;
    o.seed = s_.run.seed;
    o.ends = s_.run.until == Until::load;
    o.open = l.open;
    if (!control_.iolog.empty()) o.log = &log_;
    const Geometry g = volumes.front().device->geometry();
    std::vector<fio::Job> jobs;
    for (const fio::Job& j : l.jobs)
        jobs.push_back(fio::at_scale(j, static_cast<int64_t>(bed_.slice().scale),
                                     g.block * static_cast<int64_t>(g.blocks)));
    loads_.push_back(std::make_unique<fio::Load>(
        bed_.clock(), std::move(volumes), std::move(jobs),
        [&](uint32_t job, uint32_t) -> Cpu& {
            const std::vector<int>& allowed = l.jobs[job].cpus_allowed;
            return bed_.new_thread(machine, l.name, {allowed.begin(), allowed.end()});
        },
        *observers_[i], o));
}

void Run::check_buffers(const LoadSchema& l) const {
    constexpr int64_t most_ios = 1 << 18;
    constexpr double most_bytes = 2e9, most_blocks = 4 << 20;
    int64_t ios = 0;
    double bytes = 0, blocks = 0;
    const Geometry g = bed_.target(l.to.front()).geometry();
    for (const fio::Job& j : l.jobs) {
        const int64_t n = fio::effective_depth(j).total;
        const Bytes largest = std::max(j.block.read.largest(), j.block.write.largest());
        ios += n;
        const double of_these = static_cast<double>(n) * static_cast<double>(largest / g.block);
        blocks += of_these;
        bytes += of_these * g.payload;
    }
    if (ios > most_ios)
        throw InputError(l.place, "the load has " + std::to_string(ios) +
                                      " I/Os in flight; storlab takes " + std::to_string(most_ios));
    if (blocks > most_blocks)
        throw InputError(l.place, "the " + std::to_string(ios) + " I/Os in flight are of " +
                                      format_count(blocks) + " blocks; storlab takes " +
                                      format_count(most_blocks) + ": make blocks or depth smaller");
    if (bytes > most_bytes)
        throw InputError(l.place, "the buffers of " + std::to_string(ios) +
                                      " I/Os in flight would fill the memory; make blocks or "
                                      "depth smaller");
}

void Run::check_overlap() const {
    const uint64_t scale = bed_.slice().scale;
    if (scale == 1) return;
    for (const LoadSchema& l : s_.loads) {
        const double overlap = covered_by_writes(l, s_, scale);
        if (overlap > most_covered)
            throw InputError(
                l.place,
                "at scale " + std::to_string(scale) + " the " + std::to_string(l.in_flight()) +
                    " I/Os in flight cover " + std::to_string(overlap * 100).substr(0, 4) +
                    " % of the slice, more than 0.1 %: they would meet as they do not on real "
                    "drives; set a smaller run/scale");
    }
}

// Arrivals that nobody waits for must not fill the memory, nor take long to end after the run.
void Run::limit_open_loads(Conductor& conductor) {
    constexpr uint64_t most_bytes = 2'000'000'000, bytes_beside_data = 1000, most_blocks = 4 << 20;
    for (size_t i = 0; i < s_.loads.size(); i++) {
        const LoadSchema& l = s_.loads[i];
        if (!l.open) continue;
        const Geometry g = bed_.target(l.to.front()).geometry();
        uint64_t largest = 0;
        for (const fio::Job& j : l.jobs)
            for (const fio::BlockSizes& b : {j.block.read, j.block.write})
                largest = std::max(largest, static_cast<uint64_t>(b.largest() / g.block));
        uint64_t most = std::min(most_bytes / (bytes_beside_data + largest * g.payload),
                                 most_blocks / std::max<uint64_t>(largest, 1));
        if (s_.run.until == Until::confident) most = std::min(most, Conductor::most_in_flight);
        observers_[i]->limit_in_flight(
            most, [&conductor, &l, most] { conductor.overflow(l.name, most); });
    }
}

// The measured part, cut at the events of the timeline.
void Run::begin_phases() {
    if (s_.timeline.empty()) return;
    phase_ends_.clear();
    phase_from_ = bed_.clock().now();
    for (auto& o : observers_) o->begin_phase(phase_from_);
    measuring_ = true;
}
void Run::end_phase(const std::string& event) {
    constexpr size_t most = 8; // boundaries
    const Instant now = bed_.clock().now();
    if (!measuring_ || now == phase_from_ || phase_ends_.size() == most) return;
    phase_from_ = now;
    phase_ends_.push_back(event);
    for (auto& o : observers_) o->begin_phase(now);
}

Duration Run::fixed_length() const {
    if (s_.run.until == Until::duration) return s_.run.duration;
    if (s_.run.until != Until::timeline) return {};
    if (s_.run.duration > Duration{}) return s_.run.duration;
    return s_.timeline.back().at + s_.run.settle;
}
Instant Run::horizon() const {
    const Duration fixed = fixed_length();
    if (fixed > Duration{})
        return Instant::at(fixed + s_.run.warm_up.value_or(Duration{}) + Duration::s(1));
    return Instant::at(Duration::s(24 * 3600));
}

uint64_t Run::trace_hash() const {
    uint64_t h = 0;
    for (const auto& l : loads_) h = mix(h) + l->hash();
    return h;
}

void Run::snapshot(double& cpu, uint64_t& events, uint64_t& ios, uint64_t& frames) const {
    cpu = process_seconds();
    events = calendar_ ? calendar_->events_fired() : 0;
    ios = 0;
    for (const auto& l : loads_) ios += l->completed();
    frames = FramePool::frames_taken;
}

RunResult Run::go(RunCost* cost) {
    const auto wall_from = std::chrono::steady_clock::now();
    double cpu0 = 0, cpu1 = 0;
    uint64_t events0 = 0, events1 = 0, ios0 = 0, ios1 = 0, frames0 = 0, frames1 = 0;
    Conductor conductor(s_.run, control_, bed_.clock(), stage_, observers_, [&] {
        stations_from_ = bed_.stations();
        cpus_from_ = bed_.cpus();
        snapshot(cpu0, events0, ios0, frames0);
        begin_phases();
    });
    limit_open_loads(conductor);
    uint64_t running = loads_.size();
    for (auto& l : loads_) {
        l->on_idle([&] {
            if (--running == 0) conductor.load_ended();
        });
        l->start();
    }
    shop_.on_turn([&](const std::string& event) { end_phase(event); });
    shop_.schedule();
    conductor.start(fixed_length());
    const std::vector<std::string> failures = stage_.run(horizon());
    snapshot(cpu1, events1, ios1, frames1);
    measuring_ = false;
    const Instant ended = conductor.ended();
    for (auto& o : observers_) o->close(ended);
    const Duration measured = ended - conductor.measured_from();

    RunResult r;
    if (cost)
        *cost = {cpu1 - cpu0, ios1 - ios0, events1 - events0, frames1 - frames0,
                 FramePool::fresh_bytes};
    fill(r, conductor, measured);
    r.run.simulated = ended.since_start();
    for (const std::string& f : failures)
        r.checks.push_back({"actors", false, 1, 0, "an actor failed: " + f});

    for (auto& l : loads_) l->stop();
    shop_.close(true);
    const auto all_idle = [&] {
        return std::all_of(loads_.begin(), loads_.end(), [](auto& l) { return l->idle(); });
    };
    const auto over = [&] { return all_idle() && shop_.idle(); };
    stage_.drain(over, Duration::s(30));
    if (!over()) { // perhaps no path is left, and nobody will plug one in any more
        bed_.give_up_paths();
        stage_.drain(over, Duration::s(30));
    }
    // What threads still do for I/Os that are answered: a driver's chores after a card's answer.
    stage_.drain([&] { return bed_.cpus_idle(); }, Duration::ms(1));
    shop_.close(false);
    for (size_t i = 0; i < observers_.size(); i++) observers_[i]->add_unfinished(r.loads[i]);
    add_little(r, observers_);
    add_cpu_accounting(r, bed_.cpus());
    add_accounting(r, loads_);
    if (s_.run.check) add_integrity(r, s_, bed_);
    shop_.report(r, ended);
    if (!control_.iolog.empty()) write_whole_file(control_.iolog, log_.text());
    r.run.trace_hash = control_.real ? "" : hex_text(trace_hash());
    r.run.wall = Duration::seconds(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_from).count());
    return r;
}

// How long loads that end by the bytes they move would take at full size.
void Run::add_full_length(RunResult& r, Duration measured) const {
    const auto scale = static_cast<int64_t>(bed_.slice().scale);
    if (s_.run.until != Until::load || scale == 1 || r.run.partial) return;
    for (const LoadSchema& l : s_.loads)
        for (const fio::Job& j : l.jobs)
            if (j.number_ios > 0 || j.time_based || j.runtime) return;
    r.full_size.push_back(
        {"all loads", measured * scale, format_duration(measured) + " x " + std::to_string(scale)});
}

void Run::fill(RunResult& r, const Conductor& c, Duration measured) {
    r.run.title = s_.title;
    r.run.scenario = s_.file;
    r.run.hash = s_.hash;
    r.run.seed = s_.run.seed;
    r.run.scale = static_cast<double>(bed_.slice().scale);
    r.run.version = STORLAB_VERSION;
    r.run.world = control_.real ? "real" : "simulated";
    r.run.stop_reason = c.reason();
    r.run.stop_detail = c.detail();
    r.run.partial = c.partial();
    r.run.command = control_.command;
    r.series.step = c.window();
    r.series.start = c.measured_from();
    SpanTable spans(std::vector<std::string>(layer_names.begin(), layer_names.end()));
    for (const auto& o : observers_) {
        LoadResult l = o->load_result(measured);
        if (observers_.size() == 1) l.iops_ci95 = c.iops_ci95();
        r.loads.push_back(std::move(l));
        o->job_results(measured, r.jobs);
        o->append_series(r.series, r.loads.back().name);
        o->phase_results(phase_ends_, r.phases);
        spans.merge(o->spans());
    }
    if (!control_.real) r.spans = span_results(spans);
    add_stations(r, stations_from_, bed_.stations(), measured);
    add_cpus(r, cpus_from_, bed_.cpus(), measured);
    r.bottleneck = find_bottleneck(r);
    if (!control_.real) r.bound = bounds_of(s_);
    if (!control_.real) add_state_labels(r, s_, observers_, bed_);
    if (control_.real && RealHosts::needed(s_)) add_travel(r, s_);
    add_full_length(r, measured);
    for (Assumption& a : assumptions_of(s_, bed_.slice())) r.assumptions.push_back(std::move(a));
}
} // namespace

RunResult run(const Scenario& s, const RunControl& control, RunCost* cost) {
    if (control.real) {
        RealWorld world;
        std::unique_ptr<RealHosts> hosts;
        if (RealHosts::needed(s))
            hosts = std::make_unique<RealHosts>(
                s, NodeCommand{control.program, s.file, control.folder, control.settings});
        const auto bed = real_testbed(s, world, control.folder, {{}, false, hosts.get()});
        const auto stage = real_stage(world);
        return Run(s, control, *bed, *stage, nullptr).go(cost);
    }
    Calendar calendar;
    const auto bed = simulated_testbed(s, calendar);
    const auto stage = simulated_stage(calendar);
    return Run(s, control, *bed, *stage, &calendar).go(cost);
}

} // namespace storlab
