// What an array does about bad sectors and corruption, whom it acknowledges, and what it costs.
#include "sim/faults/faulty_device.hpp"
#include "tests/support/array_under_test.hpp"

namespace storlab::test {
namespace {

RaidOptions small_array(RaidLevel level) {
    return {.level = level, .chunk_blocks = 4, .stripes = 8};
}

// An array in which one member has bad sectors that a write heals.
template <class World> struct BadSectors {
    std::unique_ptr<UnreadableSectors> fault;
    ArrayUnderTest<World> array;

    BadSectors(const LevelCase& c, uint32_t member, BlockRange where)
        : array({.raid = small_array(c.level),
                 .members = c.members,
                 .wrap = [this, member, where](uint32_t m, BlockDevice& drive,
                                               Clock&) -> BlockDevice& {
                     if (m != member) return drive;
                     fault = std::make_unique<UnreadableSectors>(
                         drive,
                         UnreadableOptions{.where = where, .times = 0, .healed_by_write = true});
                     return *fault;
                 }}) {}
    // Whether the drive itself can read its sectors again.
    bool healed(uint64_t first, uint32_t blocks) {
        const uint64_t before = fault->hits();
        std::vector<std::byte> data(size_t{blocks} * fault->geometry().payload);
        const auto read = [&]() -> Task<IoStatus> {
            BlockDevice& drive = *fault;
            co_return co_await drive.read({first}, blocks, data.data());
        };
        CHECK(finish(array.world, read()) == IoStatus::ok);
        return fault->hits() == before;
    }
};

template <class World> IoStatus write_block(ArrayUnderTest<World>& a, uint64_t at) {
    std::vector<std::byte> data(a.raid.geometry().payload);
    const auto ticket = a.model.begin_write({at}, 1, data.data());
    const auto write = [&]() -> Task<IoStatus> {
        co_return co_await a.raid.io(Op::write, {at}, 1, data.data());
    };
    const auto status = finish(a.world, write());
    REQUIRE(status);
    a.model.end_write(ticket, *status);
    return *status;
}

// Changes a block of a drive behind the array's back.
template <class World> void corrupt(World& world, BlockDevice& drive, uint64_t block) {
    std::vector<std::byte> data(drive.geometry().payload);
    const auto flip = [&]() -> Task<IoStatus> {
        co_await drive.read({block}, 1, data.data());
        data[3] ^= std::byte{0x40};
        co_return co_await drive.write({block}, 1, data.data());
    };
    REQUIRE(finish(world, flip()) == IoStatus::ok);
}

} // namespace

TEMPLATE_TEST_CASE("a block that could not be read is recovered once and rewritten", "", SimWorld,
                   FileWorld) {
    for (const LevelCase& c : redundant_levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        BadSectors<TestType> b(c, 1, {.first = 3, .blocks = 9});
        // Zeros are what is there; all of it is consistent.
        while (b.fault->hits() < 1000 && !(b.array.raid.counters().rewritten >= 9)) {
            const uint64_t before = b.array.raid.counters().rewritten;
            CHECK(b.array.read_all() == IoStatus::ok);
            b.array.scrub(true); // parity, and copies that nobody read
            if (b.array.raid.counters().rewritten == before) break;
        }
        CHECK(b.array.raid.counters().rewritten == 9);
        CHECK(b.healed(3, 9));
        const uint64_t hits = b.fault->hits();
        CHECK(b.array.read_all() == IoStatus::ok);
        b.array.expect_clean();
        CHECK(b.fault->hits() == hits);
        CHECK_FALSE(b.array.raid.degraded());
    }
}

TEMPLATE_TEST_CASE("reads alone rewrite what they had to recover", "", SimWorld, FileWorld) {
    for (const LevelCase& c : redundant_levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        BadSectors<TestType> b(c, 1, {.first = 1, .blocks = 1}); // row 0: member 1 holds data
        const Layout& l = b.array.raid.layout();
        const auto holds = [&](uint64_t lba, uint32_t copy) {
            const Place p = l.place_copy({lba}, copy);
            return p.member == 1 && p.at.block == 1;
        };
        uint64_t lba = 0;
        while (!holds(lba, 0) && !holds(lba, l.copies() - 1) && !holds(lba, 1 % l.copies())) lba++;
        const auto read = [&]() -> Task<IoStatus> {
            std::vector<std::byte> data(b.array.raid.geometry().payload);
            IoStatus seen = IoStatus::ok;
            for (uint32_t copy = 0; copy < l.copies(); copy++) // each in turn
                seen = worst(seen, co_await b.array.raid.io(Op::read, {lba}, 1, data.data()));
            co_return seen;
        };
        CHECK(finish(b.array.world, read()) == IoStatus::ok);
        CHECK(b.array.raid.counters().rewritten == 1);
        CHECK(b.healed(1, 1));
    }
}

// One member is out and its block is written, another one has a bad sector: neither a change of
// parity nor a parity of what is there is possible.
TEMPLATE_TEST_CASE("a write that had to recover a block to compute parity puts it back", "",
                   SimWorld, FileWorld) {
    BadSectors<TestType> b({RaidLevel::raid6, 5}, 1, {.first = 2, .blocks = 1});
    ArrayUnderTest<TestType>& a = b.array;
    const Layout& l = a.raid.layout();
    uint64_t other = 0; // of the same line, on another member
    while (l.place({other}).at.block != 2 || l.place({other}).member == 1) other++;
    a.raid.fail(l.place({other}).member);
    CHECK(write_block(a, other) == IoStatus::ok);
    CHECK(b.fault->hits() == 1);
    CHECK(a.raid.counters().recover == 1);
    CHECK(a.raid.counters().rewritten == 1);
    CHECK(b.healed(2, 1));
    CHECK(a.read_all() == IoStatus::ok);
}

TEMPLATE_TEST_CASE("a rebuild rewrites the bad sectors of its sources", "", SimWorld, FileWorld) {
    for (const LevelCase c : {LevelCase{RaidLevel::raid6, 5}, LevelCase{RaidLevel::raid1, 3}}) {
        CAPTURE(static_cast<int>(c.level));
        BadSectors<TestType> b(c, 1, {.first = 4, .blocks = 6});
        b.array.raid.fail(0);
        CHECK(b.array.rebuild(0, b.array.add_drive()).failed == 0);
        CHECK(b.array.raid.counters().rewritten == b.fault->hits());
        if (c.level == RaidLevel::raid6) CHECK(b.healed(4, 6));
        b.array.scrub(true);
        CHECK(b.healed(4, 6));
    }
}

// The copy that counts is gone before the spare has it all.
TEMPLATE_TEST_CASE("a write that only an unfinished spare has is not acknowledged", "", SimWorld,
                   FileWorld) {
    for (const LevelCase c : {LevelCase{RaidLevel::raid1, 2}, LevelCase{RaidLevel::raid10, 4}}) {
        CAPTURE(static_cast<int>(c.level));
        PowerSupply supply;
        std::unique_ptr<PoweredDevice> mortal;
        const auto wrap = [&](uint32_t m, BlockDevice& drive, Clock&) -> BlockDevice& {
            if (m != 1) return drive;
            mortal = std::make_unique<PoweredDevice>(drive, supply);
            return *mortal;
        };
        ArrayUnderTest<TestType> a(
            {.raid = small_array(c.level), .members = c.members, .rows = 20, .wrap = wrap});
        a.raid.fail(0);
        DelayedDevice slow(a.add_drive(), a.world.clock(),
                           {.least = Duration::us(100), .spread = {}});
        bool wrote = false;
        IoStatus early = IoStatus::ok, late = IoStatus::ok;
        const auto write_during_rebuild = [&]() -> Task<IoStatus> {
            std::vector<std::byte> data(a.raid.geometry().payload);
            co_await sleep_for(a.world.clock(), Duration::us(30));
            supply.off = true; // the source of the rebuild
            late = co_await a.raid.io(Op::write, {a.raid.layout().place({0}).left + 0u}, 1,
                                      data.data());
            wrote = true;
            co_return late;
        };
        write_during_rebuild()
            .detach(&early,
                    [](void* e, IoStatus s) {
                        *static_cast<IoStatus*>(e) = s;
                        return nothing();
                    })
            .resume();
        const RebuildReport r = a.rebuild(0, slow);
        CHECK(wrote);
        CHECK(r.failed > 0);
        CHECK_FALSE(a.raid.in_sync(0));
        const bool on_first_pair = c.level == RaidLevel::raid1;
        CHECK(early == (on_first_pair ? IoStatus::failed : IoStatus::ok));
    }
}

TEMPLATE_TEST_CASE("a scrub of an array that is written to finds nothing that is not there", "",
                   SimWorld, FileWorld) {
    for (const LevelCase& c : redundant_levels)
        for (const bool repair : {false, true}) {
            CAPTURE(static_cast<int>(c.level), c.members, repair);
            ArrayUnderTest<TestType> a(
                {.raid = small_array(c.level), .members = c.members, .rows = 12});
            a.load();
            BlockLoad l(
                a.raid, a.model,
                {.commands = a.commands(300), .outstanding = 16, .largest = 12, .writes = 80});
            l.start();
            const ScrubReport s = a.scrub(repair);
            CHECK(l.all_done());
            CHECK(s.lines == a.raid.lines());
            CHECK(s.mismatches + s.unreadable == 0);
            a.check_model();
            a.expect_clean();
            a.raid.fail(1);
            CHECK(a.read_all() == IoStatus::ok);
        }
}

// Planted where the load does not write: in parity, or in a second copy.
TEMPLATE_TEST_CASE("a repairing scrub under load mends exactly the lines that were corrupted", "",
                   SimWorld, FileWorld) {
    for (const LevelCase& c : redundant_levels) {
        CAPTURE(static_cast<int>(c.level), c.members);
        std::vector<BlockDevice*> drives;
        const auto wrap = [&](uint32_t, BlockDevice& drive, Clock&) -> BlockDevice& {
            drives.push_back(&drive);
            return drive;
        };
        ArrayUnderTest<TestType> a({.raid = small_array(c.level),
                                    .members = c.members,
                                    .rows = 12,
                                    .seed = 1,
                                    .wrap = wrap});
        REQUIRE(finish(a.world, write_all(a.raid, a.model)) == IoStatus::ok);
        const Layout& l = a.raid.layout();
        const uint64_t half = a.model.blocks() / 2;
        std::set<uint64_t> lines;
        for (uint64_t lba = half; lba < a.model.blocks(); lba += 7) {
            const Place p = l.place({lba});
            if (!lines.insert(p.at.block).second) continue;
            const uint32_t member = l.copies() > 1 ? l.place_copy({lba}, 1).member
                                                   : l.column_member(p.row, l.members() - 1);
            const Lba at = l.copies() > 1 ? l.place_copy({lba}, 1).at : p.at;
            corrupt(a.world, *drives[member], at.block);
        }
        REQUIRE(lines.size() > 2);
        ModelDisk first_half(half, a.raid.geometry().payload);
        REQUIRE(finish(a.world, write_all(a.raid, first_half)) == IoStatus::ok);
        BlockLoad load(a.raid, first_half,
                       {.commands = a.commands(150), .outstanding = 8, .largest = 8, .writes = 80});
        load.start();
        const ScrubReport s = a.scrub(true);
        CHECK(load.all_done());
        CHECK(first_half.mismatches == 0);
        CHECK(s.mismatches == lines.size());
        a.expect_clean();
    }
}

TEST_CASE("pages of stripes are aligned as devices that do not copy want them") {
    const uint32_t payload = GENERATE(512u, 4096u);
    StripeCache cache(16, 5, payload);
    for (uint64_t line = 0; line < 16; line++) {
        const Stripe* const s = cache.get(line);
        REQUIRE(s);
        for (uint32_t c = 0; c < 5; c++)
            CHECK(reinterpret_cast<uintptr_t>(cache.page(*s, c)) % payload == 0);
    }
}

TEST_CASE("changing a line over files copies nothing") {
    ScratchFolder folder;
    RealWorld world;
    FreeCpu cpu(world);
    std::vector<std::unique_ptr<FileDevice>> files;
    std::vector<BlockDevice*> members;
    for (int m = 0; m < 5; m++) {
        files.push_back(std::make_unique<FileDevice>(
            world, FileOptions{.path = folder.file(std::to_string(m)), .blocks = 600}));
        members.push_back(files.back().get());
    }
    for (const Consistency consistency : {Consistency::none, Consistency::ppl}) {
        Raid raid(world, cpu, members, {.level = RaidLevel::raid5, .consistency = consistency});
        BlockDevice& array = raid;
        const PageMemory data(4096 * 80);
        std::memset(data.get(), 7, 4096 * 80);
        REQUIRE(finish(world, raid.recover()));
        const auto load = [&]() -> Task<IoStatus> {
            IoStatus s = co_await array.write({3}, 1, data.get());
            s = worst(s, co_await array.write({10}, 70, data.get()));
            raid.fail(2);
            co_return worst(s, co_await array.read({700}, 80, data.get()));
        };
        CHECK(finish(world, load()) == IoStatus::ok);
        CHECK(raid.counters().read_modify > 0);
        CHECK(raid.counters().degraded_reads > 0);
    }
    for (const auto& file : files) CHECK(file->copied() == 0);
}

TEST_CASE("as many waiters are woken as there are idle stripes") {
    StripeCache cache(2, 3, 16);
    Stripe &first = *cache.get(1), &second = *cache.get(2);
    first.active = second.active = true;
    struct Waiter : Event {
        StripeCache* cache;
        uint64_t line;
        Stripe* got = nullptr;
    } w[3];
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_FALSE(cache.get(3));
        w[i].cache = &cache;
        w[i].line = i < 2 ? 3 : 4; // two want the same line
        w[i].fire = [](Event& e) {
            auto& waiter = static_cast<Waiter&>(e);
            waiter.got = waiter.cache->get(waiter.line);
            waiter.got->active = true;
        };
        cache.waiters.push(w[i]);
    }
    first.active = false;
    cache.put(first);
    CHECK(w[0].got == &first);
    CHECK_FALSE(w[1].got);
    second.active = false;
    cache.put(second); // the next waiter finds its line in use; the stripe is for the one after it
    CHECK(w[1].got == &first);
    CHECK(w[2].got == &second);
    CHECK(cache.waiters.empty());
}

