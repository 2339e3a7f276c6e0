#include "sim/base/random.hpp"
#include "sim/kernel/calendar.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

using namespace storlab;

namespace {

constexpr int64_t far = int64_t{1} << 61;
Instant at_ps(int64_t ps) { return Instant::at(Duration::ps(ps)); }
int64_t ps(Instant t) { return t.since_start().count_ps(); }

// A calendar beside its specification: a map ordered by (date, phase, order of scheduling). Every
// event that fires must be the map's first.
class Pair {
public:
    void schedule(int64_t date, Phase phase) {
        if (free_.empty()) {
            events_.emplace_back();
            free_.push_back(&events_.back());
        }
        Node& n = *free_.back();
        free_.pop_back();
        n.pair = this;
        n.phase = phase;
        n.key = {date, phase, scheduled_++};
        n.fire = [](Event& e) { static_cast<Node&>(e).pair->fired(static_cast<Node&>(e)); };
        reference_.emplace(n.key, &n);
        calendar.schedule(n, at_ps(date));
    }
    // Runs both to the bound. True if nothing was out of order, missing or beyond.
    bool run_until(int64_t bound) {
        const bool to_the_end = calendar.run_until(at_ps(bound));
        const bool none_left = reference_.empty() || std::get<0>(reference_.begin()->first) > bound;
        good_ = good_ && none_left == to_the_end && ps(calendar.now()) <= std::max(bound, latest_);
        return good_;
    }
    size_t pending() const { return reference_.size(); }
    uint64_t fired_count() const { return count_; }
    Calendar calendar;
    std::function<void()> on_fire;

private:
    using Key = std::tuple<int64_t, Phase, uint64_t>;
    struct Node : Event {
        Pair* pair;
        Key key;
    };
    std::deque<Node> events_;
    std::vector<Node*> free_;
    std::map<Key, Node*> reference_;
    uint64_t scheduled_ = 0, count_ = 0;
    int64_t latest_ = 0;
    bool good_ = true;

