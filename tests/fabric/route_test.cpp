// What changes of routes and second connections do to what is still under way.
#include "tests/fabric/bed.hpp"

using namespace storlab;
using namespace storlab::test;

namespace {

// Two ways from red to green: by blue and by black, one of them 100 km long.
struct TwoWays : Bed {
    TwoWays(double by_blue, double by_black, int64_t buffer = WireOptions::no_limit)
        : Bed({.reroute = Duration::us(20)}) {
        for (const char* name : {"red", "blue", "black", "green"})
            network.add_switch(name, {.buffer = buffer});
        network.cable("red", "blue", {.speed = speed("16GFC"), .name = "first"});
        network.cable("red", "black", {.speed = speed("16GFC"), .name = "second"});
        network.cable("blue", "green", {.speed = speed("16GFC"), .metres = by_blue});
        network.cable("black", "green", {.speed = speed("16GFC"), .metres = by_black});
        network.add_port("host");
        network.cable("host", "red", {.speed = speed("16GFC")});
        network.add_port("target");
        network.cable("target", "green", {.speed = speed("16GFC")});
    }
};
constexpr double far = 100e3; // 0.5 ms

} // namespace

TEST_CASE("A message overtaken on a shorter way is discarded, or kept in order by TCP") {
    for (const bool is_tcp : {false, true}) {
        TwoWays w(far, 10);
        const ConnectionEnds c = w.connect("host", "target", is_tcp ? tcp() : fc());
        Inbox in(w.calendar, *c.b);
        w.at(Duration::us(100), [&] { send(*c.a, 0, 4096); });
        w.at(Duration::us(200), [&] { w.network.set_cable("first", CableState::down); });
        w.at(Duration::us(300), [&] { send(*c.a, 1, 4096); });
        w.run();
        CHECK(!in.why);
        if (is_tcp) {
            REQUIRE(in.count == 2);
            CHECK(in.arrivals[0].tag == 0);
            CHECK(in.arrivals[1].tag == 1);
            CHECK(in.arrivals[1].at == in.arrivals[0].at);
        } else {
            REQUIRE(in.count == 1);
            CHECK(in.arrivals[0].tag == 1);
            CHECK(in.arrivals[0].at < Instant::at(Duration::us(320)));
        }
        CHECK(w.network.messages_idle() == w.network.messages_made());
    }
}

TEST_CASE("A better way is taken only when nothing is under way on the other") {
    TwoWays w(10, far);
    w.network.set_cable("first", CableState::down);
    const ConnectionEnds c = w.connect("host", "target", fc());
    Inbox in(w.calendar, *c.b);
    w.at(Duration::us(100), [&] { send(*c.a, 0, 4096); });
    w.at(Duration::us(200), [&] { w.network.set_cable("first", CableState::up); });
    w.at(Duration::us(300), [&] { send(*c.a, 1, 4096); });
    w.at(Duration::ms(2), [&] { send(*c.a, 2, 4096); });
    w.run();
    REQUIRE(in.count == 3);
    for (uint32_t i = 0; i < 3; i++) CHECK(in.arrivals[i].tag == i);
    CHECK(in.arrivals[1].at > Instant::at(Duration::us(800)));
    CHECK(in.arrivals[2].at < Instant::at(Duration::us(2020)));
}

TEST_CASE("What is on a cable between switches when it fails is lost, even if it is back at once") {
    Bed w;
    w.network.add_switch("red");
    w.network.add_switch("green");
    w.network.cable("red", "green", {.speed = speed("16GFC"), .metres = far, .name = "long"});
    w.network.add_port("host");
    w.network.add_port("target");
    w.network.cable("host", "red", {.speed = speed("16GFC")});
    w.network.cable("target", "green", {.speed = speed("16GFC")});
    const ConnectionEnds c = w.connect("host", "target", fc());
    Inbox in(w.calendar, *c.b);
    const Duration each = Bytes(FrameFormat::fibre_channel().wire(4096)) / speed("16GFC").rate();
    w.at(Duration::us(10), [&] {
        for (uint32_t i = 0; i < 1000; i++) send(*c.a, i, 4096);
    });
    w.at(Duration::us(10) + each * 500, [&] {
        w.network.set_cable("long", CableState::down);
        w.network.set_cable("long", CableState::up);
    });
    w.run();
    CHECK(!in.why);
    CHECK(in.count + w.network.counts().lost == 1000);
    CHECK(static_cast<double>(w.network.counts().lost) ==
          Approx(Duration::us(500) / each).epsilon(0.02));
    // Those on the cable, and no others: one run of tags is missing.
    size_t gaps = 0;
    for (size_t i = 1; i < in.arrivals.size(); i++)
        gaps += in.arrivals[i].tag != in.arrivals[i - 1].tag + 1;
    CHECK(gaps == 1);
    CHECK(in.arrivals.back().tag == 999);
}

