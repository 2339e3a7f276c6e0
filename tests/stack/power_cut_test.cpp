// Arrays whose drives lose power at every point of a small load, in both worlds: what the partial
// parity log and the write-intent bitmap are for.
#include "tests/support/array_under_test.hpp"
#include "tests/support/power_cut.hpp"

namespace storlab::test {
namespace {

struct Written {
    uint64_t at;
    uint32_t blocks;
};
// Over a few rows of four-block chunks: single blocks, several in a line, whole rows, the same
// again, and two in one line at once. The rest of the array is left alone.
const std::vector<Written> writes = {{0, 1}, {5, 1}, {16, 16}, {2, 7},  {16, 1}, {33, 3},
                                     {0, 1}, {4, 1}, {1, 1},   {36, 2}, {16, 9}, {5, 1}};

struct CrashOptions {
    RaidOptions raid;
    uint32_t members = 5;
    uint64_t rows = 5;
    std::vector<uint32_t> out = {}; // members that are out before and after
    uint32_t lands = 0;
    uint64_t seed = 1;
    uint64_t file_stride = 1;
};

// An array that is stopped without notice and made anew over the same drives.
template <class World> class Crash {
public:
    World& world;
    std::vector<BlockDevice*> drives;
    std::unique_ptr<ModelDisk> model;

    Crash(World& w, const CrashOptions& o) : world(w), o_(o) {
        const uint64_t reserve = 64; // for log or bitmap
        for (uint32_t m = 0; m < o.members; m++)
            drives.push_back(&world.add_device(o.rows * o.raid.chunk_blocks + reserve));
        Raid& raid = make(drives, {});
        const Geometry g = raid.geometry();
        model = std::make_unique<ModelDisk>(std::min<uint64_t>(g.blocks, blocks()), g.payload);
        REQUIRE(finish(world, fill(raid)) == IoStatus::ok);
        world.run();
    }
    uint64_t blocks() const { return 5 * 16; } // under test; there may be more behind
    Raid& make(const std::vector<BlockDevice*>& over, const std::vector<uint32_t>& out) {
        arrays_.push_back(std::make_unique<Raid>(world.clock(), world.cpu(), over, o_.raid));
        for (const uint32_t m : out) arrays_.back()->fail(m);
        return *arrays_.back();
    }
    // Some writes, at most four at once, until the power goes. False: it did not.
    bool load_until(uint64_t commands) {
        PowerCut& cut = *cuts_.emplace_back(std::make_unique<PowerCut>());
        cut.lands = o_.lands;
        cut.seed = o_.seed + commands;
        std::vector<BlockDevice*> behind;
        for (BlockDevice* d : drives)
            behind.push_back(cut_devices_.emplace_back(new CutDevice(*d, cut)).get());
        Raid& raid = make(behind, o_.out);
        REQUIRE(finish(world, raid.recover()));
        cut.sure = commands;
        next_ = 0;
        for (int i = 0; i < 4; i++)
            slot(raid).detach(this, [](void*) { return nothing(); }).resume();
        world.run();
        const bool happened = !cut.lost.empty() || cut.sure == 0;
        cut.switch_off();
        world.run();
        counters = raid.counters();
        return happened;
    }
    RecoveryReport recover(const std::vector<uint32_t>& out) {
        const auto report = finish(world, make(drives, out).recover());
        REQUIRE(report);
        return *report;
    }
    uint64_t mismatched_lines() {
        Raid& raid = make(drives, {});
        const auto report = finish(world, raid.scrub(0, raid.lines(), false));
        REQUIRE(report);
        CHECK(report->unreadable == 0);
        return report->mismatches;
    }
    // Reads every block with some members out, and returns how many are wrong. Without `all`, those
    // that were written by the load and are on a member that is out do not count.
    uint64_t wrong_blocks(const std::vector<uint32_t>& out, bool all = true) {
        Raid& raid = make(drives, out);
        const uint64_t before = model->mismatches;
        REQUIRE(finish(world, read_some(raid, all)) == IoStatus::ok);
        return model->mismatches - before;
    }
    RaidCounters counters;

private:
    CrashOptions o_;
    std::vector<std::unique_ptr<PowerCut>> cuts_;
    std::vector<std::unique_ptr<CutDevice>> cut_devices_;
    std::vector<std::unique_ptr<Raid>> arrays_;
    size_t next_ = 0;

    static constexpr uint32_t row = 16; // blocks
    Task<IoStatus> fill(BlockDevice& device) {
        std::vector<std::byte> data(size_t{row} * device.geometry().payload);
        IoStatus seen = IoStatus::ok;
        for (uint64_t b = 0; b < model->blocks(); b += row) {
            const auto ticket = model->begin_write({b}, row, data.data());
            const IoStatus status = co_await device.write({b}, row, data.data());
            model->end_write(ticket, status);
            seen = worst(seen, status);
        }
        co_return seen;
    }
    Task<void> slot(BlockDevice& device) {
        std::vector<std::byte> data(size_t{16} * device.geometry().payload);
        while (next_ < writes.size()) {
            const Written w = writes[next_++];
            const auto ticket = model->begin_write({w.at}, w.blocks, data.data());
            const IoStatus status = co_await device.write({w.at}, w.blocks, data.data());
            // Who asked lost power too: what is answered afterwards was never answered.
            model->end_write(ticket, cuts_.back()->off ? IoStatus::failed : status);
        }
    }
    static bool loaded(uint64_t block) {
        for (const Written& w : writes)
            if (block >= w.at && block < w.at + w.blocks) return true;
        return false;
    }
    Task<IoStatus> read_some(Raid& raid, bool all) {
        const uint32_t step = all ? row : 1;
        std::vector<std::byte> data(size_t{step} * raid.geometry().payload);
        BlockDevice& device = raid;
        IoStatus seen = IoStatus::ok;
        for (uint64_t b = 0; b < model->blocks(); b += step) {
            if (!all && loaded(b) && !raid.in_sync(raid.layout().place({b}).member)) continue;
            const auto ticket = model->begin_read({b}, step);
            const IoStatus status = co_await device.read({b}, step, data.data());
            model->end_read(ticket, data.data(), status);
            seen = worst(seen, status);
        }
        co_return seen;
    }
};

RaidOptions raid5(Consistency consistency, uint32_t log_slots = 4) {
    return {.level = RaidLevel::raid5,
            .chunk_blocks = 4,
            .stripes = 8,
            .consistency = consistency,
            .log_slots = log_slots};
}

// f(crash) for a cut after 0, 1, 2... commands, until the load ends before it. In the second round
// some commands after the cut land. Over files only every `file_stride`-th point is tried.
template <class World, class F> void at_every_point(CrashOptions o, F&& f) {
    for (const uint32_t lands : {0u, 40u}) {
        std::unique_ptr<World> world;
        bool cut = true;
        uint64_t n = 0;
        for (; cut; n += World::effort == 1 ? o.file_stride : 1) {
            CAPTURE(n, lands);
            o.lands = lands;
            o.seed = n + 1;
            // Setting up a real world takes longer than what happens in it.
            if (!world || n % 16 == 0) world = std::make_unique<World>(n + 1);
            Crash<World> crash(*world, o);
            cut = crash.load_until(n);
            f(crash, n);
        }
        CHECK(n > writes.size());
    }
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
