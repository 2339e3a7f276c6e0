// Who learns what of a fault, and when.
#include "tests/fabric/bed.hpp"
#include <set>

using namespace storlab;
using namespace storlab::test;

namespace {

// host - red - target, and a connection across.
struct Across : Bed {
    ConnectionEnds ends;
    std::unique_ptr<Inbox> host, target;
    explicit Across(const ConnectionOptions& o) {
        network.add_switch("red");
        network.add_port("host/0");
        network.add_port("target/0");
        network.cable("host/0", "red", {.speed = speed("32GFC"), .name = "near"});
        network.cable("target/0", "red", {.speed = speed("32GFC"), .name = "far"});
        ends = connect("host/0", "target/0", o);
        host = std::make_unique<Inbox>(calendar, *ends.a);
        target = std::make_unique<Inbox>(calendar, *ends.b);
    }
    void ask_at(Duration t, uint32_t tag = 0) {
        at(t, [this, tag] { send(*ends.a, tag, 4096); });
    }
};
ConnectionOptions rc() {
    return {.format = FrameFormat::rocev2(9000),
            .transport = TransportOptions::reliable_connection()};
}
const Duration fault = Duration::ms(1);

} // namespace

TEST_CASE("A link that goes down at the local port is known there at once, on every transport") {
    for (const ConnectionOptions& o : {fc(), tcp(), rc()}) {
        Across w(o);
        w.at(fault, [&] { w.network.set_cable("near", CableState::down); });
        w.ask_at(fault + Duration::us(1)); // goes nowhere, harms nobody
        w.run();
        REQUIRE(w.host->why == Loss::link_down);
        CHECK(w.host->when == Instant::at(fault));
        CHECK(w.target->count == 0);
    }
}

TEST_CASE("That the peer's link is down is the fabric's to tell, and only Fibre Channel's does") {
    Across w(fc());
    w.at(fault, [&] { w.network.set_cable("far", CableState::down); });
    w.run();
    REQUIRE(w.host->why == Loss::peer_gone);
    CHECK(w.host->when == Instant::at(fault + Duration::s(2)));
    REQUIRE(w.target->why == Loss::link_down);
    CHECK(w.target->when == Instant::at(fault));

    Across t(tcp());
    t.at(fault, [&] { t.network.set_cable("far", CableState::down); });
    t.run();
    CHECK(!t.host->why); // idle: nobody tells it
}

TEST_CASE("TCP in a black hole retries for 924.6 s, or for as long as its user lets it") {
    for (const Duration user : {Duration{}, Duration::s(30), Duration::ms(50)}) {
        ConnectionOptions o = tcp();
        o.transport.user_timeout = user;
        Across w(o);
        w.at(fault, [&] { w.network.set_cable("far", CableState::silent); });
        for (uint32_t i = 0; i < 3; i++) w.ask_at(fault * 2 + Duration::us(i), i);
        w.run();
        REQUIRE(w.host->why == Loss::timed_out);
        const Duration expected = user > Duration{} ? user : Duration::ms(924600);
        CHECK(w.host->when == Instant::at(fault * 2 + expected));
        CHECK(!w.target->why);
        CHECK(w.network.messages_idle() == w.network.messages_made());
    }
}

TEST_CASE("An RDMA connection gives up after eight time-outs of 67 ms; Fibre Channel never") {
    Across w(rc());
    w.at(fault, [&] { w.network.set_cable("far", CableState::silent); });
    w.ask_at(fault * 2);
    w.run();
    REQUIRE(w.host->why == Loss::timed_out);
    CHECK((w.host->when - Instant::at(fault * 2)).in_seconds() == Approx(8 * 0.067108864));

    Across f(fc());
    f.at(fault, [&] { f.network.set_cable("far", CableState::silent); });
    f.ask_at(fault * 2);
    f.run();
    CHECK(!f.host->why);
    CHECK(f.target->count == 0);
    CHECK(f.network.counts().lost == 1);
}

TEST_CASE("A peer whose system went away is noticed when it is back and answers so") {
    Across w(tcp());
    w.at(fault, [&] { w.network.set_power("target", false); });
    w.ask_at(fault * 2);
    w.at(Duration::s(1), [&] { w.network.set_power("target", true); });
    w.run();
    REQUIRE(w.host->why == Loss::peer_gone);
    // Sent again after 0.2, 0.6 and 1.4 s: the third meets the system that is back.
    CHECK(w.host->when > Instant::at(fault * 2 + Duration::ms(1400)));
    CHECK(w.host->when < Instant::at(fault * 2 + Duration::ms(1401)));
    CHECK(!w.target->why); // what ran there is no more

    Across f(fc());
    f.at(fault, [&] { f.network.set_power("target", false); });
    f.run();
    REQUIRE(f.host->why == Loss::peer_gone);
    CHECK(f.host->when == Instant::at(fault + Duration::s(2)));
}

TEST_CASE("A switch without power takes the light from all its cables") {
    Across w(tcp());
    w.at(fault, [&] { w.network.set_power("red", false); });
    w.run();
    CHECK(w.host->why == Loss::link_down);
    CHECK(w.target->why == Loss::link_down);
    CHECK(!w.network.connect("host/0", "target/0", tcp()).a);
    CHECK(!w.network.reachable("host/0", "target/0"));
    w.network.set_power("red", true);
    CHECK(w.network.reachable("host/0", "target/0"));
    CHECK(w.network.connect("host/0", "target/0", tcp()).a);
}

