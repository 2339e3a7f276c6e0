// Volumes: slices of a device that do not reach beyond their ends, alone and under RAID and paths.
#include "models/array/volume.hpp"
#include "models/multipath/multipath.hpp"
#include "models/raid/raid.hpp"
#include "sim/faults/faulty_device.hpp"
#include "tests/support/block_load.hpp"
#include "tests/support/worlds.hpp"
#include <catch2/catch.hpp>

namespace storlab::test {
namespace {

// Everything that a volume of so many blocks lets through, of all transfers near its ends.
void check_bounds(uint64_t first, uint64_t blocks) {
    SimWorld world;
    MemoryDevice& disk = world.add_device(64);
    Volume volume(disk, {first}, blocks);
    REQUIRE(volume.geometry().blocks == blocks);
    std::vector<std::byte> data(16 * 80);
    const auto before = disk.commands();
    uint64_t carried_out = 0;
    for (uint64_t at = 0; at <= blocks + 2; at++)
        for (uint32_t n = 1; n <= blocks + 2; n++)
            for (const Op op : {Op::read, Op::write}) {
                CAPTURE(first, blocks, at, n);
                const bool inside = at + n <= blocks;
                carried_out += inside;
                Io io = volume.io(op, {at}, n, data.data());
                const auto status =
                    finish(world, [](Io& i) -> Task<IoStatus> { co_return co_await i; }(io));
                REQUIRE(status == (inside ? IoStatus::ok : IoStatus::failed));
            }
    CHECK(disk.commands() - before == carried_out);
    Io far = volume.io(Op::read, {~uint64_t{0}}, 2, data.data()); // no sum wraps
    CHECK(volume.submit((
              far.done = [](Request&) { return nothing(); }, far)) == nothing());
    CHECK(far.status == IoStatus::failed);
    const auto flushed = finish(world, [](BlockDevice& v) -> Task<IoStatus> {
        co_return co_await v.io(Op::flush, {}, 1, nullptr);
    }(volume));
    CHECK(flushed == IoStatus::ok);
}

} // namespace

TEST_CASE("a volume lets through what lies within it and nothing else") {
    for (const uint64_t blocks : {1, 2, 7})
        for (const uint64_t first : {uint64_t{0}, uint64_t{5}, 64 - blocks})
            check_bounds(first, blocks);
}

TEST_CASE("volumes of one device hold their own contents") {
    SimWorld world(3);
    MemoryDevice& disk = world.add_device(100);
    Volume a(disk, {0}, 40), b(disk, {40}, 25), c(disk, {65}, 35);
    ModelDisk of_a(40, 16), of_b(25, 16), of_c(35, 16), whole(100, 16);
    BlockLoad on_a(a, of_a, {.commands = 3000, .seed = 1}),
        on_b(b, of_b, {.commands = 3000, .seed = 2}), on_c(c, of_c, {.commands = 3000, .seed = 3});
    for (BlockLoad* l : {&on_a, &on_b, &on_c}) l->start();
    world.run();
    for (const BlockLoad* l : {&on_a, &on_b, &on_c}) CHECK(l->all_done());
    for (uint32_t step : {1, 9}) {
        CHECK(finish(world, read_back(a, of_a, step)) == IoStatus::ok);
        CHECK(finish(world, read_back(b, of_b, step)) == IoStatus::ok);
        CHECK(finish(world, read_back(c, of_c, step)) == IoStatus::ok);
    }
    CHECK(of_a.mismatches + of_b.mismatches + of_c.mismatches == 0);
    CHECK(of_a.checked > 1000);
}

TEST_CASE("arrays over volumes over paths, and volumes of arrays, find every block") {
    SimWorld world(5);
    constexpr uint64_t each = 40;
    std::vector<std::unique_ptr<BlockDevice>> parts;
    std::vector<BlockDevice*> members;
    const auto keep = [&](auto device) -> BlockDevice& {
        parts.push_back(std::move(device));
        return *parts.back();
    };
    for (uint64_t m = 0; m < 4; m++) { // a disk with two paths
        MemoryDevice& disk = world.add_device(each + 20);
        PathOptions one{&disk}, two{&disk};
        BlockDevice& paths = keep(std::make_unique<Multipath>(
            world.clock(), std::vector<PathOptions>{one, two}, MultipathOptions{}));
        members.push_back(&keep(std::make_unique<Volume>(paths, Lba{7 + m}, each)));
    }
    // Bad blocks below the volume: the array reads again, at its own address.
    UnreadableSectors bad(*members[1], {.where = {3, 9}});
    members[1] = &bad;
    Raid raid(world.clock(), world.cpu(), members,
              {.level = RaidLevel::raid5, .chunk_blocks = 4, .stripes = 8});
    Volume front(raid, {11}, raid.geometry().blocks - 20);
    ModelDisk model(front.geometry().blocks, 16);
    BlockLoad load(front, model,
                   {.commands = 4000, .largest = 24, .writes = 30, .cpu = &world.cpu()});
    load.start();
    world.run();
    REQUIRE(load.all_done());
    CHECK(finish(world, read_back(front, model, 1)) == IoStatus::ok);
    CHECK(finish(world, read_back(front, model, 17)) == IoStatus::ok);
    CHECK(model.mismatches == 0);
    CHECK(bad.hits() > 0);
}

} // namespace storlab::test
