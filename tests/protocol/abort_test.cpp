// Commands that take too long, answers that come too late, and partners that break the rules.
#include "models/nvme/profiles.hpp"
#include "models/scsi/profiles.hpp"
#include "tests/protocol/rig.hpp"

using namespace storlab;

namespace {
std::vector<Profile> all_profiles() {
    return {nvme_tcp(), nvme_rdma(), fc_nvme(), fcp(), iscsi(), iscsi(open_iscsi()), iser()};
}
} // namespace

TEST_CASE("an overdue command is aborted, and the abort is answered when the device is done") {
    for (Profile p : all_profiles()) {
        CAPTURE(p.name);
        p.timers.abort = Duration::s(10);
        Rig rig({.profile = p});
        rig.go_live();
        rig.disk.hung = true;
        Command w(rig, Op::write, 0, 1), r(rig, Op::read, 8, 1);
        w.fill(1).submit();
        rig.run(Duration::s(1));
        r.submit();
        rig.run(Duration::ms(29'010));
        CHECK(rig.initiator->counters().timeouts == 1);
        rig.run(Duration::s(3));
        CHECK(w.times + r.times == 0); // could still be written, so it has not ended
        rig.disk.release();
        rig.run(Duration::ms(1));
        CHECK(w.times == 1);
        CHECK(w.request.status == IoStatus::no_path);
        CHECK(w.on_disk(1));
        CHECK(r.times == 1);
        CHECK(r.request.status == IoStatus::ok); // aborted as little as its abort was needed
        CHECK(rig.initiator->state() == SessionState::live);
        CHECK(rig.initiator->counters().aborted == 1);
        CHECK(rig.target->counters().aborted == 1);
        CHECK(rig.target->counters().done == 2); // at the device both came to their end
        CHECK(rig.wire.out() == 0);
    }
}

TEST_CASE("if nobody answers the abort, the session is reset and all its commands end") {
    for (const Profile& p : all_profiles()) {
        CAPTURE(p.name);
        Profile soon = p;
        soon.timers.hold = {};
        Rig rig({.profile = soon, .depth = 4});
        rig.go_live();
        rig.disk.hung = true;
        std::deque<Command> all;
        for (uint64_t i = 0; i < 6; i++) all.emplace_back(rig, Op::read, i, 1).submit();
        const Instant start = rig.calendar.now();
        rig.run_to(start + Duration::s(30) + p.timers.abort - Duration::ms(1));
        CHECK(all.front().times == 0);
        rig.run(Duration::ms(2));
        for (const Command& c : all) {
            CHECK(c.times == 1);
            CHECK(c.request.status == IoStatus::no_path);
        }
        CHECK(rig.initiator->counters().resets == 1);
        rig.disk.release();
        rig.run(Duration::s(20));
        for (const Command& c : all) CHECK(c.times == 1);
        CHECK(rig.target->counters().dropped == 4);
        CHECK(rig.initiator->state() == SessionState::live);
    }
}

TEST_CASE("Linux resets an NVMe session at once when a command is overdue") {
    Rig rig({.profile = nvme_tcp(), .abort_first = false});
    rig.go_live();
    rig.disk.hung = true;
    Command c(rig, Op::read, 0, 1);
    c.submit();
    rig.run(Duration::ms(30'001));
    CHECK(c.request.status == IoStatus::no_path);
    CHECK(rig.wire.letters().find('a') == std::string::npos);
    CHECK(rig.initiator->counters().resets == 1);
    rig.disk.release();
    rig.run(Duration::s(1));
}

TEST_CASE("aborts go one after the other, each overdue command being ended by its own") {
    Rig rig({.profile = fcp(), .depth = 8});
    rig.go_live();
    rig.wire.cut_at = -1;
    rig.disk.hung = true;
    std::deque<Command> all;
    for (uint64_t i = 0; i < 8; i++) all.emplace_back(rig, Op::write, i, 1).fill(1).submit();
    rig.run(Duration::ms(30'001));
    CHECK(rig.initiator->counters().timeouts == 1);
    // The disk works again, but its answers and the next abort cross.
    rig.disk.delay = Duration::us(1);
    rig.disk.release();
    rig.run(Duration::ms(1));
    uint64_t ok = 0, ended = 0;
    for (const Command& c : all) {
        REQUIRE(c.times == 1);
        (c.request.status == IoStatus::ok ? ok : ended)++;
    }
    CHECK(ended == rig.initiator->counters().aborted);
    CHECK(ended >= 1);
    CHECK(rig.target->counters().aborted == ended);
}

TEST_CASE("a command whose data was asked for and never came is aborted without the device") {
    struct Never final : Cpu { // takes the command, then works no more
        using Cpu::Cpu;
        int jobs = 0;
        void run(Job& job) override {
            job.work = {};
            if (jobs++ == 0) job.fire(job);
        }
    };
    PriceList prices{};
    prices.fill({Duration::ns(1), 0});
    Ledger ledger{};
    Never cpu(prices, ledger);
    Profile p = fcp();
    p.software = true; // the data is sent by that core
    Rig slow({.profile = p});
    slow.go_live();
    Command c(slow, Op::write, 0, 8, &cpu);
    c.fill(1).submit();
    slow.run(Duration::s(31));
    CHECK(c.times == 1);
    CHECK(c.request.status == IoStatus::no_path);
    CHECK(slow.disk.commands == 0);
    CHECK(slow.target->counters().aborted == 1);
    CHECK(slow.initiator->state() == SessionState::live);
}

TEST_CASE("an answer to an earlier use of a tag meets a tombstone and is counted") {
    for (const Profile& p : all_profiles()) {
        CAPTURE(p.name);
        Rig rig({.profile = p, .depth = 1});
        rig.go_live();
        // A target that answers everything twice, the second time much later.
        std::vector<Message> copies;
        rig.wire.watch = [&](const Message& m, bool to_target) {
            if (!to_target) copies.push_back(m);
        };
        for (int i = 0; i < 5; i++) {
            Command c(rig, i % 2 ? Op::write : Op::read, 0, 20);
            c.fill(1).submit();
            rig.run(Duration::ms(1));
            REQUIRE(c.times == 1);
        }
        rig.wire.watch = nullptr;
        const uint64_t answers = copies.size();
        rig.disk.hung = true;
        Command now(rig, Op::read, 100, 20);
        now.submit();
        rig.run(Duration::ms(1));
        const std::vector<std::byte> before = now.data;
        Connection& other = *rig.wire.connect([](Connection&) {}); // for its messages
        for (const Message& m : copies) {
            Message& again = other.message();
            const auto fields = std::tuple(m.kind, m.op, m.status, m.last, m.unit);
            std::tie(again.kind, again.op, again.status, again.last, again.unit) = fields;
            again.tag = m.tag;
            again.generation = m.generation;
            again.offset = m.offset;
            again.blocks = m.blocks;
            again.payload = m.payload;
            rig.initiator->receive(again);
        }
        CHECK(rig.initiator->counters().late == answers);
        CHECK(now.times == 0);
        CHECK(now.data == before);
        rig.disk.release();
        rig.run(Duration::ms(1));
        CHECK(now.times == 1);
        CHECK(now.read(0));
        CHECK(rig.initiator->state() == SessionState::live);
    }
}

TEST_CASE("a target that breaks the rules loses the session, and the command ends with no path") {
    struct Wrong {
        Kind kind;
        uint32_t offset, blocks, bytes;
    };
    for (const Wrong w : {Wrong{Kind::data_in, 0, 9, 9 * 16}, // more than asked for
                          Wrong{Kind::data_in, 7, 2, 2 * 16}, Wrong{Kind::data_in, ~0u, 2, 2 * 16},
                          Wrong{Kind::data_in, 0, 2, 16}, Wrong{Kind::ready, 0, 4, 0},
                          Wrong{Kind::response, 0, 0, 0}, // all is well, it says, without the data
                          Wrong{Kind::hello, 0, 0, 0}, Wrong{Kind::welcome, 0, 0, 0}}) {
        CAPTURE(static_cast<int>(w.kind), w.offset, w.blocks);
        Rig rig({.profile = nvme_rdma()});
        rig.go_live();
        rig.disk.hung = true;
        Command c(rig, Op::read, 0, 8);
        c.submit();
        rig.run(Duration::ms(1));
        REQUIRE(rig.wire.log.size() == 1);
        const uint32_t tag = rig.wire.log[0].tag, generation = rig.wire.log[0].generation;
        Connection& end = *rig.wire.connect([](Connection&) {});
        Message& f = end.message();
        f.kind = static_cast<uint8_t>(w.kind);
        f.tag = tag;
        f.generation = generation;
        f.offset = w.offset;
        f.blocks = w.blocks;
        f.payload.resize(w.bytes);
        f.last = false;
        rig.initiator->receive(f);
        CHECK(rig.initiator->counters().violations == 1);
        CHECK(rig.initiator->state() == SessionState::lost);
        CHECK(c.times == 1);
        CHECK(c.request.status == IoStatus::no_path);
        rig.disk.release();
        rig.run(Duration::ms(1));
    }
}
