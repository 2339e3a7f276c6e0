// What the cards at the ends of cables limit.
#include "sim/base/random.hpp"
#include "tests/fabric/bed.hpp"

using namespace storlab;
using namespace storlab::test;

namespace {

constexpr uint8_t command = 1;
bool is_command(const Message& m) { return m.kind == command; }

void send_kind(Connection& c, uint8_t kind, uint32_t bytes) {
    Message& m = c.message();
    m.kind = kind;
    m.wire_bytes = bytes;
    c.send(m);
}

// Keeps so many messages under way from a to b; returns how many arrive a second.
struct Stream {
    Inbox in;
    uint64_t before = 0;
    Stream(Bed& bed, const ConnectionEnds& c, uint32_t outstanding, uint8_t kind, uint32_t bytes)
        : in(bed.calendar, *c.b) {
        in.keep = false;
        Connection* const from = c.a;
        in.then = [=](Message&) { send_kind(*from, kind, bytes); };
        for (uint32_t i = 0; i < outstanding; i++) send_kind(*from, kind, bytes);
    }
    double rate(Duration since) const {
        return static_cast<double>(in.count - before) / since.in_seconds();
    }
};

} // namespace

TEST_CASE("An adapter's ports share its commands a second; data does not count as a command") {
    Bed bed;
    Adapter& hba = bed.network.add_adapter("host/hba", {.per_command = Duration::ns(500)});
    for (const char* n : {"0", "1"}) {
        const std::string host = std::string("host/port/") + n, far = std::string("far/") + n;
        bed.network.add_port(host, {.adapter = &hba});
        bed.network.add_port(far);
        bed.network.cable(host, far, {.speed = speed("32GFC")});
    }
    ConnectionOptions o = fc();
    o.counted_a = is_command;
    std::deque<Stream> streams;
    for (const char* n : {"0", "1"})
        streams.emplace_back(bed,
                             bed.connect(std::string("host/port/") + n, std::string("far/") + n, o),
                             16, command, 64);
    bed.run_until(Duration::ms(10));
    CHECK(streams[0].rate(Duration::ms(10)) == Approx(1e6).epsilon(0.001));
    CHECK(streams[1].rate(Duration::ms(10)) == Approx(1e6).epsilon(0.001));
    CHECK(bed.station("host/hba").busy == Duration::ms(10));
    // The same as data: only the wire is in the way.
    Bed data;
    data.network.add_port(
        "host", {.adapter = &data.network.add_adapter("hba", {.per_command = Duration::ns(500)})});
    data.network.add_port("far");
    data.network.cable("host", "far", {.speed = speed("32GFC")});
    const Stream s(data, data.connect("host", "far", o), 16, 0, 64);
    data.run_until(Duration::ms(10));
    CHECK(s.rate(Duration::ms(10)) == Approx(3.4e9 / 124).epsilon(0.001));
}

TEST_CASE("Every message costs an adapter with a message rate its time") {
    Bed bed;
    Adapter& nic = bed.network.add_adapter(
        "nic", {.per_command = Duration::ns(300), .per_message = Duration::ns(100)});
    bed.network.add_port("host", {.adapter = &nic});
    bed.network.add_port("far");
    bed.network.cable("host", "far", {.speed = speed("100GbE")});
    ConnectionOptions o = tcp();
    o.counted_a = is_command;
    const ConnectionEnds c = bed.connect("host", "far", o);
    const Stream commands(bed, c, 8, command, 64);
    bed.run_until(Duration::ms(10));
    CHECK(commands.rate(Duration::ms(10)) == Approx(1 / 400e-9).epsilon(0.001));
}

