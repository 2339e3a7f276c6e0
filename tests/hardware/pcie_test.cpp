// Switches, uplinks and the link between sockets: every rate and every delay is a closed form.
#include "models/gpu/raid_card.hpp"
#include "models/host/nvme_driver.hpp"
#include "models/pcie/tree.hpp"
#include "models/ssd/ssd.hpp"
#include "tests/support/drive_load.hpp"
#include <catch2/catch.hpp>
#include <memory>

using namespace storlab;
using test::DriveLoad;

namespace {
constexpr uint32_t large = 32; // blocks of 4 KiB
const Bytes large_bytes = Bytes(4096) * large;

// A drive of which nothing is slow but its link: nothing was ever written, so no die is read.
SsdOptions link_only(int lanes = 4) {
    SsdOptions o;
    o.blocks = 4096;
    o.over_provisioning = 0.3;
    o.channel_rate = o.backend_rate = Rate::bytes_per_second(1e12);
    o.link.lanes = lanes;
    return o;
}
PcieOptions link(int generation, int lanes) {
    PcieOptions o;
    o.generation = generation;
    o.lanes = lanes;
    o.hop = Duration::ns(100);
    return o;
}
SocketLinkOptions two_sockets(double bytes_per_second) {
    return {2, Rate::bytes_per_second(bytes_per_second), Duration::ns(60)};
}
StationCount station(const PcieTree& tree, Instant now, const std::string& name) {
    std::vector<StationDescription> all;
    tree.describe("box", now, all);
    for (const StationDescription& s : all)
        if (s.name == name) return s.count;
    throw std::logic_error("no station " + name);
}

// Drives, each reached by a route and with so many commands of 128 KiB in flight all the time.
struct Drives {
    Calendar calendar;
    std::vector<std::unique_ptr<Ssd>> ssds;
    std::vector<std::unique_ptr<DriveLoad>> loads;

    void add(const PcieRoute& route, double write_share = 0, const SsdOptions& o = link_only()) {
        ssds.push_back(std::make_unique<Ssd>(calendar, o));
        loads.push_back(std::make_unique<DriveLoad>(
            calendar, ssds.back()->reached_by(route),
            test::DriveLoadOptions{
                .depth = 8, .blocks = large, .write_share = write_share, .seed = ssds.size()}));
    }
    // Commands a second of all drives, once they are under way.
    double rate() {
        loads[0]->rate_over(200);
        const auto done = [&] {
            uint64_t n = 0;
            for (const auto& s : ssds) {
                std::vector<StationDescription> all;
                s->describe("ssd", all);
                n += all[0].count.served; // the controller's
            }
            return n;
        };
        const uint64_t from = done();
        const Instant began = calendar.now();
        loads[0]->rate_over(2000);
        return static_cast<double>(done() - from) / (calendar.now() - began).in_seconds();
    }
};

// The latency of one command to an idle drive.
Duration alone(BlockDevice& by, Calendar& calendar, Op op) {
    std::vector<std::byte> data(size_t{large} * 16);
    Instant end;
    const auto one = [&]() -> Task<void> {
        co_await by.io(op, Lba{0}, large, data.data());
        end = calendar.now();
    };
    const Instant began = calendar.now();
    one().detach(nullptr, [](void*) { return nothing(); }).resume();
    calendar.run_until(began + Duration::ms(10));
    return end - began;
}
} // namespace

TEST_CASE("drives behind a narrow uplink read at the uplink's rate, however many they are") {
    for (const uint32_t n : {2u, 4u, 8u}) {
        PcieTree tree({});
        PcieSwitch& plx = tree.add_switch("plx", link(4, 4), 0);
        Drives drives;
        for (uint32_t i = 0; i < n; i++) drives.add(tree.to_memory({0, &plx}, 0));
        const double most = 1 / plx.uplink.write_time(large_bytes).in_seconds();
        INFO(n << " drives");
        CHECK(drives.rate() == Approx(most).epsilon(0.005));
        // Every byte went through it, and it never stood still.
        const Instant now = drives.calendar.now();
        CHECK(station(tree, now, "box/plx/uplink/up").busy / (now - Instant()) > 0.99);
        CHECK(station(tree, now, "box/plx/uplink/down").busy == Duration());
    }
}

