#include "sim/base/random.hpp"
#include "sim/report/result.hpp"
#include "sim/report/spans.hpp"
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace storlab;

namespace {

struct Io {
    std::array<int64_t, 3> ps;
    Duration total() const { return Duration::ps(ps[0] + ps[1] + ps[2]); }
};

// Host constant, drive exponential, network with a rare long stall: its share grows in the tail.
std::vector<Io> sample_ios(size_t count) {
    Random random(5, "ios");
    std::vector<Io> ios;
    for (size_t i = 0; i < count; ++i) {
        const double stall = random.uniform() < 0.02 ? 2e9 : 1e6;
        ios.push_back({{10'000'000, static_cast<int64_t>(-80e6 * std::log1p(-random.uniform())),
                        static_cast<int64_t>(stall * random.uniform())}});
    }
    return ios;
}

SpanTable table_of(const std::vector<Io>& ios) {
    SpanTable table({"host", "drive", "network"});
    for (const Io& io : ios) table.record(io.ps.data(), io.total());
    return table;
}

} // namespace

TEST_CASE("layer means add up to the mean latency") {
    const auto ios = sample_ios(5000);
    const SpanTable table = table_of(ios);
    double sum[3] = {};
    for (const Io& io : ios)
        for (size_t i = 0; i < 3; ++i) sum[i] += static_cast<double>(io.ps[i]) * 1e-3;
    for (size_t i = 0; i < 3; ++i) CHECK(table.mean_ns(i) == Approx(sum[i] / 5000).epsilon(1e-12));
    CHECK(table.mean_total_ns() == Approx((sum[0] + sum[1] + sum[2]) / 5000).epsilon(1e-12));
    CHECK(std::abs(table.mean_unattributed_ns()) < 1e-6 * table.mean_total_ns());
    CHECK(span_results(table).size() == 3); // nothing left over, so no row for it
}

TEST_CASE("p99 shares are those of the slow I/Os and differ from the mean's") {
    auto ios = sample_ios(50'000);
    const SpanTable table = table_of(ios);
    std::sort(ios.begin(), ios.end(),
              [](const Io& a, const Io& b) { return a.total() < b.total(); });
    // The bucket of the percentile is at most an eighth of an octave wide: the answer lies between
    // the shares of the I/Os at or above p99 / 1.14 and those at or above p99.
    const Duration p99 = ios[ios.size() * 99 / 100 - 1].total();
    const auto exact_share = [&](Duration from, size_t layer) {
        double in_layer = 0, all = 0;
        for (const Io& io : ios) {
            if (io.total() < from) continue;
            in_layer += static_cast<double>(io.ps[layer]);
            all += static_cast<double>(io.total().count_ps());
        }
        return in_layer / all;
    };
    double sum = 0;
    for (size_t i = 0; i < 3; ++i) {
        const double share = table.p99_share(i).value();
        const double a = exact_share(p99, i), b = exact_share(p99.scaled(1 / 1.14), i);
        CHECK(share >= std::min(a, b) - 1e-3);
        CHECK(share <= std::max(a, b) + 1e-3);
        sum += share;
    }
    CHECK(sum == Approx(1).epsilon(1e-12));
    CHECK(table.p99_share(2).value() > 0.8); // the stalls
    CHECK(table.mean_ns(2) < 0.25 * table.mean_total_ns());
}

TEST_CASE("p99 shares are blank when a 99th percentile would be") {
    const auto ios = sample_ios(1000);
    SpanTable table({"host", "drive", "network"});
    for (size_t i = 0; i < 999; ++i) table.record(ios[i].ps.data(), ios[i].total());
    CHECK_FALSE(table.p99_share(0).has_value());
    table.record(ios[999].ps.data(), ios[999].total());
    CHECK(table.p99_share(0).has_value());
}

TEST_CASE("time that no layer claims is shown as such") {
    SpanTable table({"drive"});
    for (int i = 0; i < 2000; ++i) {
        const int64_t drive = 60'000'000;
        table.record(&drive, Duration::us(100));
    }
    CHECK(table.mean_unattributed_ns() == Approx(40'000));
    const auto rows = span_results(table);
    REQUIRE(rows.size() == 2);
    CHECK(rows[1].layer == "unattributed");
    CHECK(rows[1].mean_ns == Approx(40'000));
    CHECK(rows[1].p99_share.value() == Approx(0.4));
}

TEST_CASE("merged span tables equal one table of all I/Os, cleared ones are empty") {
    const auto ios = sample_ios(4000);
    const SpanTable whole = table_of(ios);
    SpanTable a = table_of({ios.begin(), ios.begin() + 1500});
    a.merge(table_of({ios.begin() + 1500, ios.end()}));
    CHECK(a.count() == whole.count());
    for (size_t i = 0; i < 3; ++i) {
        CHECK(a.mean_ns(i) == Approx(whole.mean_ns(i)).epsilon(1e-13));
        CHECK(a.p99_share(i).value() == Approx(whole.p99_share(i).value()).epsilon(1e-13));
    }
    a.clear();
    CHECK(a.count() == 0);
    CHECK(a.mean_total_ns() == 0);
    CHECK_FALSE(a.p99_share(0).has_value());
}

TEST_CASE("the shortest and the longest possible I/O both have a row") {
    SpanTable table({"all"});
    for (const int64_t ps : {int64_t{0}, int64_t{1}, INT64_MAX})
        table.record(&ps, Duration::ps(ps));
    CHECK(table.count() == 3);
    CHECK(table.mean_total_ns() == Approx(static_cast<double>(INT64_MAX) / 3e3));
}
