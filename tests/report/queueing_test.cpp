#include "sim/analysis/queueing.hpp"
#include "sim/base/random.hpp"
#include "sim/report/histogram.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace storlab;

namespace {

OpenQueue queue_at(double load, int servers = 1) {
    return {.arrivals = Iops(load * servers * 10'000),
            .service = Duration::us(100),
            .servers = servers};
}
double exponential(Random& random) { return -std::log1p(-random.uniform()); }

} // namespace

TEST_CASE("M/M/1 at half load doubles the service time, at 90 % it is ten times") {
    CHECK(mm1(queue_at(0.5))->response == Duration::us(200));
    CHECK(mm1(queue_at(0.5))->in_system == Approx(1));
    CHECK(mm1(queue_at(0.9))->response.in_us() == Approx(1000));
    CHECK(mm1(queue_at(0.9))->in_system == Approx(9));
    CHECK(mm1(queue_at(0.9))->must_wait == Approx(0.9));
    CHECK(mmc(queue_at(0.9))->response.in_us() == Approx(1000)); // Erlang C with one server
}

TEST_CASE("M/D/1 waits half as long as M/M/1, and Pollaczek-Khinchine is linear in variance") {
    for (const double load : {0.1, 0.5, 0.8, 0.99}) {
        const double exponential_wait = mm1(queue_at(load))->wait.in_us();
        CHECK(md1(queue_at(load))->wait.in_us() == Approx(exponential_wait / 2));
        CHECK(mg1(queue_at(load), 4)->wait.in_us() == Approx(exponential_wait * 2.5));
    }
}

TEST_CASE("Erlang C agrees with published values") {
    // Two servers, one Erlang: 1/3. Three servers, two Erlangs: 4/9 (textbook fractions).
    CHECK(mmc(queue_at(0.5, 2))->must_wait == Approx(1.0 / 3));
    CHECK(mmc(queue_at(2.0 / 3, 3))->must_wait == Approx(4.0 / 9));
    // Call centre with 10 agents and 8 Erlangs: 0.4092; 14 agents and 10 Erlangs: 0.1741.
    CHECK(mmc(queue_at(0.8, 10))->must_wait == Approx(0.4092).margin(5e-5));
    CHECK(mmc(queue_at(10.0 / 14, 14))->must_wait == Approx(0.1741).margin(5e-5));
}

TEST_CASE("Erlang C equals its defining sum") {
    for (const int servers : {1, 2, 5, 20, 64}) {
        const double offered = 0.85 * servers;
        double term = 1, sum = 0;
        for (int k = 0; k < servers; ++k) {
            sum += term;
            term *= offered / (k + 1);
        }
        const double last = term / (1 - 0.85);
        CHECK(mmc(queue_at(0.85, servers))->must_wait == Approx(last / (sum + last)));
    }
    CHECK(mmc(queue_at(0.99, 5000))->must_wait < 1); // no factorial overflows
}

TEST_CASE("processor sharing has the M/M/1 response whatever the service distribution") {
    for (const double load : {0.2, 0.7, 0.95})
        CHECK(mg1_ps(queue_at(load))->response == mm1(queue_at(load))->response);
}

TEST_CASE("a queue at or above capacity has no answer") {
    for (const double load : {1.0, 1.1, 5.0}) {
        CHECK_FALSE(mm1(queue_at(load)).has_value());
        CHECK_FALSE(md1(queue_at(load)).has_value());
        CHECK_FALSE(mmc(queue_at(load, 8)).has_value());
        CHECK_FALSE(mg1_ps(queue_at(load)).has_value());
        CHECK_FALSE(mm1_percentile(queue_at(load), 0.99).has_value());
    }
}

TEST_CASE("a simulated M/M/1 has the formulas' mean and percentiles") {
    // Lindley's recursion, straight into a histogram: formula, random stream and histogram
    // together.
    Random random(17, "lindley");
    Histogram response;
    double wait = 0;
    for (int i = 0; i < 2'000'000; ++i) {
        const double service = 100e-6 * exponential(random);
        response.record(Duration::seconds(wait + service));
        wait = std::max(0.0, wait + service - exponential(random) / 7000);
    }
    const auto queue = queue_at(0.7);
    CHECK(response.mean_ns() == Approx(mm1(queue)->response.in_us() * 1e3).epsilon(0.02));
    for (const double p : {0.5, 0.95, 0.99, 0.999})
        CHECK(response.percentile(p)->in_us() ==
              Approx(mm1_percentile(queue, p)->in_us()).epsilon(0.05));
}

TEST_CASE("exact MVA of terminals, a processor and two disks equals the recursion by hand") {
    const std::vector<ClosedStation> network = {
        {.service = Duration::ms(605), .name = "processor"},
        {.service = Duration::ms(2100), .name = "disk 1"},
        {.service = Duration::ms(1350), .name = "disk 2"},
        {.service = Duration::s(15), .servers = 0, .name = "terminals"}};
    const double x1 = 1 / (15 + 0.605 + 2.1 + 1.35);
    CHECK(exact_mva(network, 1).throughput == Approx(x1).epsilon(1e-9));
    const double r2[] = {0.605 * (1 + x1 * 0.605), 2.1 * (1 + x1 * 2.1), 1.35 * (1 + x1 * 1.35)};
    const double x2 = 2 / (15 + r2[0] + r2[1] + r2[2]);
    const ClosedAnswer two = exact_mva(network, 2);
    CHECK(two.throughput == Approx(x2).epsilon(1e-9));
    CHECK(two.stations[1].residence.in_seconds() == Approx(r2[1]).epsilon(1e-9));
    CHECK(two.stations[1].queue == Approx(x2 * r2[1]).epsilon(1e-9));
    CHECK(exact_mva(network, 200).throughput == Approx(1 / 2.1).epsilon(1e-9)); // the slower disk
}

TEST_CASE("balanced stations share customers evenly: X = N / (N + K - 1) / D") {
    for (const int stations : {1, 2, 5, 12})
        for (const int customers : {1, 3, 32, 256}) {
            const std::vector<ClosedStation> network(static_cast<size_t>(stations),
                                                     {.service = Duration::us(40)});
            const double expected = customers / (customers + stations - 1.0) / 40e-6;
            CHECK(exact_mva(network, customers).throughput == Approx(expected).epsilon(1e-9));
            CHECK(convolution(network, customers).throughput == Approx(expected).epsilon(1e-9));
        }
}

TEST_CASE("MVA and convolution, two different algorithms, agree on random networks") {
    Random random(23, "networks");
    for (int trial = 0; trial < 60; ++trial) {
        std::vector<ClosedStation> network;
        for (uint64_t i = 0, count = 2 + random.below(6); i < count; ++i)
            network.push_back({.service = Duration::seconds(1e-5 + 1e-4 * random.uniform()),
                               .visits = 0.25 + 2 * random.uniform()});
        network.push_back({.service = Duration::seconds(5e-3 * random.uniform()), .servers = 0});
        const int customers = 1 + static_cast<int>(random.below(300));
        const ClosedAnswer a = exact_mva(network, customers), b = convolution(network, customers);
        CHECK(a.throughput == Approx(b.throughput).epsilon(1e-9));
        double inside = 0;
        for (size_t i = 0; i < network.size(); ++i) {
            CHECK(a.stations[i].queue == Approx(b.stations[i].queue).epsilon(1e-7).margin(1e-9));
            CHECK(a.stations[i].utilisation == Approx(b.stations[i].utilisation).epsilon(1e-8));
            inside += b.stations[i].queue;
        }
        CHECK(inside == Approx(customers).epsilon(1e-9)); // Little over the whole network
        CHECK(a.throughput * a.response.in_seconds() == Approx(customers).epsilon(1e-6));
    }
}

TEST_CASE("several servers with finite users equal the birth-death chain solved directly") {
    // N users thinking Z, c servers of S: the machine-repair model.
    for (const int servers : {1, 2, 8}) {
        const int users = 40;
        const double z = 1e-3, s = 150e-6;
        std::vector<double> p(users + 1, 1.0);
        double sum = 1;
        for (int n = 1; n <= users; ++n) {
            p[n] = p[n - 1] * (users - n + 1) / z * s / std::min(n, servers);
            sum += p[n];
        }
        double throughput = 0, queue = 0;
        for (int n = 1; n <= users; ++n) {
            throughput += p[n] / sum * std::min(n, servers) / s;
            queue += p[n] / sum * n;
        }
        const std::vector<ClosedStation> network = {
            {.service = Duration::us(150), .servers = servers},
            {.service = Duration::ms(1), .servers = 0}};
        const ClosedAnswer answer = convolution(network, users);
        CHECK(answer.throughput == Approx(throughput).epsilon(1e-9));
        CHECK(answer.stations[0].queue == Approx(queue).epsilon(1e-9));
        CHECK(answer.stations[0].utilisation == Approx(throughput * s / servers).epsilon(1e-9));
    }
}

TEST_CASE("convolution holds with a thousand customers, long thinking and many servers") {
    const std::vector<ClosedStation> network = {{.service = Duration::us(80), .servers = 64},
                                                {.service = Duration::us(1)},
                                                {.service = Duration::ms(30), .servers = 0}};
    const ClosedAnswer answer = convolution(network, 2048);
    CHECK(answer.throughput == Approx(2048 / 30.08e-3).epsilon(1e-3)); // far from any limit
    const ClosedAnswer bound = convolution(std::span(network).first(2), 2048);
    CHECK(bound.throughput == Approx(64 / 80e-6).epsilon(1e-3)); // 800 k/s before 1 M/s
}

TEST_CASE("the mean of the slowest of N exponentials is H_N means") {
    CHECK(exponential_max_mean(Duration::us(60), 1) == Duration::us(60));
    CHECK(exponential_max_mean(Duration::us(60), 2) == Duration::us(90));
    CHECK(exponential_max_mean(Duration::us(60), 4) == Duration::us(125)); // 25/12
    CHECK(exponential_order_mean(Duration::us(60), 4, 1) == Duration::us(15));
    Duration sum; // all order statistics together are all samples
    for (int k = 1; k <= 10; ++k) sum += exponential_order_mean(Duration::us(60), 10, k);
    CHECK(sum.in_us() == Approx(600));
}

TEST_CASE("the p99 of a stripe read over eight drives is the p99.87 of one, not its p99") {
    Random random(8, "stripes");
    Histogram one, stripe;
    for (int i = 0; i < 400'000; ++i) {
        double slowest = 0;
        for (int drive = 0; drive < 8; ++drive) {
            const double latency = 100e-6 * exponential(random);
            one.record(Duration::seconds(latency));
            slowest = std::max(slowest, latency);
        }
        stripe.record(Duration::seconds(slowest));
    }
    const double inner = single_percentile_of_max(0.99, 8);
    CHECK(inner == Approx(0.99874).margin(1e-5));
    const double p99 = stripe.percentile(0.99)->in_us();
    CHECK(p99 == Approx(one.percentile(inner)->in_us()).epsilon(0.03));
    CHECK(p99 ==
          Approx(exponential_max_percentile(Duration::us(100), 8, 0.99).in_us()).epsilon(0.03));
    CHECK(stripe.mean_ns() ==
          Approx(exponential_max_mean(Duration::us(100), 8).in_us() * 1e3).epsilon(0.01));
    CHECK(p99 > 1.4 * one.percentile(0.99)->in_us());
}
