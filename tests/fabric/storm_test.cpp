// Random faults on random traffic: what a connection promises holds throughout, nothing is kept,
// and the same storm is the same storm.
#include "sim/base/random.hpp"
#include "tests/fabric/bed.hpp"

using namespace storlab;
using namespace storlab::test;

namespace {

struct Storm;

// One direction of a session that opens anew when it was lost.
struct Side final : Receiver {
    Storm* storm = nullptr;
    struct Session* session = nullptr;
    Connection* connection = nullptr;
    uint32_t next = 0, expected = 0;
    void receive(Message& m) override;
    void lost(Loss why) override;
};
struct Session {
    Side side[2];
    std::string port[2];
    ConnectionOptions options;
    uint32_t generation = 0; // messages of an earlier connection would show by it
};

struct Storm {
    Bed bed;
    Random random;
    uint64_t hash = 0, received = 0, losses = 0, missing = 0;
    std::deque<Session> sessions;

    explicit Storm(uint64_t seed)
        : bed({.fabric_notice = Duration::ms(300)}), random(seed, "storm") {
        Network& n = bed.network;
        n.add_switch("red", {.buffer = 48 << 10});
        n.add_switch("blue", {.buffer = 48 << 10});
        n.add_switch("tor", {.lossless = false, .buffer = 20 << 10});
        for (int i = 0; i < 2; i++) {
            const std::string k = std::to_string(i);
            n.cable("red", "blue", {.speed = speed("16GFC"), .name = "isl/" + k});
            Adapter& card = n.add_adapter("host" + k, {.per_message = Duration::ns(200)});
            port("host" + k + "/fc", "red", {.adapter = &card}, "16GFC");
            port("host" + k + "/eth", "tor", {.adapter = &card, .coalesce = Duration::us(10)},
                 "10GbE");
            port("target" + k + "/fc", "blue", {}, "8GFC");
            port("target" + k + "/eth", "tor",
                 {.association = {.scope = AssociationScope::remote_port, .link_share = 0.9}},
                 "10GbE");
        }
        ConnectionOptions rdma{.format = FrameFormat::rocev2(1500),
                               .transport = TransportOptions::reliable_connection()};
        for (int h = 0; h < 2; h++)
            for (int t = 0; t < 2; t++) {
                const std::string host = "host" + std::to_string(h),
                                  target = "target" + std::to_string(t);
                add(host + "/fc", target + "/fc", fc());
                add(host + "/fc", target + "/fc", rdma);
                add(host + "/eth", target + "/eth", tcp());
            }
    }
    void port(const std::string& name, const char* at, const PortOptions& o, const char* rate) {
        bed.network.add_port(name, o);
        bed.network.cable(name, at, {.speed = speed(rate)});
    }
    void add(const std::string& a, const std::string& b, const ConnectionOptions& o) {
        Session& s = sessions.emplace_back();
        s.port[0] = a;
        s.port[1] = b;
        s.options = o;
        for (Side& side : s.side) {
            side.storm = this;
            side.session = &s;
        }
    }
    void open(Session& s) {
        const ConnectionEnds c = bed.network.connect(s.port[0], s.port[1], s.options);
        if (!c.a) return;
        s.generation++;
        s.side[0].connection = c.a;
        s.side[1].connection = c.b;
        for (Side& side : s.side) {
            side.connection->attach(side);
            side.next = side.expected = 0;
        }
    }
    void close(Session& s) {
        for (Side& side : s.side)
            if (side.connection) std::exchange(side.connection, nullptr)->close();
    }
    void step() {
        Session& s = sessions[random.below(sessions.size())];
        if (!s.side[0].connection && !s.side[1].connection) open(s);
        Side& side = s.side[random.below(2)];
        if (!side.connection) return;
        for (uint64_t i = random.below(8); i < 8; i++) {
            Message& m = side.connection->message();
            m.tag = side.next++;
            m.generation = s.generation;
            m.wire_bytes =
                static_cast<uint32_t>(random.below(4) ? random.below(8192) : random.below(131072));
            side.connection->send(m);
        }
        if (random.below(60) == 0) close(s);
    }
    // What runs there is gone; the other side of its sessions may find out.
    void power_off(const std::string& machine) {
        bed.network.set_power(machine, false);
        for (Session& s : sessions)
            for (int i = 0; i < 2; i++)
                if (s.port[i].starts_with(machine + "/") && s.side[i].connection)
                    std::exchange(s.side[i].connection, nullptr)->close();
    }
    void fault() {
        const std::vector<std::string> cables = bed.network.cable_names();
        static const char* const machines[] = {"host0",   "host1", "target0",
                                               "target1", "red",   "tor"};
        switch (random.below(5)) {
        case 0: return power_off(machines[random.below(6)]);
        case 1:
        case 2:
            for (const char* m : machines) bed.network.set_power(m, true);
            for (const std::string& c : cables)
                if (random.below(3)) bed.network.set_cable(c, CableState::up);
            return;
        default:
            bed.network.set_cable(cables[random.below(cables.size())],
                                  random.below(2) ? CableState::down : CableState::silent);
        }
    }
    // Twenty faults over a hundred and fifty bursts, each some time after the one before.
    void rage() {
        Duration t = bed.calendar.now() - Instant{};
        for (int i = 0; i < 150; i++) {
            t += random.below(10) ? Duration::us(static_cast<int64_t>(random.below(200)))
                                  : Duration::ms(static_cast<int64_t>(random.below(100)));
            bed.run_until(t);
            if (random.below(8) == 0) fault();
            step();
        }
        for (const char* m : {"host0", "host1", "target0", "target1", "red", "tor"})
            bed.network.set_power(m, true);
        for (const std::string& c : bed.network.cable_names())
            bed.network.set_cable(c, CableState::up);
        bed.run_until(t + Duration::s(30));
        for (Session& s : sessions) { // TCP and RDMA have brought everything, or said that not
            if (s.side[0].connection && s.side[1].connection &&
                s.options.transport.kind != TransportKind::exchange)
                for (int i = 0; i < 2; i++)
                    if (s.side[i].next != s.side[1 - i].expected) missing++;
            close(s);
        }
        bed.run_until(t + Duration::s(300));
    }
};

void Side::receive(Message& m) {
    if (m.generation != session->generation) FAIL("a message of an earlier connection");
    const bool whole = session->options.transport.kind != TransportKind::exchange;
    if (whole ? m.tag != expected : m.tag < expected)
        FAIL("message " << m.tag << " where " << expected << " was due");
    expected = m.tag + 1;
    storm->received++;
    storm->hash = mix(storm->hash ^ m.tag ^
                      static_cast<uint64_t>(storm->bed.calendar.now().since_start().count_ps()));
    connection->recycle(m);
}
void Side::lost(Loss why) {
    storm->losses++;
    storm->hash = mix(storm->hash + 1 + static_cast<uint64_t>(why));
    storm->close(*session);
}

} // namespace

