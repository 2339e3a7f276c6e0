#include "tests/report/sample_result.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace storlab;
using Json = nlohmann::ordered_json;

namespace {

Json job_json(const JobResult& job, bool bins = false) {
    RunResult result;
    result.jobs = {job};
    return Json::parse(to_json(result, {.bins = bins})).at("jobs").at(0);
}

double sum(const Json& classes) {
    double all = 0;
    for (const auto& share : classes) all += share.get<double>();
    return all;
}

} // namespace

TEST_CASE("a job has fio's keys in fio's order") {
    std::vector<std::string> keys;
    const Json job = job_json(sample_job());
    for (const auto& [key, value] : job.items()) keys.push_back(key);
    CHECK(keys ==
          std::vector<std::string>{
              "jobname",    "groupid",     "job_start",     "error",          "eta",
              "elapsed",    "job options", "read",          "write",          "trim",
              "sync",       "job_runtime", "usr_cpu",       "sys_cpu",        "ctx",
              "majf",       "minf",        "iodepth_level", "iodepth_submit", "iodepth_complete",
              "latency_ns", "latency_us",  "latency_ms"});
    keys.clear();
    for (const auto& [key, value] : job["read"].items()) keys.push_back(key);
    CHECK(keys == std::vector<std::string>{"io_bytes",  "io_kbytes",   "bw_bytes",    "bw",
                                           "iops",      "runtime",     "total_ios",   "short_ios",
                                           "drop_ios",  "slat_ns",     "clat_ns",     "lat_ns",
                                           "bw_min",    "bw_max",      "bw_agg",      "bw_mean",
                                           "bw_dev",    "bw_samples",  "iops_min",    "iops_max",
                                           "iops_mean", "iops_stddev", "iops_samples"});
}

