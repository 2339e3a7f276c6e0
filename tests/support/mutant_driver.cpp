// Runs arrays of every redundant level through load, loss, rebuild and second loss, and through
// cuts of power, on the simulated world and prints what it found wrong, phase by phase.
// tests/mutants.py links it against sources with a planted bug, or asks it to put a faulty drive
// into the array.
#include "models/raid/raid.hpp"
#include "tests/support/block_load.hpp"
#include "tests/support/power_cut.hpp"
#include "tests/support/worlds.hpp"
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>

namespace storlab::test {
namespace {

constexpr uint32_t chunk = 4, rows = 16;

struct Found {
    uint64_t wrong_reads = 0, bad_lines = 0, failed = 0;
    void add(const Found& o) {
        wrong_reads += o.wrong_reads;
        bad_lines += o.bad_lines;
        failed += o.failed;
    }
};

class Trial {
public:
    Trial(RaidLevel level, uint32_t members, std::string_view fault, uint64_t seed)
        : world_(seed), seed_(seed),
          raid_(world_.clock(), world_.cpu(), drives(members, fault), options(level, seed)),
          model_(raid_.geometry().blocks, raid_.geometry().payload) {}

    Found healthy() {
        load(800);
        return found();
    }
    Found scrubbed() {
        const auto report = finish(world_, raid_.scrub(0, raid_.lines(), false));
        Found f = found();
        f.bad_lines = report ? report->mismatches : 1;
        f.failed += !report || report->unreadable > 0;
        return f;
    }
    Found degraded(uint32_t lost) {
        load(100); // the scrub has emptied the stripes
        raid_.fail(lost);
        load(400);
        read_all();
        return found();
    }
    Found rebuilt(uint32_t lost) {
        const Rate no_limit = Rate::bytes_per_second(1e15);
        BlockLoad l = new_load(120, {.outstanding = 12, .largest = 4});
        l.start();
        const auto report =
            finish(world_, raid_.rebuild(lost, world_.add_device(drive_blocks),
                                         {.speed_min = no_limit, .speed_max = no_limit}));
        read_all();
        Found f = found();
        f.failed += !report || report->failed > 0 || !l.all_done();
        return f;
    }

private:
    static constexpr uint64_t drive_blocks = uint64_t{chunk} * rows;
    SimWorld world_;
    uint64_t seed_;
    std::unique_ptr<BlockDevice> faulty_;
    Raid raid_;
    ModelDisk model_;
    Found seen_;