    void fired(Node& n) {
        good_ = good_ && !reference_.empty() && reference_.begin()->second == &n &&
                ps(calendar.now()) == std::get<0>(n.key);
        latest_ = std::get<0>(n.key);
        reference_.erase(n.key);
        free_.push_back(&n);
        count_++;
        if (on_fire) on_fire();
    }
};

Phase any_phase(Random& r) { return static_cast<Phase>(r.below(4)); }

// Distances ahead of now that a wheel might get wrong.
int64_t distance(Random& r, int kind) {
    switch (kind) {
    case 0: return static_cast<int64_t>(r.below(4));                    // ties, ps apart
    case 1: return static_cast<int64_t>(r.below(20'000));               // within a few slots
    case 2: return static_cast<int64_t>(r.below(100'000'000));          // 100 us
    case 3: return static_cast<int64_t>(r.next() >> (3 + r.below(61))); // every scale, to 2^61
    case 4: return (int64_t{1} << r.below(61)) - static_cast<int64_t>(r.below(2)); // edges of slots
    default: return 4096 * static_cast<int64_t>(r.below(600)); // starts of slots
    }
}

} // namespace

TEST_CASE("events fire by date, then phase, then order of scheduling, whatever the dates") {
    for (int kind = 0; kind < 7; kind++) {
        Random random(1, "calendar " + std::to_string(kind));
        Pair pair;
        const auto add = [&] {
            const int64_t now = ps(pair.calendar.now());
            const int64_t d = distance(random, kind < 6 ? kind : static_cast<int>(random.below(6)));
            if (now < far) pair.schedule(now + std::min(d, far), any_phase(random));
        };
        // Events schedule others, as in a simulation; on average one each, so the load persists.
        pair.on_fire = [&] {
            if (pair.pending() > 600) return;
            for (uint64_t n = random.below(3); n > 0; n--) add();
        };
        for (int round = 0; round < 3000 && pair.fired_count() < 100'000; round++) {
            for (uint64_t n = random.below(8); n > 0; n--) add();
            const int64_t now = ps(pair.calendar.now());
            if (now >= far) break;
            const int64_t bound = now + std::min(distance(random, kind < 6 ? kind : 3), far);
            REQUIRE(pair.run_until(bound));
            pair.calendar.advance_to(at_ps(bound));
        }
        pair.on_fire = nullptr;
        REQUIRE(pair.run_until(INT64_MAX));
        CHECK(pair.pending() == 0);
        CHECK(pair.calendar.empty());
        CHECK(pair.calendar.events_fired() == pair.fired_count());
        CHECK(pair.fired_count() > 100);
    }
}

TEST_CASE("every order of scheduling of a few close events fires in the same order of dates") {
    // All arrangements of six dates around the edges of slots of the lowest two levels.
    std::vector<int64_t> dates{4094, 4095, 4096, 4096, 1 << 20, (1 << 20) + 1};
    do {
        for (const int64_t start : {0, 4093}) {
            Pair pair;
            pair.calendar.advance_to(at_ps(start));
            for (const int64_t d : dates) pair.schedule(d, Phase::completion);
            REQUIRE(pair.run_until(1 << 21));
            REQUIRE(pair.fired_count() == dates.size());
        }
    } while (std::next_permutation(dates.begin(), dates.end()));
}

TEST_CASE("pop stays at its bound: anything from the bound on may still be scheduled") {
    Random random(1, "bounds");
    for (int i = 0; i < 20'000; i++) {
        Pair pair;
        const int64_t scale = int64_t{1} << (2 + random.below(58));
        const auto any = [&] {
            return static_cast<int64_t>(random.below(static_cast<uint64_t>(scale)));
        };
        const int64_t bound = any();
        for (int n = 0; n < 6; n++) pair.schedule(any(), any_phase(random));
        REQUIRE(pair.run_until(bound));
        REQUIRE(ps(pair.calendar.now()) <= bound);
        pair.calendar.advance_to(at_ps(bound));
        REQUIRE(ps(pair.calendar.now()) == bound);
        pair.schedule(bound, any_phase(random)); // at now
        pair.schedule(bound + 1, any_phase(random));
        pair.schedule(bound + any(), any_phase(random));
        REQUIRE(pair.run_until(bound));
        REQUIRE(pair.run_until(INT64_MAX));
        REQUIRE(pair.pending() == 0);
    }
}

TEST_CASE("an event scheduled at now fires at now, behind those that come before it") {
    Calendar calendar;
    std::vector<int> log;
    struct Say : Event {
        std::vector<int>* log;
        int what;
        std::function<void()> then;
    };
    const auto say = [&](int what, Phase phase) {
        Say s;
        s.fire = [](Event& e) {
            auto& self = static_cast<Say&>(e);
            self.log->push_back(self.what);
            if (self.then) self.then();
        };
        s.phase = phase;
        s.log = &log;
        s.what = what;
        return s;
    };
    Say first = say(1, Phase::completion), second = say(2, Phase::completion),
        third = say(3, Phase::arrival), timer = say(4, Phase::timer),
        report = say(5, Phase::report), next = say(6, Phase::completion);
    const Instant t = at_ps(123'456'789);
    first.then = [&] {
        calendar.schedule(third, t); // ahead of the timer, which was there before
        calendar.schedule(second, t);
    };
    calendar.schedule(report, t);
    calendar.schedule(next, t + Duration::ps(1));
    calendar.schedule(timer, t);
    calendar.schedule(first, t);
    CHECK(calendar.run_until(t));
    CHECK(log == std::vector{1, 2, 3, 4, 5});
    CHECK(calendar.run_until(t + Duration::ps(1)));
    CHECK(log.back() == 6);
    CHECK(calendar.empty());
}

TEST_CASE("interrupt stops right after the event that asked, and nothing is lost") {
    Random random(1, "interrupt");
    Pair pair;
    for (int i = 0; i < 2000; i++)
        pair.schedule(static_cast<int64_t>(random.below(100'000)), any_phase(random));
    uint64_t expected = 0;
    pair.on_fire = [&] {
        if (pair.fired_count() % 7 == 0) pair.calendar.interrupt();
    };
    while (pair.fired_count() < 1995) {
        CHECK_FALSE(pair.calendar.run_until(at_ps(100'000)));
        CHECK(pair.fired_count() == (expected += 7));
        // Between two halves of a date the control plane acts at that date.
        if (expected % 70 == 0) pair.schedule(ps(pair.calendar.now()), Phase::report);
    }
    pair.on_fire = nullptr;
    CHECK(pair.run_until(100'000));
    CHECK(pair.pending() == 0);
    pair.calendar.interrupt(); // of no run
    CHECK(pair.run_until(200'000));
}

TEST_CASE("the end of time can be scheduled and is never reached by a bound before it") {
    Pair pair;
    pair.schedule(ps(Instant::never()), Phase::timer);
    pair.schedule(5, Phase::timer);
    CHECK(pair.run_until(ps(Instant::never()) - 1));
    CHECK(pair.pending() == 1);
    CHECK(pair.run_until(ps(Instant::never())));
    CHECK(pair.pending() == 0);
}