TEST_CASE("written data comes down the uplink, in completions") {
    PcieTree tree({});
    PcieSwitch& plx = tree.add_switch("plx", link(4, 2), 0);
    Drives drives;
    for (int i = 0; i < 4; i++) drives.add(tree.to_memory({0, &plx}, 0), 1);
    CHECK(drives.rate() ==
          Approx(1 / plx.uplink.read_time(large_bytes).in_seconds()).epsilon(0.005));
    CHECK(station(tree, drives.calendar.now(), "box/plx/uplink/up").busy == Duration());
}

TEST_CASE("drives with lanes enough are held back by nothing but their own links") {
    PcieTree tree({});
    PcieSwitch& plx = tree.add_switch("plx", link(4, 16), 0);
    Drives drives;
    for (int i = 0; i < 3; i++) drives.add(tree.to_memory({0, &plx}, 0));
    const PcieLink own(link_only().link);
    CHECK(drives.rate() == Approx(3 / own.write_time(large_bytes).in_seconds()).epsilon(0.005));
}

TEST_CASE("peer to peer behind one switch does not touch the uplink") {
    PcieTree tree({});
    PcieSwitch &one = tree.add_switch("one", link(4, 1), 0),
               &other = tree.add_switch("other", link(4, 2), 0);
    Drives near;
    for (int i = 0; i < 4; i++) near.add(tree.to_peer({0, &one}, {0, &one}));
    const PcieLink own(link_only().link);
    CHECK(near.rate() == Approx(4 / own.write_time(large_bytes).in_seconds()).epsilon(0.005));
    const Instant now = near.calendar.now();
    CHECK(station(tree, now, "box/one/uplink/up").served == 0);
    CHECK(station(tree, now, "box/one/uplink/down").served == 0);
    // To a device behind another switch it is up the one and down the other.
    Drives far;
    far.add(tree.to_peer({0, &other}, {0, &one}));
    CHECK(far.rate() == Approx(1 / one.uplink.write_time(large_bytes).in_seconds()).epsilon(0.005));
    CHECK(station(tree, now, "box/other/uplink/up").served > 2000);
    CHECK(station(tree, now, "box/one/uplink/down").served > 2000);
    CHECK(station(tree, now, "box/one/uplink/up").served == 0);
}

TEST_CASE("data goes through a switch without being stored") {
    // x16, x4 and x1 behind a drive's x4: what the slowest station takes, once, and the delays.
    for (const int lanes : {16, 4, 1})
        for (const Op op : {Op::read, Op::write}) {
            PcieTree tree({});
            PcieSwitch& plx = tree.add_switch("plx", link(4, lanes), 0);
            Calendar calendar;
            Ssd ssd(calendar, link_only());
            BlockDevice& behind = ssd.reached_by(tree.to_memory({0, &plx}, 0));
            const Duration direct = alone(ssd, calendar, op), through = alone(behind, calendar, op);
            const PcieLink own(link_only().link);
            const auto time = [&](const PcieLink& l) {
                return op == Op::read ? l.write_time(large_bytes) : l.read_time(large_bytes);
            };
            const Duration slower = std::max(time(own), time(plx.uplink)) - time(own);
            INFO("x" << lanes << (op == Op::read ? " read" : " write"));
            // Through the switch with the command, and with the answer.
            CHECK(through - direct == plx.uplink.hop() * 2 + slower);
        }
}

TEST_CASE("the link between sockets limits drives on the far one, and only them") {
    constexpr double thin = 2e9;
    PcieTree tree(two_sockets(thin));
    Drives far;
    for (int i = 0; i < 3; i++) far.add(tree.to_memory({1, nullptr}, 0));
    CHECK(far.rate() == Approx(thin / static_cast<double>(large_bytes.count())).epsilon(0.005));
    const Instant now = far.calendar.now();
    CHECK(station(tree, now, "box/sockets/1-0").served > 2000);
    CHECK(station(tree, now, "box/sockets/0-1").served == 0);
    CHECK(tree.to_memory({1, nullptr}, 1).is_direct());
    // Writes fetch their data the other way.
    Drives writes;
    for (int i = 0; i < 3; i++) writes.add(tree.to_memory({1, nullptr}, 0), 1);
    CHECK(writes.rate() == Approx(thin / static_cast<double>(large_bytes.count())).epsilon(0.005));
    CHECK(station(tree, now, "box/sockets/0-1").served > 2000);
}