    // Stripes for all lines, or so few that lines take them from each other.
    static RaidOptions options(RaidLevel level, uint64_t seed) {
        const auto lines = static_cast<uint32_t>(drive_blocks);
        return {.level = level, .chunk_blocks = chunk, .stripes = seed % 2 ? lines : lines / 5};
    }
    // The faulty drive is the second.
    std::vector<BlockDevice*> drives(uint32_t members, std::string_view fault) {
        std::vector<BlockDevice*> all;
        for (uint32_t m = 0; m < members; m++) all.push_back(&world_.add_device(drive_blocks));
        if (fault == "lost-write")
            faulty_ = std::make_unique<LostWrites>(*all[1], Nth{.first = 50, .every = 40});
        if (fault == "stale-data")
            faulty_ = std::make_unique<StaleReads>(*all[1], BlockRange{.first = 5, .blocks = 9});
        if (fault == "old-write-wins")
            faulty_ = std::make_unique<LingeringWrites>(*all[1], Nth{.first = 20, .every = 15});
        if (faulty_) all[1] = faulty_.get();
        return all;
    }
    BlockLoad new_load(uint64_t commands, LoadOptions o) {
        o.commands = commands;
        o.seed = ++seed_;
        return BlockLoad(raid_, model_, o);
    }
    void load(uint64_t commands) {
        BlockLoad l = new_load(commands, {.outstanding = 48, .largest = 24});
        l.start();
        world_.run();
        seen_.failed += !l.all_done();
    }
    void read_all() {
        const auto status = finish(world_, read_back(raid_, model_, 1));
        seen_.failed += status != IoStatus::ok;
    }
    // What is new since the last call.
    Found found() {
        Found f = std::exchange(seen_, {});
        f.wrong_reads = std::exchange(model_.mismatches, 0);
        f.failed += std::exchange(model_.failed_reads, 0) + std::exchange(model_.failed_writes, 0);
        return f;
    }
};

// An array under load that loses power after some commands, and what is there afterwards.
class CutTrial {
public:
    CutTrial(const RaidOptions& o, uint32_t members, uint64_t commands)
        : world_(commands + 1), o_(o), members_(members) {
        for (uint32_t m = 0; m < members; m++) drives_.push_back(&world_.add_device(112));
        cut_.lands = commands % 2 ? 40 : 0;
        cut_.seed = commands;
        for (BlockDevice* d : drives_) cut_drives_.emplace_back(*d, cut_);
        std::vector<BlockDevice*> behind;
        for (CutDevice& d : cut_drives_) behind.push_back(&d);
        o_.journal = &world_.add_device(Journal::least_blocks(members));
        CutDevice journal(*o_.journal, cut_);
        RaidOptions with_power = o_;
        with_power.journal = &journal;
        Raid raid(world_.clock(), world_.cpu(), behind, with_power);
        const uint64_t blocks = std::min<uint64_t>(raid.geometry().blocks, 96);
        model_ = std::make_unique<ModelDisk>(blocks, raid.geometry().payload);
        finish(world_, write_all(raid, *model_));
        world_.run();
        PowerSupply supply; // of who asks: after the cut nobody is told anything
        PoweredDevice caller(raid, supply);
        BlockLoad l(
            caller, *model_,
            {.commands = 60, .outstanding = 5, .largest = 12, .writes = 100, .seed = commands});
        cut_.sure = commands;
        l.start();
        world_.run();
        supply.off = true;
        cut_.switch_off();
        world_.run();
    }
    Found found() {
        Found f;
        Raid raid(world_.clock(), world_.cpu(), drives_, o_);
        f.failed += !finish(world_, raid.recover());
        const auto report = finish(world_, raid.scrub(0, raid.lines(), false));
        f.bad_lines = report ? report->mismatches : 1;
        f.failed += finish(world_, read_back(raid, *model_, 1)) != IoStatus::ok;
        for (uint32_t m = 0; m < members_; m++) {
            Raid degraded(world_.clock(), world_.cpu(), drives_, o_);
            degraded.fail(m);
            f.failed += finish(world_, read_back(degraded, *model_, 7)) != IoStatus::ok;
        }
        f.wrong_reads = model_->mismatches;
        return f;
    }

private:
    SimWorld world_;
    RaidOptions o_;
    uint32_t members_;
    PowerCut cut_;
    std::vector<BlockDevice*> drives_;
    std::deque<CutDevice> cut_drives_;
    std::unique_ptr<ModelDisk> model_;
};

Found cut() {
    RaidOptions log{.level = RaidLevel::raid5, .chunk_blocks = chunk, .stripes = 16};
    log.consistency = Consistency::ppl;
    log.log_slots = 5;
    RaidOptions bitmap = log;
    bitmap.consistency = Consistency::none;
    bitmap.bitmap_region = chunk;
    bitmap.bitmap_idle = Duration::us(150);
    RaidOptions journal = log, journal_of_two = log;
    journal.consistency = journal_of_two.consistency = Consistency::journal;
    journal_of_two.level = RaidLevel::raid6;
    RaidOptions mirror = bitmap, odd = bitmap;
    mirror.level = RaidLevel::raid1;
    odd.level = RaidLevel::raid10;
    Found f;
    for (uint64_t commands = 0; commands < 240; commands += 3) {
        f.add(CutTrial(log, 4, commands).found());
        f.add(CutTrial(journal, 4, commands).found());
        f.add(CutTrial(journal_of_two, 5, commands).found());
        f.add(CutTrial(bitmap, 4, commands).found());
        f.add(CutTrial(mirror, 2, commands).found());
        f.add(CutTrial(odd, 5, commands).found());
    }
    return f;
}

struct LevelCase {
    RaidLevel level;
    uint32_t members;
};
constexpr LevelCase levels[] = {
    {RaidLevel::raid1, 2}, {RaidLevel::raid10, 5}, {RaidLevel::raid5, 5}, {RaidLevel::raid6, 7}};

void say(const char* phase, const Found& f) {
    std::printf("%s wrong-reads=%llu bad-lines=%llu failed=%llu\n", phase,
                static_cast<unsigned long long>(f.wrong_reads),
                static_cast<unsigned long long>(f.bad_lines),
                static_cast<unsigned long long>(f.failed));
    std::fflush(stdout); // a bug may end the program in the next phase
}

void run(std::string_view fault) {
    Found healthy, scrubbed, degraded, rebuilt;
    std::vector<std::pair<std::unique_ptr<Trial>, uint32_t>> trials;
    for (const LevelCase& c : levels)
        for (uint32_t lost = 0; lost < c.members; lost++)
            trials.push_back({std::make_unique<Trial>(c.level, c.members, fault, lost + 1), lost});
    for (auto& [trial, lost] : trials) healthy.add(trial->healthy());
    say("healthy", healthy);
    for (auto& [trial, lost] : trials) scrubbed.add(trial->scrubbed());
    say("scrub", scrubbed);
    for (auto& [trial, lost] : trials) degraded.add(trial->degraded(lost));
    say("degraded", degraded);
    for (auto& [trial, lost] : trials) rebuilt.add(trial->rebuilt(lost));
    for (auto& [trial, lost] : trials) rebuilt.add(trial->scrubbed());
    say("rebuilt", rebuilt);
    if (fault == "none") say("cut", cut());
}

} // namespace
} // namespace storlab::test

int main(int arguments, char** argument) {
    storlab::test::run(arguments > 1 ? argument[1] : "none");
    return 0;
}
