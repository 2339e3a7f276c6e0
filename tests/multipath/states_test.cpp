// Paths that go and come back: dates of what happens to commands, against formulas.
#include "tests/multipath/path_device.hpp"
#include <catch2/catch.hpp>

namespace storlab::test {
namespace {

using Sequence = std::vector<int>;
using Mode = PathDevice::Mode;
constexpr Duration one_second = Duration::s(1);

MultipathOptions failing_back(Failback f, Duration delay = {}) {
    MultipathOptions o;
    o.failback = f;
    o.failback_delay = delay;
    return o;
}
// Paths 0 and 1 of one controller, 2 and 3 of the other, which is not optimized.
Host two_controllers(const MultipathOptions& o) {
    const PathOptions far{.device = nullptr, .group = 1, .access = PathAccess::non_optimized};
    return {4, o, {{.device = nullptr}, {.device = nullptr}, far, far}};
}
MultipathOptions nvme() {
    MultipathOptions o;
    o.no_path = NoPath::queue;
    o.timers = {.loss = Duration::s(600), .reconnect = Duration::s(10), .loss_is_final = true};
    return o;
}

} // namespace

TEST_CASE("the pause of a lost link is detection + fail-fast + sending again") {
    const Duration detect = Duration::ms(150), takes = Duration::us(100);
    for (const Duration hold : {Duration(), Duration::s(5), Duration::s(10)})
        for (const Duration interval : {Duration(), one_second}) {
            MultipathOptions o;
            o.timers.hold = hold;
            o.retry_interval = interval;
            Host h(2, o);
            h.paths[1]->mode = Mode::answers;
            h.paths[1]->takes = takes;
            Host::Command& c = h.send(); // path 0, which never answers
            h.run_until(detect);
            h.lose(0);
            Host::Command& with_it = h.send();
            Host::Command& turn = h.send();
            h.run_until(Duration::s(60));
            CHECK(c.status == IoStatus::ok);
            CHECK(c.ends == 1);
            CHECK(c.ended == Instant::at(detect + hold + interval + takes));
            if (hold == Duration()) continue;
            // While the path is held every second command is given to it, and waits too.
            CHECK(with_it.ended == Instant::at(detect + takes));
            CHECK(turn.ended == c.ended);
        }
}

TEST_CASE("a path that is back before fail-fast sends what it kept itself") {
    MultipathOptions o;
    o.timers.hold = Duration::s(5);
    Host h(2, o);
    h.send(); // 0
    h.lose(0);
    h.send(); // 1
    h.send(); // 0, kept
    CHECK(h.multipath->outstanding(0) == 2);
    h.run_until(Duration::ms(4999));
    h.restore(0);
    CHECK(h.paths[0]->pending.size() == 2);
    CHECK(h.multipath->outstanding(0) == 2);
    h.run_until(Duration::s(20)); // the date of fail-fast passes
    CHECK(h.paths[1]->pending.size() == 1);
    h.paths[0]->answer_all(IoStatus::ok);
    h.paths[1]->answer_all(IoStatus::ok);
    for (const auto& c : h.commands) CHECK((c->ends == 1 && c->status == IoStatus::ok));
    CHECK(h.multipath->counters().requeued == 0);
    CHECK(h.multipath->counters().held == 2);
}

TEST_CASE("fewest commands under way steers clear of a path that keeps what it is given") {
    MultipathOptions o;
    o.timers.hold = Duration::s(5);
    o.selector = PathSelector::queue_length;
    Host h(2, o);
    h.paths[1]->mode = Mode::answers;
    h.lose(0);
    for (int i = 0; i < 20; i++) {
        h.send();
        h.run_until(Duration::ms(i + 1));
    }
    CHECK(h.multipath->outstanding(0) == 1); // round robin would have ten there
}

TEST_CASE("silence has been waited for already: no fail-fast on top, unless the session is held") {
    for (const bool held : {false, true}) {
        MultipathOptions o;
        o.timers.hold = Duration::s(120);
        o.timers.hold_after_timeout = held;
        Host h(2, o);
        h.paths[1]->mode = Mode::answers;
        Host::Command& c = h.send();
        h.run_until(Duration::s(30));
        h.lose(0, Loss::timed_out);
        h.run_until(Duration::s(200));
        const Duration held_for = held ? Duration::s(120) : Duration();
        CHECK(c.ended == Instant::at(Duration::s(30) + held_for + h.paths[1]->takes));
    }
}

TEST_CASE("without a path commands fail at once, after a while, never, or with the device") {
    MultipathOptions o;
    {
        Host h(2, o);
        Host::Command& c = h.send();
        h.lose(1);
        CHECK(c.ends == 0);
        h.lose(0);
        CHECK(c.status == IoStatus::no_path);
        CHECK(h.send().status == IoStatus::no_path);
    }
    o.no_path = NoPath::wait;
    o.no_path_wait = Duration::s(60);
    {
        Host h(2, o);
        h.lose(0);
        h.run_until(Duration::s(7));
        h.lose(1); // from here on
        Host::Command& early = h.send();
        h.run_until(Duration::s(30));
        Host::Command& late = h.send();
        h.run_until(Duration::s(100));
        CHECK(early.ended == Instant::at(Duration::s(67)));
        CHECK(late.ended == early.ended);
        CHECK(late.status == IoStatus::no_path);
        Host::Command& after = h.send(); // no more waiting until a path has been back
        CHECK(after.ended == Instant::at(Duration::s(100)));
        h.restore(1);
        h.lose(1);
        CHECK(h.send().ends == 0);
        h.run_until(Duration::s(159));
        CHECK(h.commands.back()->ends == 0);
        h.restore(0, Mode::answers);
        h.run_until(Duration::s(300));
        CHECK(h.commands.back()->status == IoStatus::ok);
        CHECK(h.commands.back()->ends == 1);
        CHECK_FALSE(h.multipath->removed());
    }
    o.no_path = NoPath::remove;
    {
        Host h(1, o);
        h.lose(0);
        Host::Command& c = h.send();
        uint32_t told = 0;
        h.multipath->on_removed([&] { told++; });
        h.run_until(Duration::s(61));
        CHECK(c.ended == Instant::at(Duration::s(60)));
        CHECK(c.status == IoStatus::no_device);
        CHECK(told == 1);
        h.restore(0);
        CHECK(h.send().status == IoStatus::no_device);
    }
    o.no_path = NoPath::queue;
    {
        Host h(1, o);
        h.lose(0);
        Host::Command& c = h.send();
        h.run_until(Duration::s(36000));
        CHECK(c.ends == 0);
        h.restore(0);
        h.paths[0]->answer_all(IoStatus::ok);
        CHECK(c.ends == 1);
    }
}

TEST_CASE("paths that are all inaccessible count as none, and what waits goes when one opens") {
    Host h(2, nvme());
    h.up(0, PathAccess::inaccessible);
    h.up(1, PathAccess::inaccessible);
    Host::Command& c = h.send();
    h.run_until(Duration::s(3600)); // up, so that nobody gives up on them
    CHECK(c.ends == 0);
    h.up(1, PathAccess::non_optimized);
    h.paths[1]->answer_all(IoStatus::ok);
    CHECK(c.status == IoStatus::ok);
}

TEST_CASE("field case 28: NVMe over fabrics tries 60 times in 600 s, then the device is removed") {
    Host h(2, nvme());
    std::vector<Instant> attempts;
    h.multipath->on_attempt([&](size_t path) {
        if (path == 0) attempts.push_back(h.calendar.now());
        return false;
    });
    h.lose(0);
    h.lose(1);
    Host::Command& c = h.send();
    h.run_until(Duration::ms(599'999));
    CHECK(attempts.size() == 59);
    CHECK(c.ends == 0);
    CHECK_FALSE(h.multipath->removed());
    h.run_until(Duration::s(600));
    REQUIRE(attempts.size() == 60);
    for (size_t i = 0; i < 60; i++)
        CHECK(attempts[i] == Instant::at(Duration::s(10) * static_cast<int64_t>(i + 1)));
    CHECK(h.multipath->removed());
    CHECK(c.status == IoStatus::no_device);
    CHECK(c.ended == Instant::at(Duration::s(600)));
    h.restore(0);
    CHECK(h.send().status == IoStatus::no_device);
    h.run_until(Duration::s(7200));
    CHECK(h.calendar.empty());
    CHECK(h.multipath->counters().attempts == 120);
}

TEST_CASE("one controller lost for good leaves the other; attempts that take time delay the end") {
    Host h(2, nvme());
    const Duration slow = Duration::s(3); // until an attempt has failed
    struct Failing : Event {
        Host* host;
    } failing;
    failing.host = &h;
    failing.fire = [](Event& e) { static_cast<Failing&>(e).host->down(0); };
    h.multipath->on_attempt([&](size_t) {
        h.calendar.schedule(failing, h.calendar.now() + slow);
        return true;
    });
    h.lose(0);
    const Duration lost = (Duration::s(10) + slow) * 60;
    h.run_until(lost);
    CHECK(h.multipath->counters().attempts == 60);
    h.restore(0); // too late for it
    CHECK_FALSE(h.multipath->usable(0));
    CHECK_FALSE(h.multipath->removed());
    CHECK(h.chosen_of(2) == Sequence{1, 1});
}

TEST_CASE("an attempt that succeeds brings the path back, and the count starts anew") {
    Host h(1, nvme());
    int after = 3;
    h.multipath->on_attempt([&](size_t) {
        if (--after == 0) h.restore(0, Mode::answers);
        return after == 0;
    });
    h.lose(0);
    Host::Command& c = h.send();
    h.run_until(Duration::s(40));
    CHECK(c.ended == Instant::at(Duration::s(30) + h.paths[0]->takes));
    h.lose(0);
    h.run_until(Duration::s(40 + 599));
    CHECK_FALSE(h.multipath->removed());
    h.run_until(Duration::s(40 + 600));
    CHECK(h.multipath->removed());
}

TEST_CASE("NVMe fast_io_fail ends commands that wait, and the device stays") {
    MultipathOptions o = nvme();
    o.timers.give_up = Duration::s(15);
    Host h(2, o);
    h.lose(0);
    h.run_until(Duration::s(2));
    h.lose(1);
    Host::Command& c = h.send();
    h.run_until(Duration::s(100));
    CHECK(c.ended == Instant::at(Duration::s(17))); // the later of the two
    CHECK(c.status == IoStatus::no_path);
    CHECK(h.send().status == IoStatus::no_path);
    h.restore(1);
    CHECK(h.chosen() == 1);
    h.lose(1); // its time starts anew
    CHECK(h.commands.back()->ends == 0);
    h.run_until(Duration::s(115));
    CHECK(h.commands.back()->ends == 1);
}

TEST_CASE("FC device loss takes the path away; the fabric brings it back") {
    MultipathOptions o;
    o.timers = {.hold = Duration::s(5), .loss = Duration::s(600)};
    Host h(2, o);
    h.lose(0, Loss::peer_gone);
    h.run_until(Duration::s(700));
    CHECK_FALSE(h.multipath->removed());
    CHECK(h.chosen_of(2) == Sequence{1, 1});
    h.restore(0);
    CHECK(h.chosen_of(2) == Sequence{0, 1});
    // The transport may give up by itself, for good.
    h.multipath->path_state(0, {.up = false, .gone = true});
    h.restore(0);
    CHECK(h.chosen_of(2) == Sequence{1, 1});
    h.multipath->path_state(1, {.up = false, .gone = true});
    CHECK(h.multipath->removed());
}

TEST_CASE("failback: at once, never, when the first path is back, or later") {
    const auto uses = [](Host& h) { return h.multipath->in_use(); };
    for (const Failback f :
         {Failback::immediate, Failback::manual, Failback::followover, Failback::delayed}) {
        CAPTURE(static_cast<int>(f));
        Host h = two_controllers(failing_back(f, Duration::s(30)));
        CHECK(uses(h) == 0b0011);
        h.lose(0);
        CHECK(uses(h) == 0b0010);
        h.lose(1);
        CHECK(uses(h) == 0b1100);
        h.restore(0);
        const bool at_once = f == Failback::immediate || f == Failback::followover;
        CHECK(uses(h) == (at_once ? 0b0001 : 0b1100));
        h.run_until(Duration::s(10));
        h.restore(1);
        CHECK(uses(h) == (at_once ? 0b0011 : 0b1100));
        h.run_until(Duration::ms(29'999));
        CHECK(uses(h) == (at_once ? 0b0011 : 0b1100));
        h.run_until(Duration::s(30)); // from when path 0 was back
        CHECK(uses(h) == (f == Failback::manual ? 0b1100 : 0b0011));
        CHECK(h.multipath->counters().failbacks == (f == Failback::manual ? 0 : 1));
    }
}

TEST_CASE("followover does not follow when the array itself moves the volume back") {
    for (const Failback f : {Failback::immediate, Failback::followover}) {
        Host h = two_controllers(failing_back(f));
        h.up(0, PathAccess::inaccessible);
        h.up(1, PathAccess::inaccessible);
        CHECK(h.multipath->in_use() == 0b1100);
        h.up(0); // no path was lost: another host may have asked for this
        h.up(1);
        CHECK(h.multipath->in_use() == (f == Failback::immediate ? 0b0011 : 0b1100));
    }
}

TEST_CASE("manual failback stays with its controller when that becomes the optimized one") {
    Host h = two_controllers(failing_back(Failback::manual));
    h.lose(0);
    h.lose(1);
    h.restore(0);
    h.restore(1);
    CHECK(h.multipath->in_use() == 0b1100);
    for (const size_t p : {2, 3}) h.up(p, PathAccess::optimized);
    for (const size_t p : {0, 1}) h.up(p, PathAccess::non_optimized);
    CHECK(h.multipath->in_use() == 0b1100);
}

TEST_CASE("a deferred failback is called off when the better path is lost again") {
    Host h = two_controllers(failing_back(Failback::delayed, Duration::s(30)));
    h.lose(0);
    h.lose(1);
    h.restore(0);
    h.run_until(Duration::s(20));
    h.lose(0);
    h.run_until(Duration::s(40));
    h.restore(0);
    h.run_until(Duration::ms(69'999));
    CHECK(h.multipath->in_use() == 0b1100);
    h.run_until(Duration::s(70));
    CHECK(h.multipath->in_use() == 0b0001);
}

TEST_CASE("retries are counted for each command and spaced") {
    MultipathOptions o;
    o.retries = 3;
    o.retry_interval = one_second;
    Host h(8, o);
    for (auto& p : h.paths) p->mode = Mode::dead;
    Host::Command& c = h.send();
    h.run_until(Duration::s(10));
    CHECK(c.ends == 1);
    CHECK(c.status == IoStatus::no_path);
    CHECK(c.ended == Instant::at(Duration::s(3)));
    uint64_t tries = 0;
    for (auto& p : h.paths) tries += p->commands;
    CHECK(tries == 4);
}

} // namespace storlab::test