TEST_CASE("four sockets share their links: each pair has a third") {
    PcieTree tree({4, Rate::bytes_per_second(6e9), Duration::ns(60)});
    Drives far;
    for (int i = 0; i < 2; i++) far.add(tree.to_memory({3, nullptr}, 1));
    CHECK(far.rate() == Approx(2e9 / static_cast<double>(large_bytes.count())).epsilon(0.005));
}

TEST_CASE("a drive behind a switch on the far socket crosses both, the slower one limits") {
    for (const double between : {1e9, 50e9}) {
        PcieTree tree(two_sockets(between));
        PcieSwitch& plx = tree.add_switch("plx", link(4, 2), 1);
        Drives drives;
        for (int i = 0; i < 3; i++) drives.add(tree.to_memory({1, &plx}, 0));
        const double uplink = 1 / plx.uplink.write_time(large_bytes).in_seconds(),
                     sockets = between / static_cast<double>(large_bytes.count());
        CHECK(drives.rate() == Approx(std::min(uplink, sockets)).epsilon(0.005));
    }
}

TEST_CASE("data is where the thread that submits runs; nobody's data takes the sockets in turn") {
    Calendar calendar;
    PcieTree tree(two_sockets(50e9));
    Processor processor(calendar, {.sockets = 2, .cores_per_socket = 4}, PriceList{});
    Thread* threads[] = {&processor.start_thread(), &processor.start_thread()};
    processor.seal();
    Ssd ssd(calendar, link_only());
    NvmeDriver driver(ssd, {&ssd, &ssd.reached_by(tree.to_memory({0, nullptr}, 1))}, &processor);
    std::vector<std::byte> data(size_t{large} * 16);
    const auto reads = [&](Cpu* cpu, int n) -> Task<void> {
        for (int i = 0; i < n; i++) {
            Io io = driver.read(Lba{0}, large, data.data());
            io.cpu = cpu;
            co_await io;
        }
    };
    const auto crossed = [&](Cpu* cpu, int n) {
        const uint64_t from = station(tree, calendar.now(), "box/sockets/0-1").served;
        reads(cpu, n).detach(nullptr, [](void*) { return nothing(); }).resume();
        calendar.run_until(calendar.now() + Duration::s(1));
        return station(tree, calendar.now(), "box/sockets/0-1").served - from;
    };
    REQUIRE(threads[0]->socket() == 0);
    REQUIRE(threads[1]->socket() == 1);
    CHECK(crossed(threads[0], 50) == 0);
    CHECK(crossed(threads[1], 50) == 50);
    CHECK(crossed(nullptr, 50) == 25);
    CHECK(station(tree, calendar.now(), "box/sockets/1-0").served == 0);
}

TEST_CASE("a RAID card behind a narrow uplink gets its bytes at the uplink's rate") {
    for (const uint32_t memories : {1u, 2u}) { // half from a socket with a link as thin
        PcieTree tree(memories == 1 ? SocketLinkOptions() : two_sockets(1e9));
        PcieSwitch& plx = tree.add_switch("plx", link(4, 1), 0);
        Calendar calendar;
        std::vector<const PcieRoute*> memory;
        for (uint32_t s = 0; s < memories; s++) memory.push_back(&tree.to_memory({0, &plx}, s));
        PriceList prices{};
        RaidCard card(calendar, link(4, 16), prices, memory);
        struct Done : Job {
            Instant at;
            Calendar* calendar;
        } jobs[200];
        constexpr uint32_t bytes = 1 << 20;
        for (Done& j : jobs) {
            j.calendar = &calendar;
            j.work.bytes_in = bytes;
            j.work.bytes_out = bytes / 4;
            j.fire = [](Event& e) {
                auto& done = static_cast<Done&>(e);
                done.at = done.calendar->now();
            };
            card.run(j);
        }
        calendar.run_until(Instant::at(Duration::s(10)));
        Instant last;
        for (const Done& j : jobs) last = later(last, j.at);
        const double uplink = 200 * plx.uplink.read_time(Bytes(bytes)).in_seconds();
        CHECK((last - Instant()).in_seconds() == Approx(uplink).epsilon(0.01));
        // Parity goes up, and nobody waits for it.
        const Instant end = Instant::at(Duration::s(10));
        CHECK(station(tree, end, "box/plx/uplink/up").busy.in_seconds() ==
              Approx(200 * plx.uplink.write_time(Bytes(bytes / 4)).in_seconds()).epsilon(0.001));
        if (memories == 2) CHECK(station(tree, calendar.now(), "box/sockets/1-0").served == 100);
    }
}
