// Full buffers: who is held, who is dropped, and what that does to everybody else.
#include "tests/fabric/bed.hpp"
#include <memory>

using namespace storlab;
using namespace storlab::test;

namespace {

// Always so many messages of this size under way.
struct Flow {
    Inbox in;
    Flow(Bed& bed, const ConnectionEnds& c, uint32_t outstanding, uint32_t bytes)
        : in(bed.calendar, *c.b) {
        in.keep = false;
        Connection* const from = c.a;
        in.then = [from, bytes](Message&) { send(*from, 0, bytes); };
        for (uint32_t i = 0; i < outstanding; i++) send(*from, 0, bytes);
    }
};

// Two hosts on a switch; the first sends to a slow port and to a fast one.
double victims_rate(int64_t buffer) {
    Bed bed;
    bed.network.add_switch("red", {.buffer = buffer});
    for (const char* name : {"host/0", "host/1", "fast"}) {
        bed.network.add_port(name);
        bed.network.cable(name, "red", {.speed = speed("32GFC")});
    }
    bed.network.add_port("slow");
    bed.network.cable("slow", "red", {.speed = speed("8GFC")});
    Flow a(bed, bed.connect("host/0", "slow", fc()), 16, 65536);
    Flow b(bed, bed.connect("host/1", "slow", fc()), 16, 65536);
    Flow victim(bed, bed.connect("host/0", "fast", fc()), 4, 65536);
    bed.run_until(Duration::ms(50));
    CHECK(bed.network.counts().dropped == 0);
    CHECK(static_cast<double>(a.in.bytes + b.in.bytes) / 0.05 == Approx(0.826e9).epsilon(0.02));
    return static_cast<double>(victim.in.bytes) / 0.05;
}

struct Incast {
    double goodput; // bytes/s at the client
    NetworkCounts counts;
};
// A client asks every server for a block and, when it has them all, for the next ones.
Incast incast(int servers, const SwitchOptions& o, Duration length = Duration::s(4)) {
    Bed bed;
    bed.network.add_switch("tor", o);
    bed.network.add_port("client");
    bed.network.cable("client", "tor", {.speed = speed("10GbE")});
    std::deque<Inbox> asked, answered;
    int outstanding = 0;
    std::vector<Connection*> ask;
    const auto round = [&] {
        for (Connection* c : ask) send(*c, 0, 128);
        outstanding = servers;
    };
    for (int i = 0; i < servers; i++) {
        const std::string name = "server/" + std::to_string(i);
        bed.network.add_port(name);
        bed.network.cable(name, "tor", {.speed = speed("10GbE")});
        const ConnectionEnds c = bed.connect("client", name, tcp());
        Inbox& at_server = asked.emplace_back(bed.calendar, *c.b);
        Connection* const server = c.b;
        at_server.then = [server](Message&) { send(*server, 0, 65536); };
        Inbox& at_client = answered.emplace_back(bed.calendar, *c.a);
        at_client.then = [&](Message&) {
            if (--outstanding == 0) round();
        };
        ask.push_back(c.a);
    }
    round();
    bed.run_until(length);
    uint64_t bytes = 0;
    for (Inbox& in : answered) {
        bytes += in.bytes;
        CHECK(!in.why);
    }
    return {static_cast<double>(bytes) / length.in_seconds(), bed.network.counts()};
}

} // namespace

TEST_CASE("A full port of a lossless switch holds up what is behind its messages, whatever for") {
    const double held = victims_rate(64 << 10), free = victims_rate(int64_t{1} << 40);
    INFO("bytes/s to an idle port: " << held << " behind a full one, " << free << " otherwise");
    // With enough buffer the victim has the host's wire nearly to itself; with little it gets its
    // turn only as often as the slow port takes a message of the same host.
    CHECK(free > 2.5e9);
    CHECK(held < 0.5e9);
    CHECK(held > 0.05e9);
}

