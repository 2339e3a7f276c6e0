// A small fabric for tests, and receivers that write down what arrives.
#pragma once
#include "models/fabric/network.hpp"
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <optional>

namespace storlab::test {

struct Arrival {
    uint32_t tag;
    Instant at;
};

class Inbox final : public Receiver {
public:
    std::vector<Arrival> arrivals;
    std::optional<Loss> why;
    Instant when;
    std::function<void(Message&)> then = nullptr;
    bool keep = true; // dates; otherwise only a count
    uint64_t count = 0, bytes = 0;

    Inbox(Calendar& calendar, Connection& connection)
        : calendar_(calendar), connection_(connection) {
        connection.attach(*this);
    }
    void receive(Message& m) override {
        CHECK(!why);
        count++;
        bytes += m.wire_bytes;
        if (keep) arrivals.push_back({m.tag, calendar_.now()});
        if (then) then(m);
        connection_.recycle(m);
    }
    void lost(Loss w) override {
        CHECK(!why);
        why = w;
        when = calendar_.now();
    }

private:
    Calendar& calendar_;
    Connection& connection_;
};

inline const LinkSpeed& speed(std::string_view name) { return parse_link_speed(name, {}); }

inline void send(Connection& c, uint32_t tag, uint32_t bytes) {
    Message& m = c.message();
    m.tag = tag;
    m.wire_bytes = bytes;
    c.send(m);
}

class Bed {
public:
    Calendar calendar;
    Network network;
    explicit Bed(const NetworkOptions& o = {}) : network(calendar, o) {}

    ConnectionEnds connect(std::string_view a, std::string_view b, const ConnectionOptions& o) {
        const ConnectionEnds ends = network.connect(a, b, o);
        REQUIRE(ends.a);
        REQUIRE(ends.b);
        return ends;
    }
    void run_until(Duration t) {
        calendar.run_until(Instant::at(t));
        calendar.advance_to(Instant::at(t));
    }
    void run() { calendar.run_until(Instant::at(Duration::s(3600))); }
    // Calls f at a date, before what else happens then.
    void at(Duration t, std::function<void()> f) {
        Call& c = calls_.emplace_back();
        c.f = std::move(f);
        c.phase = Phase::completion;
        c.fire = [](Event& e) { static_cast<Call&>(e).f(); };
        calendar.schedule(c, Instant::at(t));
    }
    StationCount station(std::string_view name) const {
        std::vector<StationDescription> all;
        network.describe(all);
        for (const StationDescription& s : all)
            if (s.name == name) return s.count;
        FAIL("no station " << name);
        return {};
    }

private:
    struct Call : Event {
        std::function<void()> f;
    };
    std::deque<Call> calls_;
};

inline ConnectionOptions fc() { return {.format = FrameFormat::fibre_channel()}; }
inline ConnectionOptions tcp(uint32_t mtu = 1500) {
    const FrameFormat f = FrameFormat::tcp(mtu);
    return {.format = f, .transport = TransportOptions::tcp(f.payload)};
}

} // namespace storlab::test
