// What code owes is paid, whichever way a command takes through the layers: a debt that kept no
// core busy is work done for nothing.
#include "tests/support/ways.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::test;

namespace {
const Way rdma_way{"connectx-5",         "ethernet-100g-switch", "port/0", "25GbE", "nvme-rdma",
                   "linux-nvmet-target", "linux-nvme-multipath"};

double busy_of(const RunResult& r, std::string_view machine) {
    for (const CpuResult& c : r.cpu)
        if (c.where == machine) return c.busy;
    throw std::logic_error("no machine " + std::string(machine));
}
const CheckResult& cpu_check(const RunResult& r) {
    for (const CheckResult& c : r.checks)
        if (c.name == "cpu") return c;
    throw std::logic_error("no check of CPU time");
}
void check_paid(const RunResult& r) {
    INFO(cpu_check(r).text);
    CHECK(cpu_check(r).ok);
    CHECK(iops(r.loads[0]) > 0);
}
const Settings shortly = {"run/duration=2ms", "run/warm-up=0ms",
                          "machines/storage/drives/ssd/state=fresh"};
const Settings smallest = {"run/duration=2ms", "run/scale=32", "arrays/main/raid/chunk=8KiB"};
Settings at_level(const std::string& level) {
    Settings s = shortly;
    s.push_back("arrays/main/raid/level=" + level);
    s.push_back("arrays/main/raid/chunk=16KiB");
    return s;
}
} // namespace

static const std::string no_spare = replaced(small_array, "spares: spare/0, ", "");

TEST_CASE("every command is paid for: levels, sizes, directions") {
    for (const char* level : {"0", "10", "5", "6"})
        for (const char* rw : {"randread", "randwrite"})
            for (const char* bs : {"4k", "16k"}) {
                INFO("level " << level << ", " << rw << ", " << bs);
                check_paid(run_of(one_way({}, fio_of(rw, bs, 4, 4)), at_level(level)));
                const std::string local =
                    replaced(replaced(no_spare, "{rw: randrw, rwmixread: 70, bs: 4k,",
                                      std::string("{rw: ") + rw + ", bs: " + bs + ","),
                             "level: 5", std::string("level: ") + level);
                check_paid(run_of(local, smallest));
                if (level[0] == '0') continue;
                const std::string fails =
                    replaced(local, "run: {", "timeline: [at 1 ms: fail box/ssd/0]\nrun: {");
                check_paid(run_of(fails, smallest));
            }
}

TEST_CASE("every command is paid for: protocols, and arrays of a card") {
    for (const Way& way : {Way(), nvme_tcp_way, rdma_way, iscsi_way})
        for (const char* bs : {"4k", "64k"})
            for (const char* rw : {"randread", "randwrite"}) {
                INFO(way.protocol << ", " << rw << ", " << bs);
                const std::string text = one_way(way, fio_of(rw, bs, 4, 4));
                check_paid(run_of(text, at_level("5")));
                Settings by_card = at_level("5");
                by_card.push_back("machines/storage/cards/raid={is: graid-sr1010}");
                by_card.push_back("arrays/main/raid/engine=raid");
                check_paid(run_of(text, by_card));
            }
    for (const char* rw : {"randrw, fsync: 1", "randread", "randwrite"}) {
        INFO("card, " << rw);
        const std::string text =
            "storlab: 1\nmachines:\n  box:\n    is: dell-r750\n    cpu: {is: "
            "xeon-8380}\n    host: {is: linux-host}\n    cards: {raid: {is: "
            "graid-sr1010, slot: x8 gen4 socket 0}}\n    drives: {ssd: {is: bench-device-gc, "
            "count: 4, state: filled}}\narrays:\n  main: {raid: {level: 5, drives: "
            "ssd/*, engine: raid}}\nloads:\n  users: {fio: {rw: " +
            std::string(rw) +
            ", bs: 64k, ioengine: libaio, direct: 1, iodepth: 4}, to: main}\n"
            "run: {until: duration, duration: 2ms, scale: 16}\n";
        check_paid(run_of(text));
        // A driver's chore may outlast the answer: the books wait for it.
        if (rw[4] == 'r' && rw[5] == 'w')
            for (const char* seed : {"1", "2", "3"})
                check_paid(run_of(text, {"loads/users/fio/ioengine=psync", "run/warm-up=0s",
                                         "run/seed=" + std::string(seed)}));
    }
}

TEST_CASE("what a target does for a write keeps its cores busy, split or not") {
    for (const char* bs : {"4k", "8k"}) {
        INFO(bs);
        // At the same rate, so that nothing else changes.
        const std::string text =
            one_way({}, "{rw: randwrite, bs: " + std::string(bs) +
                            ", ioengine: libaio, direct: 1, iodepth: 64, rate_iops: 20000}");
        const auto at_cost = [&](const char* cost) {
            Settings s = {"arrays/main/raid/level=5", "run/duration=50ms"};
            s.push_back("arrays/main/export/target_write=" + std::string(cost));
            return run_of(text, s);
        };
        const RunResult cheap = at_cost("10us"), dear = at_cost("30us");
        const double more = busy_of(dear, "storage") - busy_of(cheap, "storage");
        const double logical_cpus = 160; // two 8380
        CHECK(more * logical_cpus == Approx(20000 * 20e-6).epsilon(0.03));
        CHECK(mean_us(dear.loads[0]) - mean_us(cheap.loads[0]) == Approx(20).epsilon(0.1));
    }
}
