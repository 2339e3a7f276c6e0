// Arrays that are stopped without notice at every point of a small load, and made anew over the
// same drives.
#pragma once
#include "tests/support/array_under_test.hpp"
#include "tests/support/power_cut.hpp"
#include "tests/support/volatile_cache.hpp"

namespace storlab::test {

struct Written {
    uint64_t at;
    uint32_t blocks;
};
// Over a few rows of four-block chunks: single blocks, several in a line, whole rows, the same
// again, and two in one line at once. The rest of the array is left alone.
inline const std::vector<Written> writes = {{0, 1}, {5, 1}, {16, 16}, {2, 7},  {16, 1}, {33, 3},
                                            {0, 1}, {4, 1}, {1, 1},   {36, 2}, {16, 9}, {5, 1}};

struct CrashOptions {
    RaidOptions raid;
    uint32_t members = 5;
    uint64_t rows = 5;
    std::vector<uint32_t> out = {}; // members that are out before and after
    uint32_t lands = 0;
    uint64_t seed = 1;
    uint64_t file_stride = 1;
    uint64_t journal_blocks = 0;  // of its device; 0: as few as there can be
    bool volatile_caches = false; // what was acknowledged may be lost until it is flushed
};

// An array that is stopped without notice and made anew over the same drives.
template <class World> class Crash {
public:
    World& world;
    std::vector<BlockDevice*> drives;
    BlockDevice* journal = nullptr;
    std::unique_ptr<ModelDisk> model;

    Crash(World& w, const CrashOptions& o) : world(w), o_(o) {
        const uint64_t reserve = 64; // for log or bitmap
        for (uint32_t m = 0; m < o.members; m++)
            drives.push_back(&world.add_device(o.rows * o.raid.chunk_blocks + reserve));
        if (o.raid.consistency == Consistency::journal)
            journal = &world.add_device(o.journal_blocks ? o.journal_blocks
                                                         : Journal::least_blocks(o.members));
        Raid& raid = make(drives, {});
        const Geometry g = raid.geometry();
        model = std::make_unique<ModelDisk>(std::min<uint64_t>(g.blocks, blocks()), g.payload);
        REQUIRE(finish(world, fill(raid)) == IoStatus::ok);
        world.run();
    }
    uint64_t blocks() const { return 5 * 16; } // under test; there may be more behind
    Raid& make(const std::vector<BlockDevice*>& over, const std::vector<uint32_t>& out,
               BlockDevice* log = nullptr) {
        RaidOptions o = o_.raid;
        o.journal = log ? log : journal;
        arrays_.push_back(std::make_unique<Raid>(world.clock(), world.cpu(), over, o));
        for (const uint32_t m : out) arrays_.back()->fail(m);
        return *arrays_.back();
    }
    // Some writes, at most four at once, until the power goes. False: it did not.
    bool load_until(uint64_t commands) {
        Raid& raid = make_behind_cut(commands, o_.out);
        PowerCut& cut = *cuts_.back();
        REQUIRE(finish(world, raid.recover()));
        cut.sure = commands;
        next_ = 0;
        for (int i = 0; i < 4; i++)
            slot(raid).detach(this, [](void*) { return nothing(); }).resume();
        const bool happened = run_until_cut();
        counters = raid.counters();
        return happened;
    }
    // A recovery during which the power goes.
    bool recover_until(uint64_t commands) {
        Raid& raid = make_behind_cut(commands, o_.out);
        cuts_.back()->sure = commands;
        raid.recover().detach(this, [](void*, RecoveryReport) { return nothing(); }).resume();
        return run_until_cut();
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
    std::vector<std::unique_ptr<VolatileCache>> caches_;
    std::vector<std::unique_ptr<Raid>> arrays_;
    size_t next_ = 0;

    BlockDevice& behind_cut(BlockDevice& drive) {
        PowerCut& cut = *cuts_.back();
        CutDevice& d = *cut_devices_.emplace_back(new CutDevice(drive, cut));
        if (!o_.volatile_caches) return d;
        return *caches_.emplace_back(new VolatileCache(d, drive, cut.seed + caches_.size()));
    }
    Raid& make_behind_cut(uint64_t commands, const std::vector<uint32_t>& out) {
        PowerCut& cut = *cuts_.emplace_back(std::make_unique<PowerCut>());
        cut.lands = o_.lands;
        cut.seed = o_.seed + commands;
        caches_.clear();
        std::vector<BlockDevice*> behind;
        for (BlockDevice* d : drives) behind.push_back(&behind_cut(*d));
        return make(behind, out, journal ? &behind_cut(*journal) : nullptr);
    }
    bool run_until_cut() {
        PowerCut& cut = *cuts_.back();
        world.run();
        const bool happened = !cut.lost.empty() || cut.sure == 0;
        cut.switch_off();
        world.run();
        for (auto& cache : caches_) REQUIRE(finish(world, cache->lose()) == IoStatus::ok);
        return happened;
    }

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

} // namespace storlab::test
