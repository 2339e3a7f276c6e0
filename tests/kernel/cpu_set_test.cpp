#include "models/cpu/thread.hpp"
#include <catch2/catch.hpp>
#include <deque>

using namespace storlab;

namespace {
const PriceList free_of_charge{};

struct Endless : Job {
    Thread* thread = nullptr;
    uint64_t done = 0;
    Endless() {
        fire = [](Event& e) {
            auto& self = static_cast<Endless&>(e);
            self.done++;
            self.go();
        };
    }
    void go() {
        work.busy = Duration::us(10);
        thread->run(*this);
    }
};

// Work per second of each group of threads, in threads alone on a core.
std::vector<double> speeds(const ProcessorOptions& options,
                           const std::vector<std::pair<CpuSet, uint32_t>>& groups,
                           double* busy = nullptr) {
    Calendar calendar;
    Processor processor(calendar, options, free_of_charge);
    std::vector<std::deque<Endless>> jobs(groups.size());
    for (size_t g = 0; g < groups.size(); g++)
        for (uint32_t i = 0; i < groups[g].second; i++)
            jobs[g].emplace_back().thread = &processor.start_thread(groups[g].first);
    processor.seal();
    for (auto& group : jobs)
        for (Endless& j : group) j.go();
    const Duration span = Duration::ms(50);
    calendar.run_until(Instant() + span);
    if (busy) *busy = processor.busy() / span;
    std::vector<double> result;
    for (const auto& group : jobs) {
        uint64_t done = 0;
        for (const Endless& j : group) done += j.done;
        result.push_back(static_cast<double>(done) * (Duration::us(10) / span));
    }
    return result;
}
const ProcessorOptions two_sockets{
    .sockets = 2, .cores_per_socket = 16, .threads_per_core = 2, .smt_yield = 1.25};
CpuSet odd_from(uint32_t first, uint32_t last) {
    CpuSet s;
    for (uint32_t cpu = first; cpu <= last; cpu += 2) s.push_back(cpu);
    return s;
}
} // namespace

TEST_CASE("threads held to CPUs get what those CPUs yield, whatever else is idle") {
    // 25, 27, 29, 31 and their second threads 57, 59, 61, 63: four cores run two threads each; of
    // twelve cores only the second thread is allowed.
    const CpuSet twenty = odd_from(25, 63);
    REQUIRE(twenty.size() == 20);
    CHECK(share_of(two_sockets, twenty).cores == 16);
    double busy = 0;
    CHECK(speeds(two_sockets, {{twenty, 192}}, &busy)[0] == Approx(16 + 4 * 0.25).epsilon(0.01));
    CHECK(busy == Approx(20).epsilon(0.005)); // CPUs, as top counts them
    CHECK(speeds(two_sockets, {{twenty, 16}})[0] == Approx(16).epsilon(0.01));
}

TEST_CASE("threads that may run anywhere leave CPUs to those that may not") {
    const CpuSet twenty = odd_from(25, 63);
    const auto s = speeds(two_sockets, {{twenty, 192}, {{}, 100}});
    CHECK(s[0] == Approx(17).epsilon(0.01));
    // The other 44 CPUs are on 28 cores: 16 of socket 0 with both threads, 12 of socket 1 with one.
    CHECK(s[1] == Approx(28 + 16 * 0.25).epsilon(0.01));
}

TEST_CASE("sets are parted so that every CPU has one owner") {
    const auto parts = [](const std::vector<CpuSet>& sets) { return partition(sets); };
    Partition p = parts({{0, 1, 2, 3}, {1}});
    CHECK(p.cpus == std::vector<CpuSet>{{0, 2, 3}, {1}});
    CHECK(p.owner == std::vector<uint32_t>{0, 1});
    p = parts({{0, 1}, {1, 2}}); // neither is smaller: the first claims
    CHECK(p.cpus == std::vector<CpuSet>{{0, 1}, {2}});
    p = parts({{0, 1}, {0}, {1}}); // nothing left for the first: it shares with the owner of CPU 0
    CHECK(p.cpus == std::vector<CpuSet>{{}, {0}, {1}});
    CHECK(p.owner == std::vector<uint32_t>{1, 1, 2});
}