TEST_CASE("In 1000 storms nothing arrives twice, late, out of order or at the wrong connection") {
    uint64_t received = 0, losses = 0, dropped = 0, again = 0, gone = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        CAPTURE(seed);
        Storm storm(seed);
        storm.rage();
        REQUIRE(storm.missing == 0);
        REQUIRE(storm.bed.network.messages_idle() == storm.bed.network.messages_made());
        received += storm.received;
        losses += storm.losses;
        dropped += storm.bed.network.counts().dropped;
        again += storm.bed.network.counts().sent_again;
        gone += storm.bed.network.counts().lost;
    }
    INFO(received << " received, " << losses << " connections lost, " << dropped << " dropped, "
                  << again << " sent again, " << gone << " lost");
    CHECK(received > 100'000);
    CHECK(losses > 1000);
    CHECK(dropped > 500);
    CHECK(again > 1000);
    CHECK(gone > 10'000);
}

TEST_CASE("A storm that goes on keeps no more messages and connections than were ever in use") {
    Storm storm(42);
    for (int i = 0; i < 20; i++) storm.rage();
    const size_t messages = storm.bed.network.messages_made(),
                 connections = storm.bed.network.connections_made();
    for (int i = 0; i < 200; i++) storm.rage();
    CHECK(storm.losses > 1000);
    CHECK(storm.bed.network.messages_made() < messages * 2);
    CHECK(storm.bed.network.connections_made() <= connections + 4);
    CHECK(storm.bed.network.connections_made() < 40);
    CHECK(storm.bed.network.messages_idle() == storm.bed.network.messages_made());
}

TEST_CASE("The same storm twice is the same to the picosecond, another is another") {
    const auto hash = [](uint64_t seed) {
        Storm storm(seed);
        storm.rage();
        std::vector<StationDescription> all;
        storm.bed.network.describe(all);
        for (const StationDescription& s : all)
            storm.hash = mix(storm.hash ^ hash_name(s.name) ^ s.count.served ^
                             static_cast<uint64_t>(s.count.sojourn.count_ps()));
        return storm.hash;
    };
    CHECK(hash(1) == hash(1));
    CHECK(hash(2) == hash(2));
    CHECK(hash(1) != hash(2));
}