TEST_CASE("What an old connection still has to come does not reach the next in its place") {
    TwoWays w(10, 10);
    const auto fail = [&](CableState s) { w.network.set_cable("target - green", s); };
    const ConnectionEnds first = w.connect("host", "target", fc());
    Inbox a(w.calendar, *first.a), b(w.calendar, *first.b);
    w.run_until(Duration::ms(1));
    fail(CableState::down); // the host is to learn of it after 2 s
    w.run_until(Duration::s(1));
    CHECK(b.why == Loss::link_down);
    fail(CableState::up);
    first.a->close();
    first.b->close();
    const ConnectionEnds second = w.connect("host", "target", fc());
    REQUIRE(second.a == first.a);
    Inbox a2(w.calendar, *second.a), b2(w.calendar, *second.b);
    w.run_until(Duration::s(3));
    CHECK(!a2.why);
    CHECK(!b2.why);
    send(*second.a, 7, 512);
    w.run();
    CHECK(b2.count == 1);
    CHECK(w.network.connections_made() == 1);
}

TEST_CASE("Of two messages sent together TCP sees the first lost when the second arrives") {
    TwoWays w(10, 10);
    const ConnectionEnds c = w.connect("host", "target", tcp());
    Inbox in(w.calendar, *c.b);
    w.at(Duration::us(100), [&] {
        w.network.set_cable("host - red", CableState::silent);
        send(*c.a, 0, 65536);
        send(*c.a, 1, 65536);
    });
    w.at(Duration::us(110), [&] { w.network.set_cable("host - red", CableState::up); });
    w.run();
    REQUIRE(in.count == 2);
    CHECK(in.arrivals[0].tag == 0);
    CHECK(in.arrivals[0].at < Instant::at(Duration::us(300)));
    CHECK(w.network.counts().timeouts == 0);
}

TEST_CASE("The time TCP's user allows counts from the last progress") {
    ConnectionOptions o = tcp();
    o.transport.user_timeout = Duration::s(30);
    TwoWays w(10, 10);
    const ConnectionEnds c = w.connect("host", "target", o);
    Inbox host(w.calendar, *c.a), in(w.calendar, *c.b);
    const auto silence = [&](Duration from, CableState s) {
        w.at(from, [&w, s] { w.network.set_cable("host - red", s); });
    };
    silence(Duration::s(1), CableState::silent);
    w.at(Duration::s(2), [&] { send(*c.a, 0, 4096); });
    silence(Duration::s(10), CableState::up);
    silence(Duration::s(50), CableState::silent);
    w.at(Duration::s(51), [&] { send(*c.a, 1, 4096); });
    w.run();
    CHECK(in.count == 1);
    REQUIRE(host.why == Loss::timed_out);
    CHECK(host.when == Instant::at(Duration::s(81)));
}

TEST_CASE("A failed cable lets go of those who were held in front of it") {
    TwoWays w(10, 10, 16 << 10);
    const ConnectionEnds c = w.connect("host", "target", fc());
    Inbox in(w.calendar, *c.b);
    // Blue's cable to green holds red's to blue, that holds the host's.
    for (uint32_t i = 0; i < 50; i++) send(*c.a, i, 131072);
    w.at(Duration::us(500), [&] { w.network.set_cable("blue - green", CableState::down); });
    w.at(Duration::ms(10), [&] { send(*c.a, 100, 4096); });
    w.run();
    CHECK(!in.why);
    CHECK(in.arrivals.back().tag == 100); // by black
    CHECK(in.arrivals.back().at < Instant::at(Duration::us(10030)));
    CHECK(w.network.messages_idle() == w.network.messages_made());
}

TEST_CASE("A cable that is back has forgotten what was queued for it") {
    TwoWays w(10, 10);
    w.network.add_port("other");
    w.network.cable("other", "green", {.speed = speed("16GFC")});
    const ConnectionEnds c = w.connect("other", "target", fc());
    Inbox in(w.calendar, *c.b), far_end(w.calendar, *c.a);
    for (uint32_t i = 0; i < 500; i++) send(*c.b, i, 131072); // 40 ms
    w.run_until(Duration::ms(1));
    const Duration busy = w.station("target > green").busy;
    w.network.set_cable("target - green", CableState::down);
    w.network.set_cable("target - green", CableState::up);
    const ConnectionEnds next = w.connect("host", "target", fc());
    Inbox host(w.calendar, *next.a), target(w.calendar, *next.b);
    send(*next.a, 0, 512);
    send(*next.b, 0, 512);
    w.run_until(Duration::us(1010));
    CHECK(host.count == 1);
    CHECK(target.count == 1);
    CHECK(w.station("target > green").busy - busy < Duration::us(1)); // and was not busy with it
}

TEST_CASE("A message of the network's is empty, whatever it carried before") {
    TwoWays w(10, 10);
    const ConnectionEnds c = w.connect("host", "target", fc());
    Inbox in(w.calendar, *c.b);
    in.then = [](Message& m) { CHECK(m.payload.size() == 64); };
    Message& m = c.a->message();
    m.tag = 5;
    m.status = IoStatus::failed;
    m.last = true;
    m.wire_bytes = 4096;
    m.payload.assign(64, std::byte{7});
    c.a->send(m);
    w.run();
    CHECK(in.count == 1);
    Message& again = c.a->message();
    CHECK(&again == &m);
    CHECK(again.payload.empty());
    CHECK(again.payload.capacity() >= 64); // its memory is kept
    CHECK(again.tag == 0);
    CHECK(again.status == IoStatus::ok);
    CHECK(!again.last);
    c.a->recycle(again);
}
