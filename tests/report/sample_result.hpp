// A run as the scenario layer would fill it in: one closed mixed load, one open load with too few
// I/Os for its percentiles, a fault with phases, and every list of the result in use.
#pragma once
#include "sim/report/result.hpp"

namespace storlab {

inline FlowResult flow_of(int ios, Duration fast, Duration slow) {
    FlowResult flow;
    for (int i = 0; i < ios; ++i) flow.latency.record(i % 100 == 99 ? slow : fast);
    flow.bytes = int64_t{4096} * ios;
    return flow;
}

inline JobResult sample_job() {
    JobResult job;
    job.name = "randrw-4k";
    job.group = 0;
    job.elapsed = Duration::ms(1'200);
    job.job_runtime = Duration::ms(500);
    job.options = {{"rw", "randrw"}, {"bs", "4k"}, {"iodepth", "32"}};
    job.user_cpu = 0.125;
    job.system_cpu = 0.25;
    const FlowResult read = flow_of(20'000, Duration::us(90), Duration::us(900));
    job.read.latency = job.read.completion = read.latency;
    job.read.bytes = read.bytes;
    job.read.ios = 20'000;
    job.read.runtime = Duration::ms(500);
    for (const double x : {39'000.0, 41'000.0, 40'000.0}) {
        job.read.iops_samples.add(x);
        job.read.bandwidth_samples.add(x * 4096);
    }
    const FlowResult write = flow_of(5'000, Duration::us(30), Duration::ms(3'000));
    job.write.latency = job.write.completion = write.latency;
    job.write.bytes = write.bytes;
    job.write.ios = 5'000;
    job.write.runtime = Duration::ms(500);
    for (int i = 0; i < 30; ++i) job.depth_level.at_depth(32);
    for (int i = 0; i < 10; ++i) job.depth_level.at_depth(5);
    for (const uint64_t ios : {1, 4, 5, 64}) job.depth_submit.batch_of(ios);
    return job;
}

inline RunResult sample_result() {
    RunResult r;
    r.run = {.title = "Eight drives behind a RAID5 on a GPU card",
             .scenario = "scenarios/testbeds/starwind/remote.yaml",
             .hash = "0123456789abcdef",
             .seed = 1,
             .scale = 1,
             .version = "0.1.0",
             .world = "simulated",
             .trace_hash = "9f3c2a17d1e0b4aa",
             .stop_reason = StopReason::confident,
             .partial = false,
             .simulated = Duration::ms(500),
             .wall = Duration::ms(2'900),
             .command = "storlab run scenarios/testbeds/starwind/remote.yaml --seed 1"};
    r.jobs = {sample_job()};
    LoadResult mixed{.name = "mixed",
                     .what = "randrw 4 KiB, 80 % reads",
                     .loop = Loop::closed,
                     .effective_depth = 304,
                     .measured = Duration::ms(500),
                     .iops_ci95 = 0.006,
                     .read = flow_of(20'000, Duration::us(90), Duration::us(900)),
                     .write = flow_of(5'000, Duration::us(30), Duration::ms(3'000))};
    LoadResult probe{.name = "probe",
                     .what = "randread 4 KiB",
                     .loop = Loop::open,
                     .effective_depth = 0.1,
                     .measured = Duration::ms(500),
                     .iops_ci95 = {},
                     .read = flow_of(500, Duration::us(90), Duration::us(900)),
                     .write = {}};
    r.loads = {mixed, probe};
    r.stations = {{"storage/target", "threads", 0.984, 50'000, 31.5},
                  {"storage/ssd/0", "ssd", 0.61, 6'250, 2.2}};
    r.cpu = {{"storage", 0.46, {{"target", 0.30}, {"irq", 0.12}, {"raid", 0.04}}},
             {"client", 0.31, {}}};
    r.spans = {{"drive", 84'000, 0.2}, {"target queue", 230'000, 0.75}, {"fabric", 86'000, 0.05}};
    r.bottleneck = {"storage/target", 0.984, "SCSI target threads", {{"storage/ssd/*", 0.61}}};
    r.bound = {{"mixed", BoundFlow{19.2e9, Bytes(4096), 1, {{"storage/ssd/*/link", 3, 6.4e9}}},
                BoundFlow{14e9,
                          Bytes(4096),
                          8.0 / 7,
                          {{"storage/ssd/*/link", 2, 5e9}, {"storage/ssd/7/link", 1, 6e9}}}},
               {"probe", {}, {}}};
    r.integrity = {.verified = 1'750'112,
                   .mismatches = 0,
                   .scrubbed = 4096,
                   .scrub_mismatches = 0,
                   .first = {}};
    r.checks = {{"little", true, 0.001, 0.01, "Little 0.1 %"},
                {"accounting", true, 0, 0, "all requests accounted for"}};
    r.timeline = {{Instant::at(Duration::ms(100)), "pull", "storage/ssd/3", ""},
                  {Instant::at(Duration::ms(130)), "3 timeouts", "storage/raid", "detect"}};
    r.phases = {{"mixed", "pull storage/ssd/3", Instant(), Instant::at(Duration::ms(100)),
                 flow_of(4'000, Duration::us(90), Duration::us(900)), Duration::us(200)},
                {"mixed", "", Instant::at(Duration::ms(100)), Instant::at(Duration::ms(500)),
                 flow_of(20, Duration::us(90), Duration::ms(30)), Duration::ms(30)}};
    r.series = {.step = Duration::ms(100), .start = Instant(), .columns = {}};
    r.series.column("mixed/iops") = {49'000, 51'000};
    r.assumptions = {{"volumes", "8 x 2 TiB", "assumed", "not published", 0.004},
                     {"parts/ssd/read", "75 us", "fitted", "row 3", 0.03}};
    r.full_size = {{"rebuild of storage/ssd/3", Duration::s(31'220), "12.8 TB / 410 MB/s"}};
    return r;
}

} // namespace storlab