// Each window is followed by an eighth of the mean time a window has taken so far, back-offs
// included: that makes the whole 8/7 of the windows alone.
TEST_CASE("a rebuild beside a load leaves an eighth of its time to it, unless it is below its "
          "floor") {
    const auto took = [](Rate floor) {
        ArrayUnderTest<SimWorld> a(
            {.raid = small_array(RaidLevel::raid1), .members = 2, .rows = 500});
        a.raid.fail(0);
        bool over = false;
        const auto reader = [&]() -> Task<void> {
            std::vector<std::byte> data(a.raid.geometry().payload);
            while (!over) co_await a.raid.io(Op::read, {1}, 1, data.data());
        };
        reader().detach(nullptr, [](void*) { return nothing(); }).resume();
        RebuildOptions o = ArrayUnderTest<SimWorld>::at_full_speed();
        o.speed_min = floor;
        const auto rebuild = [&]() -> Task<RebuildReport> {
            const RebuildReport r = co_await a.raid.rebuild(0, a.add_drive(), o);
            over = true;
            co_return r;
        };
        const auto r = finish(a.world, rebuild());
        REQUIRE(r);
        CHECK(r->lines == 2000);
        return (r->ended - r->started).in_seconds();
    };
    const double alone = took(Rate::bytes_per_second(1e15)),
                 beside = took(Rate::bytes_per_second(1));
    CHECK(beside / alone == Approx(8.0 / 7).epsilon(0.03));
}

