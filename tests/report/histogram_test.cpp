#include "sim/base/random.hpp"
#include "sim/report/histogram.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace storlab;

namespace {

// Latencies over the whole range: log-uniform from 1 ns to 10000 s.
std::vector<Duration> wide_samples(size_t count, uint64_t seed) {
    Random random(seed, "wide");
    std::vector<Duration> samples(count);
    for (Duration& s : samples) s = Duration::seconds(std::pow(10.0, -9 + 13 * random.uniform()));
    return samples;
}

Duration exact_percentile(std::vector<Duration> samples, double p) {
    std::sort(samples.begin(), samples.end());
    const auto rank =
        static_cast<size_t>(std::ceil(p * static_cast<double>(samples.size()) - 1e-9));
    return samples.at(std::max<size_t>(rank, 1) - 1);
}

} // namespace

TEST_CASE("a percentile is within 1/128 of the exact order statistic from 1 ns to 10000 s") {
    const auto samples = wide_samples(100'000, 7);
    Histogram histogram;
    for (const Duration s : samples) histogram.record(s);
    for (const double p : {0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999}) {
        const double found = histogram.percentile(p).value().in_seconds();
        const double exact = exact_percentile(samples, p).in_seconds();
        CHECK(std::abs(found / exact - 1) <= 1.0 / 128);
    }
}

TEST_CASE("every bucket holds its edges, and neighbours meet without gap or overlap") {
    // A value alone in a histogram is in a bucket that holds it and is no wider than 1/125 of it:
    // 8 ps at 1 ns, 1/128 from 1024 ps on.
    for (int64_t ps = 1000; ps < 10'000'000'000'000'000; ps += 1 + ps / 97) {
        Histogram one;
        one.record(Duration::ps(ps));
        const auto bucket = one.buckets().at(0);
        REQUIRE(bucket.low.count_ps() <= ps);
        REQUIRE(ps < bucket.high.count_ps());
        const auto width = (bucket.high - bucket.low).count_ps();
        REQUIRE(width * 125 <= ps);
        if (ps >= 1024) REQUIRE(width * 128 <= ps);
        Histogram next; // the upper edge is the lower edge of the next
        next.record(bucket.high);
        REQUIRE(next.buckets().at(0).low == bucket.high);
    }
}

TEST_CASE("count, sum, mean, deviation, minimum and maximum are exact") {
    Histogram histogram;
    const std::vector<int64_t> ps = {1'234'567, 7'654'321, 999'999'999, 3, 0, 88'888'888'888};
    long double sum = 0, squares = 0;
    for (const int64_t x : ps) {
        histogram.record(Duration::ps(x));
        sum += x;
    }
    const long double mean = sum / ps.size();
    for (const int64_t x : ps) squares += (x - mean) * (x - mean);
    CHECK(histogram.count() == ps.size());
    CHECK(histogram.min() == Duration());
    CHECK(histogram.max() == Duration::ps(88'888'888'888));
    CHECK(histogram.mean_ns() == Approx(static_cast<double>(mean) * 1e-3).epsilon(1e-15));
    const double deviation = static_cast<double>(std::sqrt(squares / ps.size())) * 1e-3;
    CHECK(histogram.stddev_ns() == Approx(deviation).epsilon(1e-12));
}

TEST_CASE("the deviation of nearly equal large values does not cancel away") {
    // Around 100 s with 1 ps to and fro: in doubles of squared seconds nothing would be left.
    Histogram histogram;
    const Duration centre = Duration::s(100);
    for (int i = 0; i < 1000; ++i) histogram.record(centre + Duration::ps(i % 2 == 0 ? 1 : -1));
    CHECK(histogram.mean_ns() == Approx(100e9));
    CHECK(histogram.stddev_ns() == Approx(1e-3).epsilon(1e-9));
}

TEST_CASE("merging histograms in any grouping equals recording everything in one") {
    const auto samples = wide_samples(30'000, 3);
    Histogram whole, merged, parts[7];
    for (size_t i = 0; i < samples.size(); ++i) {
        whole.record(samples[i]);
        parts[i % 7].record(samples[i]);
    }
    for (const int i : {4, 0, 6, 2, 1, 5, 3}) merged.merge(parts[i]);
    merged.merge(Histogram());
    CHECK(merged.count() == whole.count());
    CHECK(merged.min() == whole.min());
    CHECK(merged.max() == whole.max());
    CHECK(merged.mean_ns() == whole.mean_ns());
    CHECK(merged.stddev_ns() == whole.stddev_ns());
    const auto a = merged.buckets(), b = whole.buckets();
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i].count == b[i].count);
    for (const double p : {0.5, 0.99, 0.999}) CHECK(merged.percentile(p) == whole.percentile(p));
}

TEST_CASE("100 windows, ten of them with a p99 of 400 ms: the merged p99 is 400 ms, not 40.9 ms") {
    Histogram merged;
    double average_of_p99 = 0;
    for (int window = 0; window < 100; ++window) {
        const Duration latency = window < 10 ? Duration::ms(400) : Duration::ms(1);
        Histogram histogram;
        for (int i = 0; i < 1000; ++i) histogram.record(latency);
        average_of_p99 += histogram.percentile(0.99).value().in_seconds() / 100;
        merged.merge(histogram);
    }
    CHECK(average_of_p99 == Approx(0.0409)); // the trap: a latency that no I/O had
    CHECK(merged.percentile(0.99).value().in_seconds() == Approx(0.4).epsilon(1.0 / 128));
    CHECK(merged.percentile(0.90).value().in_seconds() == Approx(0.001).epsilon(1.0 / 128));
}

TEST_CASE("a percentile is blank below 10 / (1 - p) samples and given from there on") {
    const struct {
        double p;
        uint64_t needed;
    } rules[] = {{0.5, 20},       {0.95, 200},       {0.99, 1000},
                 {0.999, 10'000}, {0.9999, 100'000}, {0.01, 1000}};
    for (const auto& [p, needed] : rules) {
        CHECK(Histogram::samples_needed(p) == needed);
        Histogram histogram;
        for (uint64_t i = 1; i < needed; ++i) histogram.record(Duration::us(5));
        CHECK_FALSE(histogram.percentile(p).has_value());
        histogram.record(Duration::us(5));
        CHECK(histogram.percentile(p) == Duration::us(5));
    }
}

TEST_CASE("p99.9 of 500 I/Os is blank") {
    Histogram histogram;
    for (int i = 0; i < 500; ++i) histogram.record(Duration::us(i));
    CHECK_FALSE(histogram.percentile(0.999).has_value());
    CHECK(histogram.percentile(0.95).has_value());
}

TEST_CASE("the rank of a percentile is exact: 1 % of slow I/Os show at the next step only") {
    Histogram histogram;
    for (int i = 0; i < 9900; ++i) histogram.record(Duration::us(100));
    for (int i = 0; i < 100; ++i) histogram.record(Duration::ms(50));
    CHECK(histogram.percentile(0.99).value() <= Duration::us(101));
    CHECK(histogram.percentile(0.9901).value() >= Duration::ms(49));
}

TEST_CASE("cleared windows carry nothing over, at the ends of the range either") {
    Histogram window;
    for (int round = 0; round < 3; ++round) {
        window.record(Duration());
        window.record(Duration::s(9'999));
        window.record(Duration::us(10 + round));
        CHECK(window.count() == 3);
        CHECK(window.buckets().size() == 3);
        window.clear();
        CHECK(window.empty());
        CHECK(window.buckets().empty());
        CHECK(window.max() == Duration());
        CHECK(window.min() == Duration());
    }
}

TEST_CASE("a value past the range keeps its exact maximum and sum") {
    Histogram histogram;
    const Duration day = Duration::s(86'400);
    histogram.record(day);
    histogram.record(Duration::us(1));
    CHECK(histogram.max() == day);
    CHECK(histogram.sum_seconds() == Approx(86'400.000001).epsilon(1e-14));
    CHECK(histogram.count_below(Duration::ms(1)) == 1);
}

TEST_CASE("sums of billions of I/O-nanoseconds do not overflow 64 bits") {
    Histogram histogram, doubled;
    for (int i = 0; i < 1000; ++i) histogram.record(Duration::s(1000));
    doubled = histogram;
    for (int i = 0; i < 20; ++i) {
        Histogram twice = doubled;
        twice.merge(doubled);
        doubled = twice;
    }
    CHECK(doubled.count() == 1000ull << 20);
    CHECK(doubled.mean_ns() == Approx(1e12).epsilon(1e-15)); // sum is 1e24 ps, past 2^64
    CHECK(doubled.stddev_ns() == Approx(0).margin(1e-9));
}

TEST_CASE("counts below a bound are right to one bucket") {
    const auto samples = wide_samples(20'000, 11);
    Histogram histogram;
    for (const Duration s : samples) histogram.record(s);
    for (const Duration bound : {Duration::ns(250), Duration::us(20), Duration::ms(2000)}) {
        const auto exact =
            std::count_if(samples.begin(), samples.end(), [&](Duration s) { return s < bound; });
        const auto near = std::count_if(samples.begin(), samples.end(), [&](Duration s) {
            return std::abs(s.in_seconds() / bound.in_seconds() - 1) < 1.0 / 128;
        });
        CHECK(std::abs(static_cast<double>(histogram.count_below(bound)) -
                       static_cast<double>(exact)) <= static_cast<double>(near));
    }
    CHECK(histogram.count_below(Duration::max()) == histogram.count());
    CHECK(histogram.count_below(Duration()) == 0);
}
