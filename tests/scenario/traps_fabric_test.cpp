// Traps of measuring storage that need a fabric: units of a line, what depth, cores and drives do
// not add, what an average hides.
#include "sim/report/text.hpp"
#include "tests/support/ways.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;

namespace {
Way at_speed(Way w, const std::string& speed) {
    w.speed = speed;
    return w;
}
double busy_of(const RunResult& r, std::string_view machine) {
    for (const CpuResult& c : r.cpu)
        if (c.where == machine) return c.busy;
    throw std::logic_error("no machine " + std::string(machine));
}
const Way rdma_way{"connectx-5",         "ethernet-100g-switch", "port/0", "25GbE", "nvme-rdma",
                   "linux-nvmet-target", "linux-nvme-multipath"};
} // namespace

TEST_CASE("trap: 25 Gb/s is 3.1 GB/s of line, some 22 Gb/s of 4K payload, and never 25 GB/s") {
    const RunResult r = run_of(one_way(rdma_way, fio_of("randread", "4k", 64, 8)));
    const double bytes = bandwidth_bytes(r.loads[0]), bits = bytes * 8;
    CHECK(bytes == Approx(iops(r.loads[0]) * 4096).epsilon(1e-9));
    CHECK(bits > 21e9);
    CHECK(bits < 24e9);
    // The report's label is the decimal one: 2771 MB/s, which in MiB/s would be 2643.
    char label[32];
    std::snprintf(label, sizeof label, " %.0f ", bytes / 1e6);
    CHECK_THAT(to_text(r), Contains("MB/s") && Contains(label));
    // The same speed in another spelling of the same technology is the same run.
    const RunResult again = run_of(one_way(rdma_way, fio_of("randread", "4096", 64, 8)));
    CHECK(again.run.trace_hash == r.run.trace_hash);
    // Four times the line is four times the payload, while nothing else binds.
    const RunResult forty = run_of(
                        one_way(at_speed(rdma_way, "40GbE"), fio_of("randread", "64k", 16, 8))),
                    twenty_five = run_of(one_way(rdma_way, fio_of("randread", "64k", 16, 8)));
    CHECK(bandwidth_bytes(forty.loads[0]) / bandwidth_bytes(twenty_five.loads[0]) ==
          Approx(1.6).epsilon(0.02));
}

TEST_CASE("trap: over a full port more depth is only more latency") {
    const auto at = [](int depth) {
        return run_of(one_way(at_speed({}, "16GFC"), fio_of("randread", "64k", depth, 4))).loads[0];
    };
    const LoadResult few = at(8), many = at(32);
    CHECK(iops(many) == Approx(iops(few)).epsilon(0.02));
    CHECK(mean_us(many) / mean_us(few) == Approx(4).epsilon(0.05));
    CHECK(iops(few) * 65536 < 1.7e9); // what the line carries
}

TEST_CASE("trap: over NVMe/TCP the host's cores bind while drives and lines are idle") {
    const std::string pinned = "{rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 64, "
                               "numjobs: 4, cpus_allowed: 0-1}";
    const std::string text = one_way(nvme_tcp_way, pinned);
    const RunResult r = run_of(text), twice = run_of(text, {"machines/storage/drives/ssd/count=8"}),
                    cores = run_of(replaced(text, "cpus_allowed: 0-1", "cpus_allowed: 0-3"));
    CHECK(iops(twice.loads[0]) == Approx(iops(r.loads[0])).epsilon(0.02));
    CHECK(iops(cores.loads[0]) > 1.5 * iops(r.loads[0]));
    for (const StationResult& s : r.stations)
        if (s.name.find("ssd/") != std::string::npos || s.name.find(" > ") != std::string::npos) {
            INFO(s.name);
            CHECK(s.utilisation < 0.5);
        }
}

TEST_CASE("trap: drives behind a port do not add up, and the answer names the port") {
    const std::string text = one_way(at_speed({}, "16GFC"), fio_of("randread", "128k", 16, 4));
    const RunResult four = run_of(text),
                    eight = run_of(text, {"machines/storage/drives/ssd/count=8"});
    CHECK(bandwidth_bytes(eight.loads[0]) == Approx(bandwidth_bytes(four.loads[0])).epsilon(0.01));
    CHECK(bandwidth_bytes(four.loads[0]) < 1.7e9); // four drives read some 6 GB/s each
    CHECK_THAT(four.bottleneck.name, Contains("c/port/0") && Contains(" > "));
}

TEST_CASE("trap: an average over the run hides that nothing came back for seconds") {
    const RunResult r = run_of(
        two_ways({}, "at 20 s: unplug host/c/0/port/0, at 40 s: plug host/c/0/port/0", 80, "200"));
    const LoadResult& l = r.loads[0];
    CHECK(mean_us(l) < 0.2e6);                        // a fifth of a second, of a 5 s pause
    CHECK(percentile_us(l, 0.5) < 1000);              // most never noticed
    CHECK(total(l).latency.max().in_seconds() > 4.9); // some did
    const std::vector<double>* const mean = r.series.find("users/mean_ns");
    REQUIRE(mean);
    const double worst = *std::max_element(mean->begin(), mean->end());
    CHECK(worst > 5 * l.read.latency.mean_ns()); // the series has it, and so has the timeline
    CHECK_THAT(to_text(r), Contains("path switch"));
}

TEST_CASE("cpus_allowed confines what a load and its network take of a machine") {
    const std::string jobs = "{rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 32, "
                             "numjobs: 8, cpus_allowed: 0-3}";
    const std::string text =
        replaced(one_way(nvme_tcp_way, jobs), "  host:\n", "  host:\n    interrupts: 0-3\n");
    const RunResult confined = run_of(text),
                    free = run_of(replaced(text, ", cpus_allowed: 0-3", ""),
                                  {"machines/host/interrupts=0-63"});
    constexpr double share = 4.0 / 64; // of the machine's hardware threads
    CHECK(busy_of(confined, "host") <= share * 1.001);
    CHECK(busy_of(confined, "host") > 0.95 * share);
    CHECK(busy_of(free, "host") > 1.5 * share);
    // Of a local load too, where the drive's completions are its thread's; the slow clock is there
    // for the CPUs to bind.
    const Settings slow = {"loads/users/fio/numjobs=8", "machines/box/cpu/clock=100MHz"};
    Settings two = slow;
    two.push_back("loads/users/fio/cpus_allowed='0,1'");
    const RunResult anywhere = run_of(one_drive, slow), pinned = run_of(one_drive, two);
    CHECK(pinned.cpu.at(0).busy <= 2.0 / 160 * 1.001);
    CHECK(pinned.cpu.at(0).busy > 0.95 * 2.0 / 160);
    CHECK(anywhere.cpu.at(0).busy > 2 * 2.0 / 160);
}
