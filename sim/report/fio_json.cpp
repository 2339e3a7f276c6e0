// fio's job object, key by key: names, nesting, order and units as its stat.c (3.36) writes them.
// Where fio would print a percentile of too few samples the key is left out, as fio itself leaves
// out "percentile" altogether when N is 0.
#include "sim/report/json_parts.hpp"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace storlab {

namespace {

using Json = nlohmann::ordered_json;

constexpr double fio_percentiles[] = {1,  5,  10, 20, 30,   40,   50,    60,   70,
                                      80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};

enum class Percentiles { no, yes, with_bins };

Json latency(const Histogram& histogram, Percentiles wanted) {
    Json out{{"min", in_ns(histogram.min())},
             {"max", in_ns(histogram.max())},
             {"mean", histogram.mean_ns()},
             {"stddev", histogram.stddev_ns()},
             {"N", histogram.count()}};
    if (histogram.empty() || wanted == Percentiles::no) return out;
    Json percentiles = Json::object();
    for (const double p : fio_percentiles) {
        const auto value = histogram.percentile(p / 100);
        if (value) percentiles[fmt::format("{:.6f}", p)] = in_ns(*value);
    }
    if (!percentiles.empty()) out["percentile"] = percentiles;
    if (wanted == Percentiles::with_bins) {
        std::map<int64_t, uint64_t> by_ns; // below 1 us several buckets share a nanosecond
        for (const auto& bucket : histogram.buckets())
            by_ns[in_ns(bucket.low + (bucket.high - bucket.low) / 2)] += bucket.count;
        Json bins = Json::object();
        for (const auto& [ns, count] : by_ns) bins[std::to_string(ns)] = count;
        out["bins"] = bins;
    }
    return out;
}

double per_second(double amount, Duration time) {
    return time > Duration() ? amount / time.in_seconds() : 0;
}

int64_t in_ms(Duration time) { return static_cast<int64_t>(std::ceil(time.in_seconds() * 1e3)); }

// What a group moved in one direction, for bw_agg.
struct GroupShare {
    double bytes = 0;
    Duration runtime;
    double bytes_per_second() const { return per_second(bytes, runtime); }
};

Json direction(const DirectionResult& d, const GroupShare& group, bool bins) {
    const auto percentiles = bins ? Percentiles::with_bins : Percentiles::yes;
    const double bandwidth = per_second(static_cast<double>(d.bytes), d.runtime);
    const RunningStat &bw = d.bandwidth_samples, &iops = d.iops_samples;
    const double of_group =
        group.bytes > 0 ? std::min(100.0, bw.mean() * 100 / group.bytes_per_second()) : 0;
    return {{"io_bytes", d.bytes},
            {"io_kbytes", d.bytes >> 10},
            {"bw_bytes", std::llround(bandwidth)},
            {"bw", std::llround(bandwidth / 1024)},
            {"iops", per_second(static_cast<double>(d.ios), d.runtime)},
            {"runtime", in_ms(d.runtime)},
            {"total_ios", d.ios},
            {"short_ios", d.short_ios},
            {"drop_ios", d.dropped_ios},
            {"slat_ns", latency(d.submission, Percentiles::no)},
            {"clat_ns", latency(d.completion, percentiles)},
            {"lat_ns", latency(d.latency, percentiles)},
            {"bw_min", std::llround(bw.min() / 1024)},
            {"bw_max", std::llround(bw.max() / 1024)},
            {"bw_agg", of_group},
            {"bw_mean", bw.mean() / 1024},
            {"bw_dev", bw.stddev() / 1024},
            {"bw_samples", bw.count()},
            {"iops_min", std::llround(iops.min())},
            {"iops_max", std::llround(iops.max())},
            {"iops_mean", iops.mean()},
            {"iops_stddev", iops.stddev()},
            {"iops_samples", iops.count()}};
}

Json depths(const DepthMap& map, std::initializer_list<const char*> names) {
    uint64_t all = 0;
    for (const uint64_t count : map.counts()) all += count;
    Json out = Json::object();
    size_t i = 0;
    for (const char* name : names)
        out[name] = all == 0
                        ? 0.0
                        : 100 * static_cast<double>(map.counts()[i++]) / static_cast<double>(all);
    return out;
}
Json depth_levels(const DepthMap& map) {
    return depths(map, {"1", "2", "4", "8", "16", "32", ">=64"});
}
Json batch_sizes(const DepthMap& map) {
    return depths(map, {"0", "4", "8", "16", "32", "64", ">=64"});
}

// Percent of the I/Os in each of fio's classes. A key is the class's upper bound, in the unit of
// its object; the last of the milliseconds is open.
void latency_classes(Json& job, const Histogram& all) {
    constexpr int64_t bounds[] = {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000};
    uint64_t below = 0;
    const auto percent_up_to = [&](Duration bound) {
        const uint64_t now = all.count_below(bound), inside = now - below;
        below = now;
        return all.empty() ? 0.0
                           : 100 * static_cast<double>(inside) / static_cast<double>(all.count());
    };
    for (const int64_t bound : bounds)
        job["latency_ns"][std::to_string(bound)] = percent_up_to(Duration::ns(bound));
    for (const int64_t bound : bounds)
        job["latency_us"][std::to_string(bound)] = percent_up_to(Duration::us(bound));
    for (const int64_t bound : bounds)
        job["latency_ms"][std::to_string(bound)] = percent_up_to(Duration::ms(bound));
    job["latency_ms"]["2000"] = percent_up_to(Duration::ms(2000));
    job["latency_ms"][">=2000"] = percent_up_to(Duration::max());
}

struct Group {
    GroupShare read, write, trim;
};
void add_to(GroupShare& share, const DirectionResult& d) {
    share.bytes += static_cast<double>(d.bytes);
    share.runtime = std::max(share.runtime, d.runtime);
}

Json fio_job(const JobResult& job, const Group& group, bool bins) {
    Json options = Json::object();
    for (const auto& [key, value] : job.options) options[key] = value;
    Histogram all = job.read.latency;
    all.merge(job.write.latency);
    all.merge(job.trim.latency);
    Json out{{"jobname", job.name},
             {"groupid", job.group},
             {"job_start", 0}, // a date in fio; fixed, so that the same run gives the same bytes
             {"error", job.error},
             {"eta", 0},
             {"elapsed", static_cast<int64_t>(std::ceil(job.elapsed.in_seconds()))},
             {"job options", options},
             {"read", direction(job.read, group.read, bins)},
             {"write", direction(job.write, group.write, bins)},
             {"trim", direction(job.trim, group.trim, bins)},
             {"sync",
              {{"total_ios", job.sync.count()}, {"lat_ns", latency(job.sync, Percentiles::yes)}}},
             {"job_runtime", in_ms(job.job_runtime)},
             {"usr_cpu", job.user_cpu * 100},
             {"sys_cpu", job.system_cpu * 100},
             {"ctx", job.context_switches},
             {"majf", job.major_faults},
             {"minf", job.minor_faults},
             {"iodepth_level", depth_levels(job.depth_level)},
             {"iodepth_submit", batch_sizes(job.depth_submit)},
             {"iodepth_complete", batch_sizes(job.depth_complete)}};
    latency_classes(out, all);
    return out;
}

} // namespace

nlohmann::ordered_json fio_jobs(const std::vector<JobResult>& jobs, bool bins) {
    std::map<int, Group> groups;
    for (const JobResult& job : jobs) {
        add_to(groups[job.group].read, job.read);
        add_to(groups[job.group].write, job.write);
        add_to(groups[job.group].trim, job.trim);
    }
    Json out = Json::array();
    for (const JobResult& job : jobs) out.push_back(fio_job(job, groups[job.group], bins));
    return out;
}

} // namespace storlab
