// Arrays with a journal whose drives lose power at every point of a small load, in both worlds.
#include "tests/support/crash.hpp"

namespace storlab::test {
namespace {

struct Case {
    RaidLevel level;
    uint32_t members;
};
constexpr Case cases[] = {{RaidLevel::raid5, 5}, {RaidLevel::raid6, 6}};

CrashOptions journaled(const Case& c, Consistency consistency = Consistency::journal) {
    return {.raid = {.level = c.level, .chunk_blocks = 4, .stripes = 8, .consistency = consistency},
            .members = c.members,
            .file_stride = 23};
}
std::vector<std::vector<uint32_t>> losses(const Case& c) {
    std::vector<std::vector<uint32_t>> all;
    for (uint32_t a = 0; a < c.members; a++) {
        all.push_back({a});
        for (uint32_t b = a + 1; b < c.members && c.level == RaidLevel::raid6; b++)
            all.push_back({a, b});
    }
    return all;
}
// Whatever members are lost afterwards.
template <class World> void expect_whole(Crash<World>& crash, const Case& c) {
    CHECK(crash.mismatched_lines() == 0);
    CHECK(crash.wrong_blocks({}) == 0);
    for (const auto& lost : losses(c)) CHECK(crash.wrong_blocks(lost) == 0);
}

} // namespace

TEMPLATE_TEST_CASE("with a journal no cut of power leaves a line whose parity is wrong, nor undoes "
                   "what was acknowledged",
                   "", SimWorld, FileWorld) {
    for (const Case& c : cases)
        for (const bool volatile_caches : {false, true}) {
            CAPTURE(c.members, volatile_caches);
            CrashOptions o = journaled(c);
            o.volatile_caches = volatile_caches;
            uint64_t entries = 0;
            at_every_point<TestType>(o, [&](Crash<TestType>& crash, uint64_t) {
                const RecoveryReport r = crash.recover({});
                CHECK(r.undecided + r.unreadable == 0);
                CHECK(r.replayed == r.entries);
                entries += r.entries;
                expect_whole(crash, c);
            });
            CHECK(entries > 0);
        }
}

TEMPLATE_TEST_CASE("without one the same cuts leave RAID 6 with lines that are wrong", "", SimWorld,
                   FileWorld) {
    uint64_t lines = 0, blocks = 0;
    at_every_point<TestType>(journaled(cases[1], Consistency::none),
                             [&](Crash<TestType>& crash, uint64_t) {
                                 lines += crash.mismatched_lines();
                                 blocks += crash.wrong_blocks({0, 3});
                             });
    CHECK(lines > 3);
    CHECK(blocks > 3);
}

// Unlike with partial parity not even blocks that were being written are lost with their member.
TEMPLATE_TEST_CASE("members lost together with the power take nothing with them", "", SimWorld,
                   FileWorld) {
    for (const Case& c : cases) {
        const auto lost = losses(c);
        uint64_t without = 0;
        at_every_point<TestType>(journaled(c), [&](Crash<TestType>& crash, uint64_t n) {
            const auto& out = lost[n % lost.size()];
            crash.recover(out);
            CHECK(crash.wrong_blocks(out) == 0);
        });
        at_every_point<TestType>(journaled(c, Consistency::none),
                                 [&](Crash<TestType>& crash, uint64_t n) {
                                     without += crash.wrong_blocks(lost[n % lost.size()]);
                                 });
        CHECK(without > 0);
    }
}

TEMPLATE_TEST_CASE("a degraded array with a journal loses nothing to a cut of power", "", SimWorld,
                   FileWorld) {
    for (const Case& c : cases) {
        uint64_t without = 0;
        for (const auto& out : losses(c)) {
            CAPTURE(c.members, out);
            CrashOptions o = journaled(c), bare = journaled(c, Consistency::none);
            o.out = bare.out = out;
            o.file_stride = bare.file_stride = 71;
            o.volatile_caches = out[0] % 2;
            at_every_point<TestType>(o, [&](Crash<TestType>& crash, uint64_t) {
                const RecoveryReport r = crash.recover(out);
                CHECK(r.replayed == r.entries);
                CHECK(crash.wrong_blocks(out) == 0);
            });
            at_every_point<TestType>(bare, [&](Crash<TestType>& crash, uint64_t) {
                without += crash.wrong_blocks(out);
            });
        }
        CHECK(without > 0);
    }
}

// The smallest log wraps within a load; a larger one keeps entries of several lives.
TEMPLATE_TEST_CASE("one cut after another, some of them during recovery, journals of earlier lives "
                   "do no harm",
                   "", SimWorld, FileWorld) {
    for (const Case& c : cases)
        for (const uint64_t blocks : {uint64_t{0}, uint64_t{97}, uint64_t{400}}) {
            CAPTURE(c.members, blocks);
            CrashOptions o = journaled(c);
            o.lands = 50;
            o.journal_blocks = blocks;
            o.volatile_caches = true;
            TestType world;
            Crash<TestType> crash(world, o);
            Random random(blocks, "cuts");
            uint64_t entries = 0;
            for (uint64_t round = 0; round < 20u * TestType::effort; round++) {
                crash.load_until(random.below(200));
                for (uint64_t again = random.below(3); again > 0; again--)
                    crash.recover_until(random.below(60));
                entries += crash.recover({}).entries;
                CHECK(crash.mismatched_lines() == 0);
                CHECK(crash.wrong_blocks({}) == 0);
                CHECK(crash.wrong_blocks({static_cast<uint32_t>(random.below(c.members))}) == 0);
            }
            CHECK(entries > 0);
        }
}

// The log is large enough to keep what was written before the member was lost: if that came back
// to the spare, it would undo what was written without the member.
TEMPLATE_TEST_CASE("a spare gets nothing back that was logged before its member was lost", "",
                   SimWorld, FileWorld) {
    for (const Case& c : cases)
        for (uint32_t member = 0; member < c.members; member++) {
            CAPTURE(c.members, member);
            CrashOptions o = journaled(c);
            o.journal_blocks = 1000;
            TestType world;
            Crash<TestType> crash(world, o);
            Raid& raid = crash.make(crash.drives, {});
            REQUIRE(finish(world, write_all(raid, *crash.model)) == IoStatus::ok);
            raid.fail(member);
            REQUIRE(finish(world, write_all(raid, *crash.model)) == IoStatus::ok);
            BlockDevice& spare = world.add_device(crash.drives[member]->geometry().blocks);
            const auto report = finish(
                world, raid.rebuild(member, spare, ArrayUnderTest<TestType>::at_full_speed()));
            REQUIRE(report);
            CHECK(report->failed == 0);
            crash.drives[member] = &spare; // and the power goes
            crash.recover({});
            expect_whole(crash, c);
        }
}

namespace {
// An array with a journal of so many blocks.
template <class World> struct JournaledArray {
    World world;
    PowerSupply supply; // of the journal's device alone
    PoweredDevice device;
    std::vector<BlockDevice*> drives;
    Raid raid;
    ModelDisk model;

    JournaledArray(const Case& c, uint64_t blocks, uint32_t stripes = 64)
        : device(world.add_device(blocks), supply), drives(add_drives(c)),
          raid(world.clock(), world.cpu(), drives, options(c, stripes)),
          model(raid.geometry().blocks, raid.geometry().payload) {}
    std::vector<BlockDevice*> add_drives(const Case& c) {
        std::vector<BlockDevice*> all;
        for (uint32_t m = 0; m < c.members; m++) all.push_back(&world.add_device(4 * 12));
        return all;
    }
    RaidOptions options(const Case& c, uint32_t stripes) {
        RaidOptions o = journaled(c).raid;
        o.stripes = stripes;
        o.journal = &device;
        return o;
    }
    void load(uint32_t writes = 60, uint64_t commands = 150) {
        BlockLoad l(raid, model, {.commands = commands * World::effort, .writes = writes});
        l.start();
        world.run();
        REQUIRE(l.all_done());
        CHECK(model.mismatches == 0);
    }
};
} // namespace

TEMPLATE_TEST_CASE("every change of a line is logged once, and the smallest log, always full, "
                   "serves as well as a large one",
                   "", SimWorld, FileWorld) {
    for (const Case& c : cases)
        for (const uint64_t blocks : {Journal::least_blocks(c.members), uint64_t{2000}}) {
            JournaledArray<TestType> a(c, blocks);
            a.load();
            CHECK(a.model.failed_writes + a.model.failed_reads == 0);
            const RaidCounters& n = a.raid.counters();
            CHECK(n.log_writes == n.read_modify + n.reconstruct + n.full_line + n.recover);
            if (blocks < 2000) CHECK(a.raid.journal()->checkpoints_written() > 20);
            const auto report = finish(a.world, a.raid.scrub(0, a.raid.lines(), false));
            REQUIRE(report);
            CHECK(report->mismatches + report->unreadable == 0);
        }
}

TEMPLATE_TEST_CASE("a flush finds everything stable in the journal and asks no member", "",
                   SimWorld, FileWorld) {
    JournaledArray<TestType> a(cases[0], 200);
    REQUIRE(finish(a.world, write_all(a.raid, a.model)) == IoStatus::ok);
    for (size_t m = 1; m <= cases[0].members; m++) a.world.pull(m); // would not answer
    const auto flush = [](BlockDevice& d) -> Task<IoStatus> {
        const IoStatus status = co_await d.io(Op::flush, Lba{0}, 1, nullptr);
        co_return status;
    };
    CHECK(finish(a.world, flush(a.raid)) == IoStatus::ok);
    CHECK_FALSE(a.raid.degraded());
}

TEMPLATE_TEST_CASE("when the journal's device fails writes fail, reads go on, nothing is torn", "",
                   SimWorld, FileWorld) {
    for (const Case& c : cases)
        for (uint32_t out = 0; out < 2; out++) {
            CAPTURE(c.members, out);
            JournaledArray<TestType> a(c, 100);
            uint64_t lost = 0;
            a.raid.on_journal_failure([&] { lost++; });
            a.load();
            if (out) a.raid.fail(1);
            a.supply.commands_left = 40;
            BlockLoad l(a.raid, a.model, {.commands = 300, .writes = 70, .seed = 2});
            l.start();
            a.world.run();
            REQUIRE(l.all_done());
            CHECK(lost == 1);
            CHECK(a.model.failed_writes > 0);
            const uint64_t failed = a.model.failed_writes;
            a.load(100, 5);
            CHECK(a.model.failed_writes == failed + 5u * TestType::effort);
            a.load(0);
            REQUIRE(finish(a.world, read_back(a.raid, a.model, 1)) == IoStatus::ok);
            CHECK(a.model.failed_reads == 0);
            CHECK(a.model.mismatches == 0);
            if (out) { // no rebuild either, and no harm to the spare
                BlockDevice& spare = a.world.add_device(4 * 12);
                const auto report = finish(
                    a.world, a.raid.rebuild(1, spare, ArrayUnderTest<TestType>::at_full_speed()));
                REQUIRE(report);
                CHECK(report->failed == a.raid.lines());
                CHECK(a.raid.degraded());
                continue;
            }
            const auto report = finish(a.world, a.raid.scrub(0, a.raid.lines(), true));
            REQUIRE(report);
            CHECK(report->mismatches == 0);
        }
}

// What was under way is not known then, but parity is that of the data again.
TEMPLATE_TEST_CASE("an array whose journal cannot be read looks at all its lines", "", SimWorld,
                   FileWorld) {
    for (const Case& c : cases) {
        uint64_t mismatches = 0;
        CrashOptions o = journaled(c);
        o.journal_blocks = 300;
        at_every_point<TestType>(o, [&](Crash<TestType>& crash, uint64_t n) {
            UnreadableSectors bad(*crash.journal, {.where = {.first = n % 2, .blocks = 1}});
            Raid& raid = crash.make(crash.drives, {}, &bad);
            const auto r = finish(crash.world, raid.recover());
            REQUIRE(r);
            CHECK(r->unreadable > 0);
            CHECK(r->replayed == 0);
            CHECK(r->scrub.lines == raid.lines());
            mismatches += r->scrub.mismatches;
            expect_whole(crash, c);
        });
        CHECK(mismatches > 0);
    }
}

} // namespace storlab::test
