// What the reviewed testbeds say in words, from the scenarios that predict their rows.
#include "sim/scenario/install.hpp"
#include "sim/scenario/run.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using Settings = std::vector<std::string>;

namespace {
RunResult run_testbed(const std::string& file, const Settings& settings) {
    const std::string path = parts_folder() + "/../testbeds/" + file;
    return run(load_scenario(path, {settings, parts_folder()}), {});
}
double cpu_of(const RunResult& r, const std::string& machine) {
    for (const CpuResult& c : r.cpu)
        if (c.where == machine) return c.busy;
    FAIL("no machine " + machine);
    return 0;
}
double mean_us(const LoadResult& l) { return total(l).latency.mean_ns() * 1e-3; }
// Hardware threads of the client busy for one I/O, in microseconds.
double cpu_us(const RunResult& r, const std::string& machine, double threads) {
    return cpu_of(r, machine) * threads * 1e6 / iops(r.loads[0]);
}
const Settings brief{"run/warm-up=4ms", "run/duration=4ms"};
} // namespace

TEST_CASE("FS1600: with the DPU card the host works on fio's 20 CPUs, with the NIC on others too") {
    constexpr double pinned = 20.0 / 64;
    const RunResult dpu = run_testbed("fungible/fc200.yaml", brief),
                    nic = run_testbed("fungible/nic.yaml", brief);
    CHECK(cpu_of(dpu, "client/0") < pinned);
    CHECK(cpu_of(nic, "client/0") > pinned);
    for (const StationResult& s : dpu.stations) // nobody else works on the host
        CHECK(s.name.find("/interrupts") == std::string::npos);
    // At a load that gives similar latency the DPU moves about twice as much.
    CHECK(iops(dpu.loads[0]) / iops(nic.loads[0]) == Approx(2.06).epsilon(0.15));
    // The array has room left when four hosts are at their limits.
    for (const StationResult& s : dpu.stations)
        if (s.name.find("/processors") != std::string::npos ||
            s.name.find("/controller") != std::string::npos) {
            INFO(s.name);
            CHECK(s.utilisation < 0.95);
        }
}

TEST_CASE("FS1600: the NIC reaches the DPU's reads at several times its latency and host CPU") {
    const RunResult dpu = run_testbed("fungible/fc200.yaml", brief),
                    raised = run_testbed("fungible/nic-raised.yaml",
                                         {"run/warm-up=10ms", "run/duration=10ms"});
    CHECK(iops(raised.loads[0]) == Approx(iops(dpu.loads[0])).epsilon(0.02));
    CHECK(mean_us(raised.loads[0]) > 4 * mean_us(dpu.loads[0]));
    CHECK(cpu_of(raised, "client") > 0.6);
    CHECK(cpu_of(raised, "client") > 4 * cpu_of(dpu, "client/0"));
    // Writes are not paced by the array, and take what the host has left.
    const RunResult writes =
        run_testbed("fungible/nic-raised.yaml", {"loads/h1/fio/rw=randwrite", "run/scale=512",
                                                 "run/warm-up=10ms", "run/duration=10ms"});
    CHECK(iops(writes.loads[0]) > 1.2 * iops(raised.loads[0]));
    CHECK(cpu_of(writes, "client") > 0.9);
}

