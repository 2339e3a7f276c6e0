// Arrays of every level under random load, whole and with members lost, in both worlds.
#include "tests/support/array_under_test.hpp"

namespace storlab::test {
namespace {

RaidOptions small_array(RaidLevel level) {
    return {.level = level, .chunk_blocks = 4, .stripes = 8};
}

// f(members lost) for every loss of one member, or of two where the level survives any two.
template <class F> void for_every_loss(const LevelCase& c, F&& f) {
    for (uint32_t a = 0; a < c.members; a++) {
        if (c.level != RaidLevel::raid6) {
            f(std::vector<uint32_t>{a});
            continue;
        }
        for (uint32_t b = a + 1; b < c.members; b++) f(std::vector<uint32_t>{a, b});
    }
}

} // namespace

TEMPLATE_TEST_CASE("a healthy array of any level returns what was written and scrubs clean", "",
                   SimWorld, FileWorld) {
    const auto level = GENERATE(RaidLevel::raid0, RaidLevel::raid1, RaidLevel::raid10,
                                RaidLevel::raid5, RaidLevel::raid6);
    const uint32_t chunk = GENERATE(1u, 4u, 16u);
    const uint32_t members = GENERATE(4u, 5u);
    CAPTURE(static_cast<int>(level), chunk, members);
    ArrayUnderTest<TestType> a(
        {.raid = {.level = level, .chunk_blocks = chunk, .stripes = 16}, .members = members});
    a.load();
    CHECK(a.read_all() == IoStatus::ok);
    a.expect_clean();
    CHECK(a.model.failed_reads + a.model.failed_writes == 0);
}

TEMPLATE_TEST_CASE(
    "after every loss the level survives, all is readable, writable, rebuilt and clean", "",
    SimWorld, FileWorld) {
    for (const LevelCase& c : redundant_levels)
        for_every_loss(c, [&](const std::vector<uint32_t>& lost) {
            CAPTURE(static_cast<int>(c.level), c.members, lost);
            RaidOptions o = small_array(c.level);
            if (lost.front() % 2) o.stripes = 64; // pages of all lines stay in memory
            ArrayUnderTest<TestType> a({.raid = o, .members = c.members});
            a.load();
            for (const uint32_t m : lost) {
                if (m % 2) a.world.pull(m); // the array finds out by itself
                else a.raid.fail(m);
            }
            CHECK(a.read_all() == IoStatus::ok);
            a.load();
            CHECK(a.read_all() == IoStatus::ok);
            for (const uint32_t m : lost) {
                a.raid.fail(m); // if no command has touched it
                const RebuildReport r = a.rebuild(m, a.add_drive());
                CHECK(r.lines == a.raid.lines());
                CHECK(r.failed == 0);
                CHECK(a.raid.in_sync(m));
            }
            CHECK_FALSE(a.raid.degraded());
            a.expect_clean();
            const uint32_t another = (lost.back() + 1) % c.members;
            a.raid.fail(another);
            CHECK(a.read_all() == IoStatus::ok);
            CHECK(a.model.failed_reads + a.model.failed_writes == 0);
        });
}

TEMPLATE_TEST_CASE("a rebuild under load ends with a clean array", "", SimWorld, FileWorld) {
    for (const LevelCase& c : redundant_levels)
        for (uint32_t lost = 0; lost < c.members; lost++) {
            CAPTURE(static_cast<int>(c.level), c.members, lost);
            RaidOptions o = small_array(c.level);
            o.stripes = lost % 2 ? 8 : 64; // few, or one for every line
            ArrayUnderTest<TestType> a({.raid = o, .members = c.members, .rows = 12});
            a.load();
            a.raid.fail(lost);
            a.load();
            const RebuildReport r = a.rebuild_under_load(
                lost, a.add_drive(), {.commands = a.commands(200), .outstanding = 8, .largest = 6});
            CHECK(r.failed == 0);
            CHECK(a.raid.in_sync(lost));
            a.expect_clean();
            CHECK(a.read_all() == IoStatus::ok);
            CHECK(a.model.failed_reads + a.model.failed_writes == 0);
            a.raid.fail((lost + 1) % c.members); // now the spare is needed
            CHECK(a.read_all() == IoStatus::ok);
        }
}

TEMPLATE_TEST_CASE("RAID 6 rebuilds one member while another is out", "", SimWorld, FileWorld) {
    for (uint32_t first = 0; first < 5; first++) {
        const uint32_t second = (first + 2) % 5;
        CAPTURE(first, second);
        ArrayUnderTest<TestType> a(
            {.raid = small_array(RaidLevel::raid6), .members = 5, .rows = 10});
        a.load();
        a.raid.fail(first);
        a.raid.fail(second);
        for (const uint32_t m : {first, second}) {
            const LoadOptions light{.commands = a.commands(150), .outstanding = 6, .largest = 5};
            CHECK(a.rebuild_under_load(m, a.add_drive(), light).failed == 0);
        }
        a.expect_clean();
        a.raid.fail((first + 1) % 5);
        a.raid.fail((first + 3) % 5);
        CHECK(a.read_all() == IoStatus::ok);
    }
}

TEMPLATE_TEST_CASE("an array with one to four stripes comes to an end and stays right", "",
                   SimWorld, FileWorld) {
    const auto level = GENERATE(RaidLevel::raid5, RaidLevel::raid6);
    const uint32_t stripes = GENERATE(1u, 2u, 3u, 4u);
    CAPTURE(static_cast<int>(level), stripes);
    ArrayUnderTest<TestType> a({.raid = {.level = level, .chunk_blocks = 4, .stripes = stripes}});
    const LoadOptions crowd{.commands = a.commands(200), .outstanding = 64};
    a.load(crowd);
    CHECK(a.raid.stripes_exhausted() > 0);
    a.raid.fail(1);
    a.load(crowd);
    CHECK(a.rebuild_under_load(1, a.add_drive(), crowd).failed == 0);
    a.expect_clean();
    CHECK(a.model.failed_reads + a.model.failed_writes == 0);
}

TEMPLATE_TEST_CASE(
    "writes that overlap in flight leave copies, parity and all later reads in agreement", "",
    SimWorld, FileWorld) {
    for (const LevelCase& c : redundant_levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        ArrayUnderTest<TestType> a({.raid = small_array(c.level), .members = c.members, .rows = 1});
        for (int round = 0; round < 5; round++) {
            a.load({.commands = a.commands(100), .outstanding = 48, .largest = 8, .writes = 90});
            a.expect_clean();
            for (uint32_t copy = 0; copy < c.members; copy++)
                CHECK(a.read_all() == IoStatus::ok); // reads go round the copies
        }
    }
}

TEMPLATE_TEST_CASE("how an array carries out large requests does not show in its data", "",
                   SimWorld, FileWorld) {
    const auto level = GENERATE(RaidLevel::raid5, RaidLevel::raid6, RaidLevel::raid10);
    RaidOptions o = small_array(level);
    const int variant = GENERATE(range(0, 8));
    o.through_engine = variant & 1;
    o.piece_blocks = variant & 2 ? 7 : 0;
    o.reads_through_parity = variant & 4;
    CAPTURE(static_cast<int>(level), o.through_engine, o.piece_blocks, o.reads_through_parity);
    ArrayUnderTest<TestType> a({.raid = o});
    a.load({.commands = a.commands(150), .cpu = &a.world.cpu()});
    CHECK(a.read_all() == IoStatus::ok);
    a.expect_clean();
    a.raid.fail(2);
    a.load({.commands = a.commands(100), .cpu = &a.world.cpu()});
    CHECK(a.read_all() == IoStatus::ok);
    CHECK(a.rebuild(2, a.add_drive()).failed == 0);
    a.expect_clean();
    CHECK(a.model.failed_reads + a.model.failed_writes == 0);
}

TEMPLATE_TEST_CASE("a flush is answered by every level, also with a member out", "", SimWorld,
                   FileWorld) {
    for (const LevelCase& c : redundant_levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        ArrayUnderTest<TestType> a({.raid = small_array(c.level), .members = c.members});
        const auto flush = [&]() -> Task<IoStatus> {
            co_return co_await a.raid.io(Op::flush, {0}, 0, nullptr);
        };
        a.load();
        CHECK(finish(a.world, flush()) == IoStatus::ok);
        a.world.pull(0);
        CHECK(finish(a.world, flush()) == IoStatus::ok);
        CHECK(a.raid.degraded());
        CHECK(finish(a.world, flush()) == IoStatus::ok);
    }
}

} // namespace storlab::test
