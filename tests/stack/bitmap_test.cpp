// The write-intent bitmap: what it promises after a cut of power at every point of a load, and what
// it costs. In both worlds.
#include "tests/support/crash.hpp"

namespace storlab::test {
namespace {

RaidOptions with_bitmap(RaidLevel level) {
    return {.level = level,
            .chunk_blocks = 4,
            .stripes = 8,
            .bitmap_region = 4,
            .bitmap_idle = Duration::us(300)}; // bits go and come again within the load
}
constexpr LevelCase levels[] = {{RaidLevel::raid1, 2},  {RaidLevel::raid1, 3},
                                {RaidLevel::raid10, 4}, {RaidLevel::raid10, 5},
                                {RaidLevel::raid5, 5},  {RaidLevel::raid6, 5}};

// Regions that the load of a crash writes to.
std::set<uint64_t> regions_written(const Layout& l, uint32_t region) {
    std::set<uint64_t> regions;
    for (const Written& w : writes)
        for (uint64_t b = w.at; b < w.at + w.blocks; b++)
            for (uint32_t c = 0; c < l.copies(); c++)
                regions.insert(l.place_copy({b}, c).at.block / region);
    return regions;
}

} // namespace

TEMPLATE_TEST_CASE("after a cut of power only regions that were written to are looked at, and then "
                   "copies and parity agree",
                   "", SimWorld, FileWorld) {
    for (const LevelCase& c : levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        uint64_t differed = 0, looked_at = 0;
        at_every_point<TestType>(
            {.raid = with_bitmap(c.level), .members = c.members, .rows = 20, .file_stride = 17},
            [&](Crash<TestType>& crash, uint64_t) {
                differed += crash.mismatched_lines();
                std::vector<std::unique_ptr<TouchedBlocks>> watched;
                std::vector<BlockDevice*> over;
                for (BlockDevice* d : crash.drives)
                    over.push_back(watched.emplace_back(std::make_unique<TouchedBlocks>(*d)).get());
                Raid& raid = crash.make(over, {});
                const auto report = finish(crash.world, raid.recover());
                REQUIRE(report);
                const std::set<uint64_t> may = regions_written(raid.layout(), 4);
                CHECK(report->regions <= may.size());
                CHECK(report->scrub.unreadable == 0);
                looked_at += report->scrub.lines;
                for (const auto& drive : watched)
                    for (const auto* blocks : {&drive->read, &drive->written})
                        for (const uint64_t b : *blocks)
                            CHECK((b >= raid.lines() || may.contains(b / 4)));
                CHECK(crash.mismatched_lines() == 0);
                CHECK(crash.wrong_blocks({}) == 0);
                CHECK(crash.wrong_blocks({}) == 0); // reads go round the copies
                for (uint32_t m = 0; m < c.members; m++) CHECK(crash.wrong_blocks({m}) == 0);
            });
        if (TestType::effort > 1) CHECK(differed > 0);
        CHECK(looked_at > 0);
    }
}

TEMPLATE_TEST_CASE("after an orderly stop no region is left to look at", "", SimWorld, FileWorld) {
    for (const LevelCase& c : levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        TestType world;
        Crash<TestType> crash(world,
                              {.raid = with_bitmap(c.level), .members = c.members, .rows = 20});
        CHECK_FALSE(crash.load_until(100'000));
        const RecoveryReport r = crash.recover({});
        CHECK(r.regions == 0);
        CHECK(r.scrub.lines == 0);
    }
}

TEMPLATE_TEST_CASE("without a bitmap and without a log everything is looked at", "", SimWorld,
                   FileWorld) {
    for (const LevelCase& c : levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        RaidOptions o = with_bitmap(c.level);
        o.bitmap_region = 0;
        TestType world;
        Crash<TestType> crash(world, {.raid = o, .members = c.members, .rows = 20});
        crash.load_until(21);
        const RecoveryReport r = crash.recover({});
        CHECK(r.scrub.lines == crash.make(crash.drives, {}).lines());
        CHECK(crash.mismatched_lines() == 0);
    }
}

TEMPLATE_TEST_CASE("many writes to a region cost one setting and one clearing of its bit on each "
                   "member",
                   "", SimWorld, FileWorld) {
    for (const LevelCase& c : levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        RaidOptions o = with_bitmap(c.level);
        o.bitmap_idle = Duration::ms(50);
        ArrayUnderTest<TestType> a({.raid = o, .members = c.members});
        const auto rewrite = [&]() -> Task<IoStatus> {
            std::vector<std::byte> data(a.raid.geometry().payload);
            IoStatus seen = IoStatus::ok;
            for (int i = 0; i < 40; i++) {
                const auto ticket = a.model.begin_write({1}, 1, data.data());
                const IoStatus status = co_await a.raid.io(Op::write, {1}, 1, data.data());
                a.model.end_write(ticket, status);
                seen = worst(seen, status);
            }
            co_return seen;
        };
        CHECK(finish(a.world, rewrite()) == IoStatus::ok);
        CHECK(a.raid.counters().bitmap_writes == 2 * c.members);
    }
}

TEMPLATE_TEST_CASE("an array with a bitmap of several blocks is written, loses a member and is "
                   "rebuilt like any other",
                   "", SimWorld, FileWorld) {
    for (const LevelCase& c : levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        ArrayUnderTest<TestType> a(
            {.raid = with_bitmap(c.level), .members = c.members, .rows = 160});
        CHECK(a.raid.lines() ==
              160u * 4 - (TestType::effort > 1 ? 4 : 0)); // 161 bits; 128 a sketch
        a.load();
        a.raid.fail(1);
        a.load();
        CHECK(a.rebuild_under_load(1, a.add_drive(), {.commands = a.commands(60), .outstanding = 8})
                  .failed == 0);
        a.expect_clean();
        CHECK(a.read_all() == IoStatus::ok);
        CHECK(a.model.failed_reads + a.model.failed_writes == 0);
        CHECK(a.raid.counters().bitmap_writes > 0);
    }
}

} // namespace storlab::test