TEST_CASE("Backpressure spreads over switches and lets go again") {
    Bed bed;
    for (const char* name : {"red", "blue", "green"})
        bed.network.add_switch(name, {.buffer = 32 << 10});
    bed.network.cable("red", "blue", {.speed = speed("32GFC")});
    bed.network.cable("blue", "green", {.speed = speed("32GFC")});
    bed.network.add_port("host/0");
    bed.network.add_port("host/1");
    bed.network.add_port("slow");
    bed.network.add_port("near");
    bed.network.cable("host/0", "red", {.speed = speed("32GFC")});
    bed.network.cable("host/1", "red", {.speed = speed("32GFC")});
    bed.network.cable("slow", "green", {.speed = speed("8GFC")});
    bed.network.cable("near", "blue", {.speed = speed("32GFC")});
    const ConnectionEnds a = bed.connect("host/0", "slow", fc());
    Inbox in_a(bed.calendar, *a.b);
    const ConnectionEnds b = bed.connect("host/1", "near", fc());
    Inbox in_b(bed.calendar, *b.b);
    for (uint32_t i = 0; i < 200; i++) send(*a.a, i, 65536);
    bed.at(Duration::ms(1), [&] {
        for (uint32_t i = 0; i < 10; i++) send(*b.a, i, 65536);
    });
    bed.run();
    REQUIRE(in_a.count == 200);
    REQUIRE(in_b.count == 10);
    const Duration slow = Bytes(FrameFormat::fibre_channel().wire(65536)) / speed("8GFC").rate();
    CHECK((in_a.arrivals.back().at - in_a.arrivals.front().at) / (slow * 199) ==
          Approx(1).epsilon(0.001));
    // Ten messages would take 0.2 ms alone; each waits for a turn on the held link between.
    const Duration last = in_b.arrivals.back().at - Instant{};
    CHECK(last > Duration::ms(1) + slow * 5);
    CHECK(last < Duration::ms(1) + slow * 30);
}

TEST_CASE("Incast: a shallow buffer that drops collapses; pause or a deep buffer does not") {
    constexpr int64_t shallow = 256 << 10;
    constexpr double line = 1.177e9; // 10GbE, MTU 1500
    for (const int servers : {2, 16, 32}) {
        CAPTURE(servers);
        const Incast drops = incast(servers, {.lossless = false, .buffer = shallow});
        const Incast pauses = incast(servers, {.lossless = true, .buffer = shallow});
        const Incast deep = incast(servers, {.lossless = false, .buffer = 16 << 20});
        INFO("drop " << drops.goodput << ", pause " << pauses.goodput << ", deep " << deep.goodput
                     << "; " << drops.counts.dropped << " drops, " << drops.counts.timeouts
                     << " time-outs");
        CHECK(pauses.goodput > 0.9 * line);
        CHECK(deep.goodput > 0.9 * line);
        CHECK(pauses.counts.dropped + deep.counts.dropped == 0);
        CHECK(pauses.counts.timeouts + deep.counts.timeouts == 0);
        if (servers == 2) {
            CHECK(drops.counts.dropped == 0);
            CHECK(drops.goodput > 0.9 * line);
        } else {
            CHECK(drops.counts.timeouts > 0);
            CHECK(drops.goodput < 0.25 * line);
        }
    }
}

TEST_CASE("Two long flows share a dropping port without time-outs once they know it") {
    Bed bed;
    bed.network.add_switch("tor", {.lossless = false, .buffer = 512 << 10});
    for (const char* name : {"a", "b", "c"}) {
        bed.network.add_port(name);
        bed.network.cable(name, "tor", {.speed = speed("10GbE")});
    }
    Flow x(bed, bed.connect("a", "c", tcp()), 64, 16384);
    Flow y(bed, bed.connect("b", "c", tcp()), 64, 16384);
    bed.run_until(Duration::s(1));
    const uint64_t x1 = x.in.bytes, y1 = y.in.bytes;
    const NetworkCounts before = bed.network.counts();
    bed.run_until(Duration::s(3));
    const auto rate_x = static_cast<double>(x.in.bytes - x1) / 2;
    const auto rate_y = static_cast<double>(y.in.bytes - y1) / 2;
    INFO(rate_x << " + " << rate_y << " bytes/s; " << bed.network.counts().dropped - before.dropped
                << " drops, " << bed.network.counts().timeouts - before.timeouts << " time-outs");
    CHECK(bed.network.counts().dropped > before.dropped);
    CHECK(rate_x + rate_y > 0.8 * 1.177e9);
    CHECK(rate_x > 0.2 * rate_y);
    CHECK(rate_y > 0.2 * rate_x);
}

