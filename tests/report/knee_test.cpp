#include "sim/analysis/knee.hpp"
#include "sim/analysis/queueing.hpp"
#include <catch2/catch.hpp>
#include <vector>

using namespace storlab;

namespace {
std::vector<CurvePoint> mm1_curve(double service_s, int points) {
    std::vector<CurvePoint> curve;
    for (int i = 1; i < points; i++) {
        const double rate = i / (points * service_s);
        const auto a = mm1({Iops(rate), Duration::seconds(service_s)});
        const double r = a->response.in_seconds();
        curve.push_back({rate, rate, r, r});
    }
    return curve;
}
} // namespace

TEST_CASE("an M/M/1 queue has its knee at half its capacity") { // Kleinrock 1979
    const auto curve = mm1_curve(1e-4, 100);
    CHECK(curve[knee_of(curve)].load == Approx(5000).epsilon(0.001));
}

TEST_CASE("a closed network saturates where its asymptotes meet") {
    const std::vector<ClosedStation> stations{{Duration::us(10), 1, 1}, {Duration::us(90), 1, 0}};
    std::vector<CurvePoint> curve;
    for (int n = 1; n <= 64; n *= 2) {
        const ClosedAnswer a = exact_mva(stations, n);
        curve.push_back({double(n), a.throughput, a.response.in_seconds(), std::nullopt});
    }
    CHECK(saturation_of(curve) == Approx(10).epsilon(0.001)); // 1 / 10 us x 100 us
}

TEST_CASE(
    "a curve is full from the first point near its most throughput, unless that is its last") {
    // The asymptotes of a curve that bends gently meet long before it is full.
    std::vector<CurvePoint> curve{{1, 100, 0.01, {}},   {2, 190, 0.0105, {}}, {4, 340, 0.0118, {}},
                                  {8, 480, 0.0167, {}}, {16, 500, 0.032, {}}, {32, 490, 0.065, {}}};
    CHECK(saturation_of(curve) == Approx(5));
    CHECK(full_from(curve) == 8);
    curve.resize(4);
    CHECK_FALSE(full_from(curve));
    curve.resize(1);
    CHECK_FALSE(full_from(curve));
}

TEST_CASE("the load within a target lies on the line between the points around it") {
    const std::vector<CurvePoint> curve{
        {1, 100, 0.01, 0.010}, {2, 180, 0.011, 0.020}, {4, 200, 0.02, 0.060}};
    CHECK_FALSE(load_within(curve, 0.009));
    const auto at_point = load_within(curve, 0.020);
    REQUIRE(at_point);
    CHECK(at_point->load == Approx(2));
    const auto between = load_within(curve, 0.040);
    REQUIRE(between);
    CHECK(between->load == Approx(3));
    CHECK(between->throughput == Approx(190));
    CHECK(between->last == 1);
    CHECK_FALSE(between->beyond);
    CHECK(load_within(curve, 1.0)->beyond);
}

TEST_CASE("a curve that dips below the target again does not count") {
    const std::vector<CurvePoint> curve{{1, 1, 1, 0.01}, {2, 1, 1, 0.05}, {3, 1, 1, 0.01}};
    CHECK(load_within(curve, 0.02)->load < 2);
    const std::vector<CurvePoint> holes{{1, 1, 1, 0.01}, {2, 1, 1, std::nullopt}, {3, 1, 1, 0.01}};
    CHECK(load_within(holes, 0.02)->load == 1);
}