TEST_CASE("A silence that ends in time costs TCP a time-out and the user nothing else") {
    Across w(tcp());
    w.at(fault, [&] { w.network.set_cable("near", CableState::silent); });
    for (uint32_t i = 0; i < 50; i++) w.ask_at(fault * 2 + Duration::us(i), i);
    w.at(Duration::s(1), [&] { w.network.set_cable("near", CableState::up); });
    for (uint32_t i = 50; i < 60; i++) w.ask_at(Duration::s(1) + Duration::us(i), i);
    w.run();
    CHECK(!w.host->why);
    REQUIRE(w.target->count == 60);
    for (uint32_t i = 0; i < 60; i++) CHECK(w.target->arrivals[i].tag == i);
    // What is sent after the silence shows the gap: no need to wait for the next time-out.
    CHECK(w.target->arrivals[0].at < Instant::at(Duration::ms(1001)));
    CHECK(w.target->arrivals[0].at > Instant::at(Duration::s(1)));
}

TEST_CASE("Frames under way when a link fails do not arrive after it is back") {
    Across w(fc());
    for (uint32_t i = 0; i < 100; i++) w.ask_at(Duration::us(100), i);
    w.at(Duration::us(150), [&] {
        CHECK(w.target->count > 10);
        w.network.set_cable("far", CableState::down);
        w.network.set_cable("far", CableState::up);
    });
    w.run();
    CHECK(w.target->count < 50);
    CHECK(w.target->count + w.network.counts().lost >= w.target->count);
    CHECK(w.network.messages_idle() == w.network.messages_made());
    CHECK(w.target->why == Loss::link_down);
}

TEST_CASE("An end that is closed is heard by the other, unless the way is broken") {
    for (const bool broken : {false, true}) {
        Across w(tcp());
        w.at(fault, [&] {
            if (broken) w.network.set_cable("far", CableState::silent);
            w.ends.a->close();
        });
        w.run();
        CHECK(w.target->why.has_value() == !broken);
        CHECK(!w.host->why);
        if (!broken) {
            CHECK(w.target->why == Loss::peer_gone);
            CHECK(w.target->when > Instant::at(fault));
            CHECK(w.target->when < Instant::at(fault + Duration::us(5)));
        }
    }
}

namespace {
// Two hosts and two targets on two switches with two cables between them.
struct Pair : Bed {
    Pair() {
        for (const char* name : {"red", "blue"}) network.add_switch(name, {.buffer = 64 << 10});
        for (const char* name : {"isl/0", "isl/1"})
            network.cable("red", "blue", {.speed = speed("32GFC"), .name = name});
        for (const char* name : {"host/0", "host/1"}) {
            network.add_port(name);
            network.cable(name, "red", {.speed = speed("32GFC")});
        }
        for (const char* name : {"target/0", "target/1"}) {
            network.add_port(name);
            network.cable(name, "blue", {.speed = speed("32GFC")});
        }
    }
    uint64_t served(const char* isl) const {
        return station(std::string("red > blue (") + isl + ")").served;
    }
};
} // namespace

TEST_CASE("Connections are spread over equal cables, leave a dead one and come back") {
    Pair w;
    std::deque<Inbox> in;
    std::vector<Connection*> from;
    for (int i = 0; i < 8; i++) {
        const ConnectionEnds c =
            w.connect(i % 4 < 2 ? "host/0" : "host/1", i % 4 < 2 ? "target/0" : "target/1", fc());
        in.emplace_back(w.calendar, *c.b);
        from.push_back(c.a);
    }
    const auto burst = [&](Duration t) {
        w.at(t, [&] {
            for (Connection* c : from)
                for (uint32_t k = 0; k < 10; k++) send(*c, k, 4096);
        });
    };
    burst(Duration::ms(1));
    w.at(Duration::ms(2), [&] {
        CHECK(w.served("isl/0") == 40);
        CHECK(w.served("isl/1") == 40);
        w.network.set_cable("isl/0", CableState::down);
    });
    burst(Duration::ms(5)); // before the switches have found the other way
    w.at(Duration::ms(6), [&] { CHECK(w.network.counts().lost == 40); });
    burst(Duration::ms(20));
    w.at(Duration::ms(21), [&] {
        CHECK(w.network.counts().lost == 40);
        CHECK(w.served("isl/0") == 40);
        CHECK(w.served("isl/1") == 160);
        w.network.set_cable("isl/0", CableState::up);
    });
    burst(Duration::ms(40));
    w.run();
    CHECK(w.served("isl/0") == 80);
    CHECK(w.served("isl/1") == 200);
    for (const Inbox& i : in) CHECK(!i.why);
}

TEST_CASE("Without another way Fibre Channel says so to both ends, and TCP waits") {
    for (const bool is_fc : {true, false}) {
        Pair w;
        const ConnectionEnds c = w.connect("host/0", "target/0", is_fc ? fc() : tcp());
        Inbox a(w.calendar, *c.a), b(w.calendar, *c.b);
        for (const char* isl : {"isl/0", "isl/1"})
            w.at(fault, [&w, isl] { w.network.set_cable(isl, CableState::down); });
        w.at(fault * 2, [&] { send(*c.a, 1, 4096); });
        w.at(Duration::s(4), [&] { w.network.set_cable("isl/1", CableState::up); });
        w.run();
        if (is_fc) {
            CHECK(a.why == Loss::peer_gone);
            CHECK(b.why == Loss::peer_gone);
            CHECK(a.when == Instant::at(fault + Duration::ms(10) + Duration::s(2)));
        } else {
            CHECK(!a.why);
            CHECK(b.count == 1); // tried at 0.2, 0.6, 1.4, 3 and 6.2 s
            CHECK(b.arrivals[0].at > Instant::at(Duration::ms(6200)));
            CHECK(b.arrivals[0].at < Instant::at(Duration::ms(6203)));
        }
    }
}