TEST_CASE("A message larger than a full buffer loses only what does not fit") {
    Bed bed;
    bed.network.add_switch("tor", {.lossless = false, .buffer = 64 << 10});
    for (const char* name : {"a", "b", "c"}) {
        bed.network.add_port(name);
        bed.network.cable(name, "tor", {.speed = speed("10GbE")});
    }
    ConnectionOptions o = tcp();
    o.transport.first_window = 1000;
    const ConnectionEnds x = bed.connect("a", "c", o), y = bed.connect("b", "c", o);
    Inbox in_x(bed.calendar, *x.b), in_y(bed.calendar, *y.b);
    send(*x.a, 1, 100 * 1448);
    send(*y.a, 2, 100 * 1448);
    bed.run();
    REQUIRE(in_x.count == 1);
    REQUIRE(in_y.count == 1);
    CHECK(bed.network.counts().dropped == 1);
    // 100 frames of 1538 queue in front of the second message: of its own, those beyond 64 KiB.
    const uint64_t gone = (100 * 1538 - 65536) / 1538 + 1;
    const uint64_t wire = FrameFormat::tcp(1500).wire(100 * 1448);
    const Duration busy = bed.station("tor > c").busy;
    CHECK(std::abs(
              (busy - Bytes(static_cast<int64_t>(2 * wire)) / speed("10GbE").rate()).count_ps()) <
          10);
    const Duration sent = bed.station("b > tor").busy;
    CHECK(std::abs((sent - Bytes(static_cast<int64_t>(wire + gone * 1538)) / speed("10GbE").rate())
                       .count_ps()) < 10);
    CHECK(in_y.arrivals[0].at - Instant{} > Duration::ms(200));
    CHECK(in_y.arrivals[0].at - Instant{} < Duration::ms(201));
}

TEST_CASE("A fast wire into a slow one fills the buffer at the difference of their speeds") {
    Bed bed;
    bed.network.add_switch("tor", {.lossless = false, .buffer = 64 << 10});
    bed.network.add_port("a");
    bed.network.add_port("b");
    bed.network.cable("a", "tor", {.speed = speed("25GbE")});
    bed.network.cable("b", "tor", {.speed = speed("10GbE")});
    ConnectionOptions o = tcp();
    o.transport.first_window = 1000;
    const ConnectionEnds c = bed.connect("a", "b", o);
    Inbox in(bed.calendar, *c.b);
    send(*c.a, 1, 60 * 1448); // fills 55 kB
    bed.run_until(Duration::ms(1));
    REQUIRE(in.count == 1);
    CHECK(bed.network.counts().dropped == 0);
    send(*c.a, 2, 100 * 1448); // would fill 92 kB
    bed.run();
    CHECK(in.count == 2);
    CHECK(bed.network.counts().dropped == 1);
    const auto over = static_cast<uint64_t>(100 * 1538 * 0.6 - 65536);
    const Duration sent = bed.station("a > tor").busy;
    const uint64_t wire = (60 + 100 + over / 1538 + 1) * 1538;
    CHECK(std::abs((sent - Bytes(static_cast<int64_t>(wire)) / speed("25GbE").rate()).count_ps()) <
          10);
}

TEST_CASE("After a time-out TCP starts slowly: the window doubles every round trip") {
    Bed bed;
    bed.network.add_switch("tor", {.lossless = false, .buffer = 64 << 10});
    constexpr double far = 100e3; // 0.5 ms each way
    for (const char* name : {"a", "b"}) {
        bed.network.add_port(name);
        bed.network.cable(
            name, "tor",
            {.speed = speed(*name == 'a' ? "100GbE" : "10GbE"), .metres = *name == 'a' ? far : 1});
    }
    ConnectionOptions o = tcp();
    o.transport.first_window = 1000;
    const ConnectionEnds c = bed.connect("a", "b", o);
    Inbox in(bed.calendar, *c.b);
    send(*c.a, 1, 100 * 1448);
    bed.run();
    REQUIRE(in.count == 1);
    CHECK(bed.network.counts().timeouts == 1);
    // 48 frames are left: 1, 2, 4, 8, 16 and the rest are six flights, and five round trips.
    CHECK((100 * 1538 * 0.9 - 65536) / 1538 == Approx(47.4).epsilon(0.01));
    const double after = (in.arrivals[0].at - Instant::at(Duration::ms(200))).in_seconds();
    CHECK(after > 5.5e-3);
    CHECK(after < 5.6e-3);
}

TEST_CASE("TCP over a dropping switch has no more than its window under way") {
    constexpr double far = 100e3;                    // 1 ms there and back
    for (const uint32_t message : {1u, 16u, 200u}) { // segments; the last is more than the window
        Bed bed;
        bed.network.add_switch("tor", {.lossless = false, .buffer = 16 << 20});
        for (const char* name : {"a", "b"}) {
            bed.network.add_port(name);
            bed.network.cable(name, "tor", {.speed = speed("100GbE"), .metres = far / 2});
        }
        ConnectionOptions o = tcp();
        o.transport.window = 64 * 1448;
        o.transport.first_window = 64;
        Flow flow(bed, bed.connect("a", "b", o), 256, message * 1448);
        bed.run_until(Duration::ms(100));
        const uint64_t before = flow.in.bytes;
        bed.run_until(Duration::ms(1100));
        const auto rate = static_cast<double>(flow.in.bytes - before);
        CHECK(rate == Approx(64 * 1448 / 1.01e-3).epsilon(0.03));
    }
}