TEST_CASE("the same drives over RDMA and over TCP: RDMA answers sooner and costs hosts less") {
    const auto over = [](const std::string& protocol, Settings s) {
        s.push_back("arrays/main/export/is=linux-nvmet-target");
        s.push_back("arrays/main/export/protocol=" + protocol);
        s.push_back("loads/l/from=client/0");
        s.push_back("run/warm-up=4ms");
        return run_testbed("mangstor/nx6320.yaml", s);
    };
    const Settings one{"loads/l/fio/iodepth=1", "loads/l/fio/numjobs=1", "run/duration=20ms"},
        many{"loads/l/fio/iodepth=32", "loads/l/fio/numjobs=48", "run/duration=10ms"};
    const RunResult rdma_one = over("nvme-rdma", one), tcp_one = over("nvme-tcp", one),
                    rdma = over("nvme-rdma", many), tcp = over("nvme-tcp", many);
    constexpr double threads = 48;
    CHECK(mean_us(rdma_one.loads[0]) < mean_us(tcp_one.loads[0]));
    CHECK(cpu_us(rdma_one, "client/0", threads) * 2 < cpu_us(tcp_one, "client/0", threads));
    // The one port is full either way: RoCE's frames of 1 KiB carry less than TCP's of 1448 bytes.
    CHECK(iops(rdma.loads[0]) == Approx(iops(tcp.loads[0])).epsilon(0.1));
    CHECK(cpu_us(rdma, "client/0", threads) * 2 < cpu_us(tcp, "client/0", threads));
    CHECK(cpu_us(rdma, "storage", threads) < cpu_us(tcp, "storage", threads));
}

TEST_CASE("FC-NVMe beside FCP on the same ports is no better where target or array binds") {
    const auto over = [](const std::string& file, Settings s, const Settings& more) {
        s.insert(s.end(), more.begin(), more.end());
        return run_testbed(file, s);
    };
    const Settings fc_nvme{"arrays/main/export/protocol=fc-nvme",
                           "arrays/main/export/is=linux-nvmet-target"},
        as_scst{
            "arrays/main/export/protocol=fc-nvme",      "arrays/main/export/is=linux-nvmet-target",
            "arrays/main/export/contexts_per_volume=1", "arrays/main/export/target_read=3.08us",
            "arrays/main/export/target_write=31.7us",   "arrays/main/export/target_send=0us",
            "arrays/main/export/target_receive=0us"};
    const Settings writes{"loads/l/fio/rw=randwrite", "loads/l/fio/iodepth=16", "run/warm-up=15ms",
                          "run/duration=15ms"},
        reads{"loads/l/fio/iodepth=16", "run/warm-up=5ms", "run/duration=10ms"};
    const auto binds = [](const RunResult& r) { return r.bottleneck.name; };

    // A target that does the same work for a command of either kind.
    const RunResult scsi = over("starwind/remote-graid.yaml", writes, {}),
                    nvme = over("starwind/remote-graid.yaml", writes, as_scst);
    CHECK(binds(scsi) == "main/target");
    CHECK(binds(nvme) == "main/target");
    CHECK(iops(nvme.loads[0]) == Approx(iops(scsi.loads[0])).epsilon(0.02));

    // Md's lock is nearly full either way, although the NVMe target works less for a command.
    const RunResult md_scsi = over("starwind/remote-md.yaml", reads, {}),
                    md_nvme = over("starwind/remote-md.yaml", reads, fc_nvme);
    CHECK(binds(md_nvme) == "main/lock");
    CHECK(iops(md_nvme.loads[0]) == Approx(iops(md_scsi.loads[0])).epsilon(0.1));
}

TEST_CASE("1M reads nearly fill eight ports of 32GFC, and nothing else") {
    const RunResult r = run_testbed(
        "starwind/remote-graid.yaml",
        {"loads/l/fio/rw=read", "loads/l/fio/bs=1m", "loads/l/fio/numjobs=4",
         "loads/l/fio/iodepth=8", "loads/l/fio/size=6%", "loads/l/fio/offset_increment=6%",
         "machines/storage/drives/ssd/state=filled", "run/scale=8192", "run/until=duration",
         "run/warm-up=60ms", "run/duration=40ms"});
    CHECK(bandwidth_bytes(r.loads[0]) > 0.9 * 8 * 3.3e9); // of what frames leave of eight wires
    CHECK(r.bottleneck.name.find("/port/") != std::string::npos);
    for (const StationResult& s : r.stations)
        if (s.name.find("port/") == std::string::npos) {
            INFO(s.name);
            CHECK(s.utilisation < 0.9);
        }
}