TEST_CASE("a healthy read takes no frame, and a read-modify-write two") {
    for (const RaidLevel level : {RaidLevel::raid0, RaidLevel::raid1, RaidLevel::raid10,
                                  RaidLevel::raid5, RaidLevel::raid6}) {
        CAPTURE(static_cast<int>(level));
        ArrayUnderTest<SimWorld> a({.raid = small_array(level)});
        std::vector<std::byte> data(a.raid.geometry().payload);
        struct Caller {
            uint32_t answered = 0;
        } caller;
        const auto frames = [&](Op op, uint64_t at) {
            Request r(&a.raid, op, {at}, 1, data.data());
            r.owner = &caller;
            r.done = [](Request& done) {
                static_cast<Caller*>(done.owner)->answered++;
                return nothing();
            };
            const uint64_t before = FramePool::frames_taken;
            BlockDevice& array = a.raid;
            array.submit(r).resume();
            a.world.run();
            CHECK(r.status == IoStatus::ok);
            CHECK(r.lba.block == at); // as the submitter wrote it
            return FramePool::frames_taken - before;
        };
        for (const uint64_t at : {0u, 5u, 13u}) CHECK(frames(Op::read, at) == 0);
        if (a.raid.layout().parities()) {
            CHECK(frames(Op::write, 5) == 2); // the line's coroutine and its commands
            CHECK(a.raid.counters().read_modify + a.raid.counters().reconstruct == 1);
        }
        if (level == RaidLevel::raid0) CHECK(frames(Op::write, 5) == 0);
        CHECK(caller.answered > 2);
    }
}

} // namespace storlab::test