TEST_CASE("Reads of one host meet the target's association: a time for each, and bytes at 95 %") {
    // Fungible FS1600: 2.016M reads of 4 KiB and 140k of 64 KiB over one 100GbE port, MTU 1500.
    for (const bool two_hosts : {false, true}) {
        for (const auto& [bytes, published] :
             {std::pair<uint32_t, double>{4096, 2.016e6}, {65536, 167e3}}) {
            Bed bed;
            bed.network.add_switch("tor", {.latency = Duration::us(1), .buffer = 4 << 20});
            bed.network.add_port("array/0",
                                 {.association = {.scope = AssociationScope::remote_machine,
                                                  .per_answer = Duration::ns(125),
                                                  .link_share = 0.95}});
            bed.network.cable("array/0", "tor", {.speed = speed("100GbE")});
            ConnectionOptions o = tcp();
            o.counted_a = [](const Message&) { return true; };
            std::deque<Stream> streams;
            for (int host = 0; host <= two_hosts; host++) {
                const std::string name = "host" + std::to_string(host) + "/0";
                bed.network.add_port(name);
                bed.network.cable(name, "tor", {.speed = speed("100GbE")});
                for (int i = 0; i < 4; i++)
                    streams.emplace_back(bed, bed.connect("array/0", name, o), 32, 0, bytes + 24);
            }
            bed.run_until(Duration::ms(5));
            for (Stream& s : streams) s.before = s.in.count;
            bed.run_until(Duration::ms(25));
            double all = 0;
            for (const Stream& s : streams) all += s.rate(Duration::ms(20));
            const uint32_t wire = FrameFormat::tcp(1500).wire(bytes + 24);
            const double one = 1 / (125e-9 + wire / (12.5e9 * 0.95));
            CHECK(one == Approx(published).epsilon(0.01));
            // Two hosts have one each, and meet at the wire.
            const double expected = two_hosts ? std::min(2 * one, 12.5e9 / wire) : one;
            CHECK(all == Approx(expected).epsilon(0.002));
            CHECK(bed.station("array/0 > host0 association").served > 0);
        }
    }
}

TEST_CASE("A port that can use only a share of its wire sends at that share and receives at all") {
    Bed bed;
    bed.network.add_port("a", {.usable_share = 0.983});
    bed.network.add_port("b");
    bed.network.cable("a", "b", {.speed = speed("100GbE")});
    const Stream there(bed, bed.connect("a", "b", tcp()), 8, 0, 65536);
    const Stream back(bed, bed.connect("b", "a", tcp()), 8, 0, 65536);
    bed.run_until(Duration::ms(20));
    const double wire = FrameFormat::tcp(1500).wire(65536);
    CHECK(there.rate(Duration::ms(20)) == Approx(12.5e9 * 0.983 / wire).epsilon(0.001));
    CHECK(back.rate(Duration::ms(20)) == Approx(12.5e9 / wire).epsilon(0.001));
}

TEST_CASE("Collected interrupts are no more than one in their time, and no message waits longer") {
    for (const Duration coalesce : {Duration{}, Duration::us(20)}) {
        Bed bed;
        bed.network.add_port("a");
        bed.network.add_port("b", {.coalesce = coalesce});
        bed.network.cable("a", "b", {.speed = speed("32GFC")});
        const ConnectionEnds c = bed.connect("a", "b", fc());
        Inbox in(bed.calendar, *c.b);
        std::vector<Instant> sent;
        Random random(3, "gaps");
        Duration t;
        for (uint32_t i = 0; i < 5000; i++) {
            t += Duration::ns(static_cast<int64_t>(random.below(6000)));
            bed.at(t, [&, i] {
                send(*c.a, i, 512);
                sent.push_back(bed.calendar.now());
            });
        }
        bed.run();
        REQUIRE(in.count == 5000);
        const Duration longest =
            Bytes(FrameFormat::fibre_channel().wire(512)) / Rate::bytes_per_second(3.4e9);
        uint64_t interrupts = 0;
        Instant last;
        for (size_t i = 0; i < 5000; i++) {
            REQUIRE(in.arrivals[i].tag == i);
            const Instant at = in.arrivals[i].at;
            REQUIRE(at - sent[i] <= coalesce + longest * 3 + Duration::ns(25));
            if (i == 0 || at != last) {
                if (i) REQUIRE(at - last >= coalesce);
                interrupts++;
                last = at;
            }
        }
        CHECK(bed.network.interrupts("b") == (coalesce > Duration{} ? interrupts : 5000));
        if (coalesce > Duration{}) CHECK(interrupts < 1000);
    }
}

