// Wires and switches against closed forms and against a recomputation that knows no events.
#include "sim/analysis/queueing.hpp"
#include "sim/base/random.hpp"
#include "tests/fabric/bed.hpp"
#include <cmath>

using namespace storlab;
using namespace storlab::test;

namespace {

Duration exponential(Random& r, Duration mean) { return mean.scaled(-std::log1p(-r.uniform())); }

// Sends one message after another on its own, at random dates.
struct Source : Event {
    Bed& bed;
    Connection& connection;
    Random random;
    Duration gap;
    uint32_t left, bytes;
    std::vector<Instant> sent = {};
    Source(Bed& b, Connection& c, uint64_t seed, Duration mean_gap, uint32_t n, uint32_t size)
        : bed(b), connection(c), random(seed, "source"), gap(mean_gap), left(n), bytes(size) {
        phase = Phase::completion;
        fire = [](Event& e) { static_cast<Source&>(e).go(); };
        bed.calendar.schedule(*this, bed.calendar.now() + exponential(random, gap));
    }
    void go() {
        send(connection, static_cast<uint32_t>(sent.size()), bytes);
        sent.push_back(bed.calendar.now());
        if (--left) bed.calendar.schedule(*this, at + exponential(random, gap));
    }
};

Duration on_wire(std::string_view link, uint32_t bytes) {
    return Bytes(bytes) / speed(link).rate();
}
const uint32_t fc_4k = FrameFormat::fibre_channel().wire(4096);

} // namespace

TEST_CASE("A wire under Poisson messages waits as M/D/1 says") {
    const Duration service = on_wire("16GFC", fc_4k);
    for (const double load : {0.5, 0.8}) {
        double waits = 0, squares = 0, busy = 0;
        constexpr int runs = 20;
        for (uint64_t seed = 0; seed < runs; seed++) {
            Bed bed;
            bed.network.add_port("a");
            bed.network.add_port("b");
            bed.network.cable("a", "b", {.speed = speed("16GFC")});
            const ConnectionEnds c = bed.connect("a", "b", fc());
            Inbox in(bed.calendar, *c.b);
            Source source(bed, *c.a, seed, service.scaled(1 / load), 40000, 4096);
            bed.run();
            REQUIRE(in.count == 40000);
            const StationCount count = bed.station("a > b");
            CHECK(count.served == 40000);
            const double wait = (count.sojourn - count.busy).in_us() / 40000;
            waits += wait;
            squares += wait * wait;
            busy += count.busy / (in.arrivals.back().at - Instant{});
        }
        const double mean = waits / runs;
        const double half = 2.861 * std::sqrt((squares / runs - mean * mean) / (runs - 1));
        const auto expected = md1({Iops(load / service.in_seconds()), service});
        INFO("wait " << mean << " +- " << half << " us, expected " << expected->wait.in_us());
        CHECK(std::abs(mean - expected->wait.in_us()) < half);
        CHECK(half < 0.03 * mean);
        CHECK(busy / runs == Approx(load).epsilon(0.01));
    }
}

TEST_CASE("Every message through two wires arrives at the date a recomputation gives") {
    const char* const pairs[][2] = {
        {"32GFC", "16GFC"}, {"16GFC", "32GFC"}, {"32GFC", "32GFC"}, {"8GFC", "8GFC"}};
    for (const auto& [first, second] : pairs)
        for (const uint32_t bytes : {64u, 4096u, 5000u, 131072u}) {
            CAPTURE(first, second, bytes);
            Bed bed;
            bed.network.add_port("a");
            bed.network.add_port("b");
            bed.network.add_switch("red", {.latency = Duration::ns(780)});
            bed.network.cable("a", "red", {.speed = speed(first), .metres = 10});
            bed.network.cable("red", "b", {.speed = speed(second), .metres = 30});
            const ConnectionEnds c = bed.connect("a", "b", fc());
            Inbox in(bed.calendar, *c.b);
            const FrameFormat f = FrameFormat::fibre_channel();
            const Duration s1 = on_wire(first, f.wire(bytes)), s2 = on_wire(second, f.wire(bytes));
            const uint32_t head = std::min(bytes, f.payload) + f.overhead;
            const uint32_t tail = (bytes - 1) % f.payload + 1 + f.overhead;
            Source source(bed, *c.a, 7, later(Instant{} + s1, Instant{} + s2) - Instant{}, 2000,
                          bytes);
            bed.run();
            REQUIRE(in.count == 2000);
            Instant free1, free2;
            for (size_t i = 0; i < in.arrivals.size(); i++) {
                const Instant start1 = later(source.sent[i], free1);
                free1 = start1 + s1;
                const Duration beyond = Duration::ns(50 + 780);
                const Instant at = start1 + on_wire(first, head) + beyond;
                free2 = later(at, free2) + s2;
                const Instant done = later(free2, free1 + beyond + on_wire(second, tail));
                const Duration off = in.arrivals[i].at - (done + Duration::ns(150));
                REQUIRE(in.arrivals[i].tag == i);
                REQUIRE(std::abs(off.count_ps()) <= 2); // each sum is rounded to a picosecond
            }
        }
}

