// A session that is lost: at every message of a command, in every way, and what the timers do then.
#include "models/nvme/profiles.hpp"
#include "models/scsi/profiles.hpp"
#include "tests/protocol/rig.hpp"

using namespace storlab;

namespace {
std::vector<Profile> all_profiles() {
    return {nvme_tcp(), nvme_rdma(), fc_nvme(), fcp(), iscsi(), iscsi(open_iscsi()), iser()};
}
Profile without_hold(Profile p) {
    p.timers.hold = {};
    return p;
}
} // namespace

TEST_CASE(
    "lost at any message of a read or a write, a command ends once and nothing is left over") {
    for (const Profile& standard : all_profiles())
        for (const Duration hold : {Duration(), Duration::s(700)})
            for (const Cut how : {Cut::told, Cut::late, Cut::silent})
                for (const auto& [op, blocks] :
                     {std::pair{Op::write, 1u}, {Op::write, 70u}, {Op::read, 9u}}) {
                    Profile p = standard;
                    p.timers.hold = hold;
                    p.timers.removal = {};
                    CAPTURE(p.name, hold.in_seconds(), static_cast<int>(how), blocks);
                    int64_t messages = 1;
                    for (int64_t at = 0; at < messages; at++) {
                        CAPTURE(at);
                        Rig rig({.profile = p, .identity = 5});
                        rig.go_live();
                        rig.wire.cut_at = at;
                        rig.wire.cut_how = how;
                        Command c(rig, op, 20, blocks);
                        if (op == Op::write) c.fill(1);
                        c.submit();
                        if (at == 0) { // learn how many there are
                            Rig other({.profile = p});
                            other.go_live();
                            Command d(other, op, 20, blocks);
                            d.submit();
                            other.run(Duration::ms(20));
                            messages = static_cast<int64_t>(other.wire.log.size());
                            REQUIRE(messages >= 2);
                        }
                        rig.run(Duration::ms(20));
                        if (how == Cut::silent) CHECK(c.times == 0); // nobody knows yet
                        else if (hold == Duration()) CHECK(c.times == 1);
                        rig.run(Duration::s(200));
                        REQUIRE(c.times == 1);
                        // Kept commands are sent again when the session is back.
                        CHECK(c.request.status ==
                              (hold == Duration() ? IoStatus::no_path : IoStatus::ok));
                        if (c.request.status == IoStatus::ok)
                            CHECK((op == Op::write ? c.on_disk(1) : c.read(0)));
                        CHECK(rig.initiator->state() == SessionState::live);
                        CHECK(rig.initiator->counters().losses == 1);
                        Command after(rig, Op::read, 1000, 5); // and the new session works
                        after.submit();
                        rig.run(Duration::ms(5));
                        CHECK(after.read(0));
                        CHECK(rig.initiator->outstanding() == 0);
                        CHECK(rig.disk.at_work == 0);
                        CHECK(rig.wire.out() == 0);
                        CHECK(rig.initiator->counters().violations == 0);
                        CHECK(rig.target->counters().violations == 0);
                        CHECK(rig.target->sessions() == 1);
                    }
                }
}