TEST_CASE("a direction has fio's units: bytes and KiB per second, ms, ns") {
    const Json read = job_json(sample_job())["read"];
    CHECK(read["io_bytes"] == 81'920'000);
    CHECK(read["io_kbytes"] == 80'000);
    CHECK(read["bw_bytes"] == 163'840'000);
    CHECK(read["bw"] == 160'000);
    CHECK(read["iops"].get<double>() == Approx(40'000));
    CHECK(read["runtime"] == 500);
    CHECK(read["total_ios"] == 20'000);
    CHECK(read["lat_ns"]["N"] == 20'000);
    CHECK(read["lat_ns"]["min"] == 90'000);
    CHECK(read["lat_ns"]["max"] == 900'000);
    CHECK(read["lat_ns"]["mean"].get<double>() == Approx(98'100));
    CHECK(read["lat_ns"]["stddev"].get<double>() == Approx(810'000 * std::sqrt(0.01 * 0.99)));
    CHECK(read["clat_ns"]["percentile"]["50.000000"].get<double>() == Approx(90'000).epsilon(0.01));
    CHECK(read["clat_ns"]["percentile"]["99.900000"].get<double>() == Approx(9e5).epsilon(0.01));
    CHECK(read["iops_min"] == 39'000);
    CHECK(read["iops_max"] == 41'000);
    CHECK(read["iops_mean"].get<double>() == Approx(40'000));
    CHECK(read["iops_stddev"].get<double>() == Approx(1000));
    CHECK(read["bw_mean"].get<double>() == Approx(160'000));
    CHECK(read["bw_agg"].get<double>() == Approx(100));
}

TEST_CASE("iops times mean latency is the depth, as fio's readers check") {
    const Json job = job_json(sample_job());
    double in_flight = 0;
    for (const char* direction : {"read", "write"})
        in_flight += job[direction]["iops"].get<double>() *
                     job[direction]["lat_ns"]["mean"].get<double>() * 1e-9;
    const JobResult direct = sample_job();
    CHECK(in_flight ==
          Approx((direct.read.latency.sum_seconds() + direct.write.latency.sum_seconds()) / 0.5));
}

TEST_CASE("no percentile object where there was no I/O, no key where there were too few") {
    const Json job = job_json(sample_job());
    CHECK(job["trim"]["lat_ns"]["N"] == 0);
    CHECK_FALSE(job["trim"]["lat_ns"].contains("percentile"));
    CHECK(job["trim"]["iops"] == 0.0);
    const Json& write = job["write"]["clat_ns"]["percentile"]; // 5000 I/Os
    CHECK(write.contains("99.000000"));
    CHECK(write.contains("99.500000"));
    CHECK_FALSE(write.contains("99.900000"));
}

TEST_CASE("latency classes are percent of the job's I/Os with fio's upper bounds as keys") {
    const Json job = job_json(sample_job());
    CHECK(sum(job["latency_ns"]) + sum(job["latency_us"]) + sum(job["latency_ms"]) == Approx(100));
    CHECK(job["latency_us"]["100"].get<double>() == Approx(100 * 19'800.0 / 25'000)); // 90 us
    CHECK(job["latency_us"]["50"].get<double>() == Approx(100 * 4'950.0 / 25'000));   // 30 us
    CHECK(job["latency_us"]["1000"].get<double>() == Approx(100 * 200.0 / 25'000));   // 900 us
    CHECK(job["latency_ms"][">=2000"].get<double>() == Approx(100 * 50.0 / 25'000));  // 3 s
}

TEST_CASE("depth classes are fio's: levels from 1 to >=64, batches from 0 to >=64") {
    DepthMap levels;
    for (const uint64_t depth : {1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 4096})
        levels.at_depth(depth);
    CHECK(levels.counts() == std::array<uint64_t, 7>{1, 2, 2, 2, 2, 2, 2});
    DepthMap batches;
    for (const uint64_t ios : {0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 999})
        batches.batch_of(ios);
    CHECK(batches.counts() == std::array<uint64_t, 7>{1, 2, 2, 2, 2, 2, 2});
    const Json job = job_json(sample_job());
    CHECK(job["iodepth_level"]["32"].get<double>() == Approx(75));
    CHECK(job["iodepth_level"]["4"].get<double>() == Approx(25));
    CHECK(job["iodepth_submit"]["4"].get<double>() == Approx(50));
    CHECK(job["iodepth_submit"]["64"].get<double>() == Approx(25));
    CHECK(sum(job["iodepth_complete"]) == 0);
}

TEST_CASE("the bins of two jobs merged by a reader give the merged percentile") {
    // What json+ is for: percentiles of several jobs, from bins, as fio's own tools do it.
    JobResult a = sample_job(), b = sample_job();
    b.read.latency = Histogram();
    for (int i = 0; i < 20'000; ++i) b.read.latency.record(Duration::us(200 + i % 1000));
    std::map<int64_t, uint64_t> bins;
    for (const JobResult& job : {a, b}) {
        const Json out = job_json(job, true);
        for (const auto& [ns, count] : out["read"]["lat_ns"]["bins"].items())
            bins[std::stoll(ns)] += count.get<uint64_t>();
    }
    Histogram merged = a.read.latency;
    merged.merge(b.read.latency);
    for (const double p : {0.5, 0.9, 0.99}) {
        uint64_t seen = 0;
        const auto rank = static_cast<uint64_t>(std::ceil(p * 40'000));
        const auto at = std::find_if(bins.begin(), bins.end(),
                                     [&](const auto& bin) { return (seen += bin.second) >= rank; });
        CHECK(static_cast<double>(at->first) ==
              Approx(merged.percentile(p)->in_us() * 1e3).epsilon(1.0 / 128));
    }
    CHECK_FALSE(job_json(a, false)["read"]["lat_ns"].contains("bins"));
}

TEST_CASE("bw_agg is the job's part of its group, not of the run") {
    JobResult a = sample_job(), b = sample_job(), c = sample_job();
    c.group = 1;
    RunResult result;
    result.jobs = {a, b, c};
    const Json jobs = Json::parse(to_json(result)).at("jobs");
    CHECK(jobs[0]["read"]["bw_agg"].get<double>() == Approx(50));
    CHECK(jobs[2]["read"]["bw_agg"].get<double>() == Approx(100));
}

TEST_CASE("a running statistic equals the two-pass computation") {
    RunningStat stat;
    CHECK(stat.stddev() == 0);
    CHECK(stat.min() == 0);
    const std::vector<double> values = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
    for (const double x : values) stat.add(x);
    CHECK(stat.mean() == Approx(1e9 + 10));
    CHECK(stat.stddev() == Approx(std::sqrt(30.0)));
    CHECK(stat.min() == 1e9 + 4);
    CHECK(stat.max() == 1e9 + 16);
}
