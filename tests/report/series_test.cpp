#include "sim/report/series.hpp"
#include <catch2/catch.hpp>
#include <cmath>

using namespace storlab;

namespace {
constexpr Instant at(Duration t) { return Instant::at(t); }
} // namespace

TEST_CASE("windows hold rate, bandwidth, mean and p99 of what ended in them") {
    LoadSeries load(Duration::ms(10), at(Duration()));
    for (int i = 0; i < 2000; ++i) // 2000 I/Os of 50 us in the first window
        load.record(at(Duration::us(5 * i)), Duration::us(50), Bytes(4096));
    for (int i = 0; i < 100; ++i) // 100 of 1 ms in the second
        load.record(at(Duration::ms(10) + Duration::us(i)), Duration::ms(1), Bytes(8192));
    load.advance(at(Duration::ms(20)));
    REQUIRE(load.windows().size() == 2);
    const LoadWindow &a = load.windows()[0], &b = load.windows()[1];
    CHECK(a.ios == 2000);
    CHECK(a.iops == Approx(200'000));
    CHECK(a.bandwidth_bytes == Approx(200'000 * 4096.0));
    CHECK(a.mean_ns == Approx(50'000));
    CHECK(a.p99_ns == Approx(50'000));
    CHECK(b.iops == Approx(10'000));
    CHECK(std::isnan(b.p99_ns)); // 100 samples
    CHECK(b.mean_ns == Approx(1'000'000));
}

TEST_CASE("an I/O that ends exactly on a window's end belongs to the next window") {
    LoadSeries load(Duration::ms(1), at(Duration()));
    load.record(at(Duration::ms(1)), Duration::us(1), Bytes(512));
    load.advance(at(Duration::ms(2)));
    REQUIRE(load.windows().size() == 2);
    CHECK(load.windows()[0].ios == 0);
    CHECK(load.windows()[1].ios == 1);
}

TEST_CASE("a stall shows as empty windows, not as missing ones") {
    LoadSeries load(Duration::ms(1), at(Duration()));
    load.record(at(Duration::us(10)), Duration::us(10), Bytes(512));
    load.record(at(Duration::us(9'500)), Duration::us(9'000), Bytes(512));
    load.advance(at(Duration::ms(10)));
    REQUIRE(load.windows().size() == 10);
    for (size_t i = 1; i < 9; ++i) {
        CHECK(load.windows()[i].iops == 0);
        CHECK(std::isnan(load.windows()[i].mean_ns));
    }
    CHECK(load.windows()[9].ios == 1);
}

TEST_CASE("the total holds every I/O, those of the unfinished window too") {
    LoadSeries load(Duration::ms(1), at(Duration()));
    Histogram direct;
    for (int i = 0; i < 3456; ++i) {
        const Duration latency = Duration::us(20 + i % 300);
        load.record(at(Duration::us(i)), latency, Bytes(1000));
        direct.record(latency);
    }
    CHECK(load.windows().size() == 3);
    CHECK(load.total().count() == 3456);
    CHECK(load.total().mean_ns() == direct.mean_ns());
    CHECK(load.total().percentile(0.99) == direct.percentile(0.99));
    CHECK(load.bytes().count() == 3'456'000);
}

TEST_CASE("after a restart nothing of the warm-up is left") {
    LoadSeries load(Duration::ms(1), at(Duration()));
    for (int i = 0; i < 2500; ++i) load.record(at(Duration::us(i)), Duration::us(1), Bytes(512));
    load.restart(at(Duration::us(2500)));
    load.record(at(Duration::us(2600)), Duration::us(77), Bytes(4096));
    load.advance(at(Duration::us(3500)));
    CHECK(load.total().count() == 1);
    CHECK(load.bytes() == Bytes(4096));
    REQUIRE(load.windows().size() == 1);
    CHECK(load.windows()[0].iops == Approx(1000));
}

TEST_CASE("a series is columns on one step in JSON, with null for no value") {
    LoadSeries load(Duration::ms(1), at(Duration::ms(5)));
    load.record(at(Duration::us(5'100)), Duration::us(250), Bytes(4096));
    load.advance(at(Duration::ms(7)));
    Series series{.step = Duration::ms(1), .start = at(Duration::ms(5)), .columns = {}};
    load.append_to(series, "reads");
    series.column("storage/ssd/0/queue") = {1.5, 0};
    CHECK(to_json(series) ==
          R"({"step_ns":1000000,"start_ns":5000000,"columns":{"reads/iops":[1000.0,0.0],)"
          R"("reads/bandwidth_bytes":[4096000.0,0.0],"reads/mean_ns":[250000.0,null],)"
          R"("reads/p99_ns":[null,null],"storage/ssd/0/queue":[1.5,0.0]}})");
    REQUIRE(series.find("reads/iops") != nullptr);
    CHECK(series.find("reads/iops")->size() == 2);
    CHECK(series.find("writes/iops") == nullptr);
}