TEST_CASE("a lost session is tried again after the reconnect delay, for as long as it says") {
    Rig rig({.profile = nvme_tcp()});
    rig.go_live();
    rig.states.clear();
    rig.wire.cut(Cut::told);
    rig.wire.unreachable = true;
    CHECK(rig.initiator->state() == SessionState::lost);
    rig.run(Duration::ms(9'990));
    CHECK(rig.states == std::vector<SessionState>{SessionState::lost});
    rig.run(Duration::ms(20));
    CHECK(rig.states == std::vector<SessionState>{SessionState::lost, SessionState::connecting,
                                                  SessionState::lost});
    rig.run(Duration::s(560)); // 57 tries
    CHECK(rig.states.size() == 1 + 2 * 57);
    rig.wire.unreachable = false;
    rig.run(Duration::s(10));
    CHECK(rig.initiator->state() == SessionState::live);

    const Instant again = rig.calendar.now();
    rig.wire.cut(Cut::told);
    rig.wire.unreachable = true;
    rig.run_to(again + Duration::ms(599'990));
    CHECK(rig.initiator->state() == SessionState::lost);
    rig.run(Duration::ms(20));
    CHECK(rig.initiator->state() == SessionState::removed);
    rig.wire.unreachable = false;
    rig.run(Duration::s(100));
    CHECK(rig.initiator->state() == SessionState::removed);
    Command c(rig, Op::read, 0, 1);
    c.submit();
    CHECK(c.request.status == IoStatus::no_path);
    rig.initiator->start(); // made anew
    rig.run(Duration::ms(1));
    CHECK(rig.initiator->state() == SessionState::live);
}

TEST_CASE("iSCSI keeps commands for replacement_timeout and never ceases to try") {
    Rig rig({.profile = iscsi()});
    rig.go_live();
    const Instant lost = rig.calendar.now();
    Command before(rig, Op::write, 3, 40);
    before.fill(2).submit();
    rig.wire.cut(Cut::told);
    rig.wire.unreachable = true;
    Command during(rig, Op::read, 100, 1);
    during.submit();
    rig.run_to(lost + Duration::ms(119'990));
    CHECK(before.times + during.times == 0);
    rig.run(Duration::ms(20));
    CHECK(before.request.status == IoStatus::no_path);
    CHECK(during.request.status == IoStatus::no_path);
    CHECK(before.times + during.times == 2);
    Command later(rig, Op::read, 100, 1);
    later.submit();
    CHECK(later.request.status == IoStatus::no_path); // at once
    rig.run(Duration::s(3600));
    rig.wire.unreachable = false;
    rig.run(Duration::s(3));
    CHECK(rig.initiator->state() == SessionState::live);
}

TEST_CASE("a port that is seen again is not waited for") {
    Rig rig({.profile = nvme_tcp()});
    rig.go_live();
    rig.wire.cut(Cut::told);
    rig.initiator->reconnect_now();
    rig.run(Duration::ms(1));
    CHECK(rig.initiator->state() == SessionState::live);
}

TEST_CASE("silence is found by the keep-alive of an idle session, where there is one") {
    struct Case {
        Profile profile;
        int64_t found_ms; // at the latest
    };
    for (const Case& c : {Case{nvme_tcp(), 7'510}, {iscsi(), 10'010}, {fcp(), 0}}) {
        CAPTURE(c.profile.name);
        Rig rig({.profile = without_hold(c.profile)});
        rig.go_live();
        rig.run(Duration::s(60)); // idle, and it stays
        CHECK(rig.initiator->state() == SessionState::live);
        CHECK((rig.wire.log.size() > 10) == (c.found_ms > 0));
        rig.wire.cut(Cut::silent);
        const Instant cut = rig.calendar.now();
        rig.wire.unreachable = true;
        if (c.found_ms == 0) {
            rig.run(Duration::s(1000));
            CHECK(rig.initiator->state() == SessionState::live);
            continue;
        }
        rig.run_to(cut + Duration::ms(c.profile.timers.keep_alive_answer.count_ns() / 1000'000));
        CHECK(rig.initiator->state() == SessionState::live);
        rig.run_to(cut + Duration::ms(c.found_ms));
        CHECK(rig.initiator->state() == SessionState::lost);
        rig.run(c.profile.timers.silence * 2); // the target drops its end as well
        CHECK(rig.target->sessions() == 0);
        CHECK(rig.target->counters().silent == 1);
    }
}

TEST_CASE("a busy iSCSI session is not pinged") {
    Rig rig({.profile = iscsi()});
    rig.go_live();
    std::deque<Command> reads;
    for (int i = 0; i < 60; i++) {
        reads.emplace_back(rig, Op::read, 0, 1).submit();
        rig.run(Duration::s(1));
    }
    CHECK(rig.wire.letters().find('?') == std::string::npos);
    rig.run(Duration::s(11));
    CHECK(rig.wire.letters().find('?') != std::string::npos);
}

TEST_CASE("a target that does not answer a login is given up for this time") {
    Rig rig({.profile = nvme_tcp()});
    rig.wire.cut_at = 3;
    rig.wire.cut_how = Cut::silent;
    rig.initiator->start();
    rig.run(Duration::s(59));
    CHECK(rig.initiator->state() == SessionState::connecting);
    rig.run(Duration::s(2));
    CHECK(rig.initiator->state() == SessionState::lost);
    rig.run(Duration::s(10));
    CHECK(rig.initiator->state() == SessionState::live);
}

TEST_CASE("a login waits for what the same host left at the device, and only the same host") {
    for (const uint64_t identity : {uint64_t{0}, uint64_t{5}}) {
        Rig rig({.profile = nvme_tcp(), .identity = identity});
        rig.go_live();
        rig.disk.hung = true;
        Command w(rig, Op::write, 0, 1);
        w.fill(1).submit();
        rig.run(Duration::ms(1));
        rig.wire.cut(Cut::told);
        CHECK(w.request.status == IoStatus::no_path);
        rig.run(Duration::s(11));
        CHECK((rig.initiator->state() == SessionState::live) == (identity == 0));
        rig.disk.release();
        rig.run(Duration::ms(1));
        CHECK(rig.initiator->state() == SessionState::live);
        CHECK(rig.target->counters().dropped == 1);
        CHECK(w.times == 1);
    }
}

TEST_CASE("stopped, a session ends what is outstanding and comes not back") {
    Rig rig({.profile = iscsi(), .depth = 2, .host_prices = [] {
                 PriceList p{};
                 p.fill({Duration::us(3), 0});
                 return p;
             }()});
    rig.go_live();
    std::deque<Command> all; // sent, being paid for, and waiting
    for (uint64_t i = 0; i < 5; i++) all.emplace_back(rig, Op::read, i, 1, &rig.host).submit();
    rig.run(Duration::us(5));
    rig.initiator->stop();
    rig.run(Duration::s(100));
    for (const Command& c : all) {
        CHECK(c.times == 1);
        CHECK(c.request.status == IoStatus::no_path);
    }
    CHECK(rig.initiator->state() == SessionState::removed);
    CHECK(rig.initiator->outstanding() == 0);
    CHECK(rig.target->sessions() == 0);
}