TEST_CASE(
    "An adapter that runs the protocol serves as many commands at once as it has processors") {
    PriceList prices{};
    prices[static_cast<size_t>(Operation::adapter_command)] = {Duration::ns(85), 0.5};
    Calendar calendar;
    AdapterEngine engine(calendar, 2, prices);
    struct Done : Job {
        Instant when;
        Calendar* calendar;
    };
    std::array<Done, 5> jobs;
    for (Done& j : jobs) {
        j.calendar = &calendar;
        j.fire = [](Event& e) {
            Done& d = static_cast<Done&>(e);
            d.when = d.calendar->now();
        };
        engine.owe_bytes(j.work, Operation::adapter_command, Bytes(30000)); // 85 + 15 ns
        engine.run(j);
        CHECK(j.work.busy == Duration{});
    }
    calendar.run_until(Instant::at(Duration::ms(1)));
    for (size_t i = 0; i < jobs.size(); i++)
        CHECK(jobs[i].when - Instant{} == Duration::ns(100) * static_cast<int64_t>(i / 2 + 1));
    std::vector<StationDescription> all;
    engine.describe("dpu", all);
    REQUIRE(all.size() == 1);
    CHECK(all[0].servers == 2);
    CHECK(all[0].count.busy == Duration::ns(500));
}

TEST_CASE("Everything a message can wait for is described, with what it can do a second") {
    Bed bed;
    Adapter& hba = bed.network.add_adapter("client/0/hba/0", {.per_command = Duration::ns(500)});
    bed.network.add_switch("red");
    bed.network.add_port("client/0/fc/port/1", {.adapter = &hba, .usable_share = 0.5});
    bed.network.add_port("storage/fc/0", {.association = {.scope = AssociationScope::remote_port,
                                                          .per_answer = Duration::ns(125),
                                                          .link_share = 0.95}});
    bed.network.cable("client/0/fc/port/1", "red", {.speed = speed("32GFC")});
    bed.network.cable("storage/fc/0", "red", {.speed = speed("16GFC"), .name = "c2"});
    bed.connect("client/0/fc/port/1", "storage/fc/0", fc());
    std::vector<StationDescription> all;
    bed.network.describe(all);
    const std::vector<StationCapacity> capacities = bed.network.capacities();
    const std::tuple<const char*, double, double> expected[] = {
        {"client/0/fc/port/1 > red", 1.7e9, 0},
        {"red > client/0/fc/port/1", 3.4e9, 0},
        {"storage/fc/0 > red (c2)", 1.7e9, 0},
        {"red > storage/fc/0 (c2)", 1.7e9, 0},
        {"client/0/hba/0", 0, 2e6},
        {"storage/fc/0 > client/0/fc/port/1 association", 1.7e9 * 0.95, 8e6}};
    REQUIRE(all.size() == std::size(expected));
    REQUIRE(capacities.size() == std::size(expected));
    for (size_t i = 0; i < all.size(); i++) {
        const auto& [name, bytes, commands] = expected[i];
        CHECK(all[i].name == name);
        CHECK(capacities[i].name == name);
        CHECK(capacities[i].bytes.in_bytes_per_second() == Approx(bytes));
        CHECK(capacities[i].commands.per_second() == Approx(commands));
    }
    CHECK(capacities[2].cable == "c2");
}

TEST_CASE("A message that comes at the date of an interrupt does not overtake one that waits") {
    const Duration service = Bytes(FrameFormat::fibre_channel().wire(2048)) / speed("32GFC").rate();
    Bed bed;
    bed.network.add_port("a");
    bed.network.add_port("b", {.coalesce = service * 2});
    bed.network.cable("a", "b", {.speed = speed("32GFC")});
    const ConnectionEnds c = bed.connect("a", "b", fc());
    Inbox in(bed.calendar, *c.b);
    for (uint32_t i = 0; i < 3; i++) send(*c.a, i, 2048);
    bed.run();
    REQUIRE(in.count == 3);
    for (uint32_t i = 0; i < 3; i++) CHECK(in.arrivals[i].tag == i);
    CHECK(in.arrivals[1].at == in.arrivals[0].at + service * 2);
    CHECK(in.arrivals[2].at == in.arrivals[1].at);
    CHECK(bed.network.interrupts("b") == 2);
}
