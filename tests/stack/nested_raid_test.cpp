// Arrays of arrays, in both worlds.
#include "tests/support/array_under_test.hpp"

namespace storlab::test {
namespace {

struct NestCase {
    RaidLevel outer, inner;
    uint32_t arrays, members;
};
constexpr NestCase nests[] = {
    {RaidLevel::raid0, RaidLevel::raid5, 2, 3}, {RaidLevel::raid0, RaidLevel::raid1, 3, 2},
    {RaidLevel::raid0, RaidLevel::raid6, 2, 4}, {RaidLevel::raid0, RaidLevel::raid0, 2, 2},
    {RaidLevel::raid1, RaidLevel::raid5, 2, 3}, {RaidLevel::raid5, RaidLevel::raid1, 3, 2},
    {RaidLevel::raid5, RaidLevel::raid5, 3, 3}, {RaidLevel::raid10, RaidLevel::raid0, 4, 2}};

template <class World> struct Nest {
    World world;
    std::vector<std::unique_ptr<Raid>> inner;
    std::unique_ptr<Raid> outer;
    std::unique_ptr<ModelDisk> model;
    uint64_t seed = 0;

    explicit Nest(const NestCase& c) {
        std::vector<BlockDevice*> arrays;
        for (uint32_t i = 0; i < c.arrays; i++) {
            std::vector<BlockDevice*> drives;
            for (uint32_t m = 0; m < c.members; m++) drives.push_back(&world.add_device(40));
            arrays.push_back(make(c.inner, drives, inner.emplace_back()));
        }
        make(c.outer, arrays, outer);
        const Geometry g = outer->geometry();
        model = std::make_unique<ModelDisk>(g.blocks, g.payload);
    }
    Raid* make(RaidLevel level, const std::vector<BlockDevice*>& members,
               std::unique_ptr<Raid>& into) {
        const RaidOptions o{.level = level, .chunk_blocks = 4, .stripes = 8};
        into = std::make_unique<Raid>(world.clock(), world.cpu(), members, o);
        return into.get();
    }
    void load(Cpu* cpu) {
        BlockLoad l(*outer, *model,
                    {.commands = 150u * World::effort, .largest = 24, .seed = ++seed, .cpu = cpu});
        l.start();
        world.run();
        REQUIRE(l.all_done());
        CHECK(finish(world, read_back(*outer, *model, 1)) == IoStatus::ok);
        CHECK(finish(world, read_back(*outer, *model, 29)) == IoStatus::ok);
        CHECK(model->mismatches == 0);
        CHECK(model->failed_reads + model->failed_writes == 0);
    }
    void expect_clean(Raid& raid) {
        const auto s = finish(world, raid.scrub(0, raid.lines(), false));
        REQUIRE(s);
        CHECK(s->lines == raid.lines());
        CHECK(s->mismatches + s->unreadable == 0);
    }
};

} // namespace

TEMPLATE_TEST_CASE("arrays of arrays return what was written, whole and with a drive lost", "",
                   SimWorld, FileWorld) {
    for (const NestCase& c : nests)
        for (const bool pays : {false, true}) {
            CAPTURE(static_cast<int>(c.outer), static_cast<int>(c.inner), pays);
            Nest<TestType> n(c);
            Cpu* const cpu = pays ? &n.world.cpu() : nullptr;
            n.load(cpu);
            n.expect_clean(*n.outer);
            for (const auto& array : n.inner) n.expect_clean(*array);
            if (n.inner[0]->layout().survivable() > 0) {
                n.world.pull(0);
                n.load(cpu);
                CHECK(n.inner[0]->degraded());
                CHECK_FALSE(n.outer->degraded());
            } else if (n.outer->layout().survivable() > 0) {
                n.world.pull(0); // takes its array with it
                n.load(cpu);
                CHECK(n.outer->degraded());
            }
        }
}

} // namespace storlab::test