TEST_CASE("Behind an equally fast wire nothing waits") {
    Bed bed;
    bed.network.add_port("a");
    bed.network.add_port("b");
    bed.network.add_switch("red");
    bed.network.cable("a", "red", {.speed = speed("16GFC")});
    bed.network.cable("red", "b", {.speed = speed("16GFC")});
    const ConnectionEnds c = bed.connect("a", "b", fc());
    Inbox in(bed.calendar, *c.b);
    Source source(bed, *c.a, 1, on_wire("16GFC", fc_4k).scaled(1 / 0.9), 20000, 4096);
    bed.run();
    const StationCount first = bed.station("a > red"), second = bed.station("red > b");
    CHECK((first.sojourn - first.busy).in_us() / 20000 > 5);
    CHECK((second.sojourn - second.busy) == Duration{});
}

TEST_CASE("One message alone takes a frame, itself, the switch and the cables") {
    Bed bed;
    bed.network.add_port("a");
    bed.network.add_port("b");
    bed.network.add_switch("red", {.latency = Duration::ns(780)});
    bed.network.cable("a", "red", {.speed = speed("32GFC"), .metres = 20});
    bed.network.cable("red", "b", {.speed = speed("32GFC"), .metres = 20});
    const ConnectionEnds c = bed.connect("a", "b", fc());
    Inbox in(bed.calendar, *c.b);
    send(*c.a, 0, 65536);
    bed.run();
    const FrameFormat f = FrameFormat::fibre_channel();
    const Duration expected = on_wire("32GFC", f.full_frame()) + on_wire("32GFC", f.wire(65536)) +
                              Duration::ns(780) + Duration::ns(100) * 2;
    REQUIRE(in.count == 1);
    CHECK(std::abs((in.arrivals[0].at - Instant{} - expected).count_ps()) <= 2);
    // Not stored and forwarded:
    CHECK(in.arrivals[0].at - Instant{} < on_wire("32GFC", f.wire(65536)).scaled(1.2));
}

TEST_CASE("Several senders into one port share exactly its payload rate") {
    for (const bool limited : {false, true}) {
        Bed bed;
        bed.network.add_switch("red",
                               {.buffer = limited ? int64_t{32 << 10} : WireOptions::no_limit});
        bed.network.add_port("target");
        bed.network.cable("red", "target", {.speed = speed("32GFC")});
        std::deque<Inbox> inboxes;
        constexpr int senders = 5;
        for (int i = 0; i < senders; i++) {
            const std::string name = "host/" + std::to_string(i);
            bed.network.add_port(name);
            bed.network.cable(name, "red", {.speed = speed("16GFC")});
            const ConnectionEnds c = bed.connect(name, "target", fc());
            Inbox& in = inboxes.emplace_back(bed.calendar, *c.b);
            Connection* const from = c.a;
            in.then = [from](Message&) { send(*from, 0, 65536); };
            for (int k = 0; k < 8; k++) send(*from, 0, 65536);
        }
        bed.run_until(Duration::ms(1));
        std::vector<uint64_t> before;
        for (const Inbox& in : inboxes) before.push_back(in.bytes);
        bed.run_until(Duration::ms(101));
        double all = 0;
        for (size_t i = 0; i < senders; i++) {
            const auto own = static_cast<double>(inboxes[i].bytes - before[i]);
            CHECK(own / 0.1 == Approx(3.303e9 / senders).epsilon(0.01));
            all += own;
        }
        const FrameFormat f = FrameFormat::fibre_channel();
        CHECK(all / 0.1 ==
              Approx(speed("32GFC").rate().in_bytes_per_second() * 65536 / f.wire(65536))
                  .epsilon(0.0005));
        CHECK(bed.station("red > target").busy / Duration::ms(101) == Approx(1).epsilon(0.001));
    }
}

TEST_CASE("On a long cable credits limit the rate to a window a round trip") {
    constexpr double kilometres = 50;
    const uint32_t frame = FrameFormat::fibre_channel().full_frame();
    const Rate line = speed("16GFC").rate();
    const Duration propagation = per_metre.scaled(kilometres * 1000);
    for (const uint32_t credits : {8u, 64u, 1000u}) {
        Bed bed;
        bed.network.add_port("a");
        bed.network.add_port("b");
        bed.network.cable(
            "a", "b", {.speed = speed("16GFC"), .metres = kilometres * 1000, .credits = credits});
        const ConnectionEnds c = bed.connect("a", "b", fc());
        Inbox in(bed.calendar, *c.b);
        for (uint32_t i = 0; i < 400; i++) send(*c.a, i, 131072);
        bed.run();
        const Duration took = in.arrivals.back().at - in.arrivals.front().at;
        const double rate = 399 * 131072 / took.in_seconds();
        const double round_trip =
            static_cast<double>(frame) / line.in_bytes_per_second() + 2 * propagation.in_seconds();
        const double expected =
            std::min(line.in_bytes_per_second() * 2048 / frame, credits * 2048 / round_trip);
        CHECK(rate == Approx(expected).epsilon(1e-6));
    }
    // 50 km and a 1.24 us frame: some 404 frames are under way in a round trip of 500 us.
    CHECK(credit_rate(405, frame, line, propagation) == line);
    CHECK(credit_rate(400, frame, line, propagation) < line);
}
