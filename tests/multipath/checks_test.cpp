// Checks of our own: their dates, and paths that fail or come back by them.
#include "tests/multipath/path_device.hpp"
#include <catch2/catch.hpp>

namespace storlab::test {
namespace {

using Sequence = std::vector<int>;
using Mode = PathDevice::Mode;

MultipathOptions dm() {
    MultipathOptions o;
    o.checker = {.interval = Duration::s(5),
                 .longest = Duration::s(20),
                 .failed = Duration::s(5),
                 .timeout = Duration::s(30),
                 .believes_checks_only = true};
    return o;
}
// The dates of a path's checks, in seconds.
std::vector<int64_t> dates(Host& h, size_t path, int64_t until) {
    std::vector<int64_t> found;
    uint64_t seen = h.paths[path]->commands;
    for (int64_t s = 0; s <= until; s++) {
        h.run_until(Duration::s(s));
        if (h.paths[path]->commands != seen) found.push_back(s);
        seen = h.paths[path]->commands;
    }
    return found;
}

} // namespace

TEST_CASE("checks of a path that works back off from 5 s to 20 s") {
    Host h(1, dm());
    h.paths[0]->mode = Mode::answers;
    h.paths[0]->takes = Duration();
    h.multipath->start_checks();
    CHECK(dates(h, 0, 80) == std::vector<int64_t>{5, 15, 35, 55, 75});
    h.multipath->stop_checks();
    h.run_until(Duration::s(1000));
    CHECK(h.calendar.empty()); // nothing goes on for ever
}

TEST_CASE("a silent path without load is found by a check and its timeout, at most 20 + 30 s") {
    MultipathOptions o = dm();
    Host h(2, o);
    for (auto& p : h.paths) p->mode = Mode::answers;
    h.multipath->start_checks();
    h.run_until(Duration::s(16)); // checked at 5 and 15, both times at work
    h.paths[0]->mode = Mode::collects;
    h.run_until(Duration::ms(34'900) + o.checker.timeout);
    CHECK(h.multipath->in_use() == 0b11);
    h.run_until(Duration::ms(35'001) + o.checker.timeout);
    CHECK(h.multipath->in_use() == 0b10);
    // The check still lies there: none other is made until it is answered.
    h.run_until(Duration::s(200));
    CHECK(h.paths[0]->pending.size() == 1);
    h.paths[0]->mode = Mode::answers;
    h.paths[0]->answer(0, IoStatus::ok);
    CHECK(h.multipath->in_use() == 0b10); // an answer so late proves nothing
    h.run_until(Duration::ms(205'100));
    CHECK(h.multipath->in_use() == 0b11);
    h.multipath->stop_checks();
}

TEST_CASE(
    "a path that errs although it is said to be up is out of use until a check finds it well") {
    Host h(2, dm());
    Host::Command& c = h.send();
    h.run_until(Duration::s(1));
    h.paths[0]->answer(0, IoStatus::no_path);
    CHECK(h.paths[1]->pending.size() == 1); // at once on the other
    CHECK(h.multipath->in_use() == 0b10);
    h.paths[0]->mode = Mode::dead;
    h.run_until(Duration::s(12)); // checks at 6 and 11 fail
    CHECK(h.multipath->in_use() == 0b10);
    h.paths[0]->mode = Mode::answers;
    h.run_until(Duration::ms(15'999));
    CHECK(h.multipath->in_use() == 0b10);
    h.run_until(Duration::ms(16'001));
    CHECK(h.multipath->in_use() == 0b11);
    CHECK(h.multipath->counters().checks == 3);
    h.paths[1]->answer(0, IoStatus::ok);
    CHECK(c.ends == 1);
}

TEST_CASE("dm uses a path that is back from its next check on, NVMe at once") {
    for (const bool checks : {true, false}) {
        MultipathOptions o;
        if (checks) o = dm();
        Host h(2, o);
        h.lose(0);
        h.run_until(Duration::s(12));
        h.restore(0, Mode::answers);
        CHECK(h.multipath->in_use() == (checks ? 0b10 : 0b11));
        h.run_until(Duration::ms(14'999));
        CHECK(h.multipath->in_use() == (checks ? 0b10 : 0b11));
        h.run_until(Duration::ms(15'001)); // 5, 10, 15 s after it was lost
        CHECK(h.multipath->in_use() == 0b11);
    }
}

TEST_CASE("better access is believed after a check where checks decide, worse at once") {
    MultipathOptions o = dm();
    Host h(2, o, {{.device = nullptr}, {.device = nullptr, .access = PathAccess::non_optimized}});
    for (auto& p : h.paths) p->mode = Mode::answers;
    h.multipath->start_checks();
    h.run_until(Duration::s(6));
    h.up(0, PathAccess::non_optimized);
    CHECK(h.multipath->in_use() == 0b11);
    h.up(1, PathAccess::optimized);
    CHECK(h.multipath->in_use() == 0b11);
    h.run_until(Duration::ms(15'100));
    CHECK(h.multipath->in_use() == 0b10);
    h.multipath->stop_checks();
}

TEST_CASE("late errors of commands from before a loss do not fail the path again") {
    Host h(2, {});
    for (int i = 0; i < 4; i++) h.send(); // 0 1 0 1
    h.down(0);                            // the transport takes its time to end what it had
    h.up(0);
    CHECK(h.multipath->in_use() == 0b11);
    h.paths[0]->answer(0, IoStatus::no_path);
    CHECK(h.multipath->in_use() == 0b11);
    h.paths[0]->answer(0, IoStatus::ok);
    CHECK(h.multipath->counters().path_failures == 1);
    CHECK(h.multipath->counters().requeued == 1);
}

TEST_CASE("a path that answers while it is down ends its commands as it says") {
    MultipathOptions o;
    o.timers.hold = Duration::s(5);
    Host h(2, o);
    Host::Command& c = h.send();
    h.down(0, Loss::peer_gone);
    h.paths[0]->answer(0, IoStatus::ok); // it was on its way
    CHECK(c.ends == 1);
    h.run_until(Duration::s(60));
    CHECK(c.ends == 1);
}

} // namespace storlab::test
