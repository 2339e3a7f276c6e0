// Arrays whose drives lose power at every point of a small load, in both worlds: what the partial
// parity log and the write-intent bitmap are for.
#include "tests/support/crash.hpp"

namespace storlab::test {
namespace {

RaidOptions raid5(Consistency consistency, uint32_t log_slots = 4) {
    return {.level = RaidLevel::raid5,
            .chunk_blocks = 4,
            .stripes = 8,
            .consistency = consistency,
            .log_slots = log_slots};
}

} // namespace

TEMPLATE_TEST_CASE("with a partial parity log no cut of power leaves a line whose parity is wrong",
                   "", SimWorld, FileWorld) {
    for (const uint32_t slots : {4u, 1u})
        at_every_point<TestType>(
            {.raid = raid5(Consistency::ppl, slots), .file_stride = slots == 1 ? 11u : 1u},
            [&](Crash<TestType>& crash, uint64_t) {
                const RecoveryReport r = crash.recover({});
                CHECK(r.undecided + r.unreadable == 0);
                CHECK(r.replayed == r.entries);
                CHECK(crash.mismatched_lines() == 0);
                CHECK(crash.wrong_blocks({}) == 0);
                for (uint32_t m = 0; m < 5; m++) CHECK(crash.wrong_blocks({m}) == 0);
            });
}

TEMPLATE_TEST_CASE("without one the same cuts leave lines that are wrong once a member is lost", "",
                   SimWorld, FileWorld) {
    uint64_t lines = 0, blocks = 0;
    at_every_point<TestType>({.raid = raid5(Consistency::none), .file_stride = 5},
                             [&](Crash<TestType>& crash, uint64_t) {
                                 lines += crash.mismatched_lines();
                                 CHECK(crash.wrong_blocks({}) == 0);
                                 for (uint32_t m = 0; m < 5; m++) blocks += crash.wrong_blocks({m});
                             });
    CHECK(lines > 10);
    CHECK(blocks > 10);
}

TEMPLATE_TEST_CASE("a member lost together with the power takes with it nothing that was not being "
                   "written, if there is a log",
                   "", SimWorld, FileWorld) {
    uint64_t with = 0, without = 0;
    for (const Consistency consistency : {Consistency::ppl, Consistency::none})
        at_every_point<TestType>({.raid = raid5(consistency), .file_stride = 11},
                                 [&](Crash<TestType>& crash, uint64_t n) {
                                     for (uint64_t i = 0; i < 5; i++) {
                                         const auto lost = static_cast<uint32_t>((n + i) % 5);
                                         if (consistency == Consistency::ppl) crash.recover({lost});
                                         (consistency == Consistency::ppl ? with : without) +=
                                             crash.wrong_blocks({lost}, false);
                                     }
                                 });
    CHECK(with == 0);
    CHECK(without > 0);
}

TEMPLATE_TEST_CASE("a degraded array with a log loses nothing to a cut of power", "", SimWorld,
                   FileWorld) {
    uint64_t without = 0;
    for (uint32_t out = 0; out < 5; out++) {
        CAPTURE(out);
        at_every_point<TestType>(
            {.raid = raid5(Consistency::ppl, 3), .out = {out}, .file_stride = 37},
            [&](Crash<TestType>& crash, uint64_t) {
                crash.recover({out});
                CHECK(crash.wrong_blocks({out}) == 0);
            });
        at_every_point<TestType>(
            {.raid = raid5(Consistency::none), .out = {out}, .file_stride = 37},
            [&](Crash<TestType>& crash, uint64_t) { without += crash.wrong_blocks({out}); });
    }
    CHECK(without > 0);
}

TEMPLATE_TEST_CASE("one cut after another, entries of earlier lives do no harm", "", SimWorld,
                   FileWorld) {
    for (const uint32_t slots : {2u, 5u, 16u}) {
        CAPTURE(slots);
        CrashOptions o{.raid = raid5(Consistency::ppl, slots), .lands = 50};
        TestType world;
        Crash<TestType> crash(world, o);
        Random random(slots, "cuts");
        for (uint64_t round = 0; round < 20u * TestType::effort; round++) {
            crash.load_until(random.below(90));
            crash.recover({});
            CHECK(crash.mismatched_lines() == 0);
            CHECK(crash.wrong_blocks({}) == 0);
            CHECK(crash.wrong_blocks({static_cast<uint32_t>(random.below(5))}) == 0);
        }
    }
}

TEMPLATE_TEST_CASE("a log costs one write for each line changed, and blocks of the members only if "
                   "it is there",
                   "", SimWorld, FileWorld) {
    ArrayUnderTest<TestType> plain({.raid = raid5(Consistency::none), .rows = 40});
    ArrayUnderTest<TestType> logged({.raid = raid5(Consistency::ppl, 16), .rows = 40});
    CHECK(plain.raid.lines() == 40u * 4);
    CHECK(logged.raid.lines() == 32u * 4); // 161 blocks a member less 16 slots of 2
    plain.load();
    logged.load();
    logged.expect_clean();
    CHECK(plain.raid.counters().log_writes == 0);
    const RaidCounters& c = logged.raid.counters();
    CHECK(c.log_writes == c.read_modify + c.reconstruct + c.full_line + c.recover);
}

// The worst spare is a former copy of the member itself: its log speaks of the same lines.
TEMPLATE_TEST_CASE("an array with a log is rebuilt, and a spare's old log is not believed", "",
                   SimWorld, FileWorld) {
    for (const uint64_t cut_after : {0u, 2u, 5u, 17u}) {
        CAPTURE(cut_after);
        TestType world;
        Crash<TestType> crash(world, {.raid = raid5(Consistency::ppl, 4)});
        CHECK_FALSE(crash.load_until(1000));
        BlockDevice& spare = crash.world.add_device(crash.drives[2]->geometry().blocks);
        const auto copy = [](BlockDevice& from, BlockDevice& to) -> Task<IoStatus> {
            std::vector<std::byte> data(from.geometry().payload);
            IoStatus s = IoStatus::ok;
            for (uint64_t b = 0; b < from.geometry().blocks; b++) {
                s = worst(s, co_await from.read({b}, 1, data.data()));
                s = worst(s, co_await to.write({b}, 1, data.data()));
            }
            co_return s;
        };
        REQUIRE(finish(crash.world, copy(*crash.drives[2], spare)) == IoStatus::ok);
        CHECK_FALSE(crash.load_until(1000));
        Raid& raid = crash.make(crash.drives, {2});
        REQUIRE(finish(crash.world, raid.recover()));
        const auto report =
            finish(crash.world, raid.rebuild(2, spare, ArrayUnderTest<TestType>::at_full_speed()));
        REQUIRE(report);
        CHECK(report->failed == 0);
        crash.drives[2] = &spare;
        crash.load_until(cut_after);
        crash.recover({});
        CHECK(crash.mismatched_lines() == 0);
        for (uint32_t m = 0; m < 5; m++) CHECK(crash.wrong_blocks({m}) == 0);
    }
}

} // namespace storlab::test
