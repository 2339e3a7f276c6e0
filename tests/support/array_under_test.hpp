// An array over the drives of a world, with a model disk beside it.
#pragma once
#include "models/raid/raid.hpp"
#include "tests/support/block_load.hpp"
#include "tests/support/worlds.hpp"
#include <catch2/catch.hpp>
#include <functional>

namespace storlab::test {

struct ArrayOptions {
    RaidOptions raid;
    uint32_t members = 5;
    uint64_t rows = 6;
    uint64_t seed = 1;
    // Puts something in front of a drive, or gives it back as it is.
    std::function<BlockDevice&(uint32_t member, BlockDevice& drive, Clock& clock)> wrap = nullptr;
};

// Every level, with a member count of each parity where it matters.
struct LevelCase {
    RaidLevel level;
    uint32_t members;
};
inline constexpr LevelCase redundant_levels[] = {
    {RaidLevel::raid1, 2}, {RaidLevel::raid1, 3}, {RaidLevel::raid10, 4}, {RaidLevel::raid10, 5},
    {RaidLevel::raid5, 3}, {RaidLevel::raid5, 5}, {RaidLevel::raid6, 4},  {RaidLevel::raid6, 7}};

template <class World> class ArrayUnderTest {
public:
    World world;
    uint64_t drive_blocks;
    Raid raid;
    ModelDisk model;

    explicit ArrayUnderTest(const ArrayOptions& o)
        : world(o.seed), drive_blocks(o.rows * o.raid.chunk_blocks + 1),
          raid(world.clock(), world.cpu(), add_drives(o), o.raid),
          model(raid.geometry().blocks, raid.geometry().payload), seed_(o.seed) {}

    BlockDevice& add_drive() { return world.add_device(drive_blocks); }
    // Commands for this world: `n` over files, more where they cost nothing.
    static uint64_t commands(uint64_t n) { return n * World::effort; }

    void load(LoadOptions o = {.commands = commands(150)}) {
        o.seed = ++seed_;
        BlockLoad l(raid, model, o);
        l.start();
        world.run();
        REQUIRE(l.all_done());
        check_model();
    }
    // Reads the whole array, in steps of a block and of several rows.
    IoStatus read_all() {
        const auto single = finish(world, read_back(raid, model, 1));
        const auto large = finish(world, read_back(raid, model, 41));
        REQUIRE((single && large));
        check_model();
        return worst(*single, *large);
    }
    ScrubReport scrub(bool repair = false) {
        const auto report = finish(world, raid.scrub(0, raid.lines(), repair));
        REQUIRE(report);
        return *report;
    }
    void expect_clean() {
        const ScrubReport s = scrub();
        CHECK(s.lines == raid.lines());
        CHECK(s.mismatches == 0);
        CHECK(s.unreadable == 0);
    }
    // As fast as it goes.
    static RebuildOptions at_full_speed(uint32_t window = 8) {
        const Rate no_limit = Rate::bytes_per_second(1e15);
        return {.speed_min = no_limit, .speed_max = no_limit, .window_lines = window};
    }
    RebuildReport rebuild(uint32_t member, BlockDevice& spare) {
        const auto report = finish(world, raid.rebuild(member, spare, at_full_speed()));
        REQUIRE(report);
        return *report;
    }
    // The rebuild, and a load that goes on meanwhile.
    RebuildReport rebuild_under_load(uint32_t member, BlockDevice& spare, LoadOptions o) {
        o.seed = ++seed_;
        BlockLoad l(raid, model, o);
        l.start();
        const RebuildReport report = rebuild(member, spare);
        REQUIRE(l.all_done());
        check_model();
        return report;
    }
    void check_model() {
        INFO(model.checked << " blocks checked");
        REQUIRE(model.mismatches == 0);
    }

private:
    uint64_t seed_;
    std::vector<BlockDevice*> add_drives(const ArrayOptions& o) {
        std::vector<BlockDevice*> drives;
        for (uint32_t m = 0; m < o.members; m++) {
            BlockDevice& drive = add_drive();
            drives.push_back(o.wrap ? &o.wrap(m, drive, world.clock()) : &drive);
        }
        return drives;
    }
};

} // namespace storlab::test
