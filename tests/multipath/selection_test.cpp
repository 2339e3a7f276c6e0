// Which path a command takes, against sequences worked out by hand or anew.
#include "models/multipath/multipath.hpp"
#include "sim/base/random.hpp"
#include "tests/multipath/path_device.hpp"
#include <catch2/catch.hpp>
#include <limits>

namespace storlab::test {
namespace {

using Sequence = std::vector<int>;
MultipathOptions selecting(PathSelector s, uint32_t ios = 1) {
    MultipathOptions o;
    o.selector = s;
    o.round_robin_ios = ios;
    return o;
}
const PathOptions non_optimized{.device = nullptr, .access = PathAccess::non_optimized};

} // namespace

TEST_CASE("round robin takes the paths in turn, so many commands each") {
    CHECK(Host(3, selecting(PathSelector::round_robin)).chosen_of(7) ==
          Sequence{0, 1, 2, 0, 1, 2, 0});
    CHECK(Host(3, selecting(PathSelector::round_robin, 2)).chosen_of(8) ==
          Sequence{0, 0, 1, 1, 2, 2, 0, 0});
    CHECK(Host(1, selecting(PathSelector::round_robin, 3)).chosen_of(4) == Sequence{0, 0, 0, 0});
    Host thousand(2, selecting(PathSelector::round_robin, 1000));
    CHECK(thousand.chosen_of(1000) == Sequence(1000, 0));
    CHECK(thousand.chosen_of(1000) == Sequence(1000, 1));
    CHECK(thousand.chosen() == 0);
}

TEST_CASE("round robin goes on past a path that is lost, and takes it up when it is back") {
    Host h(4, selecting(PathSelector::round_robin, 2));
    CHECK(h.chosen_of(3) == Sequence{0, 0, 1});
    h.down(1); // within its turn
    CHECK(h.chosen_of(6) == Sequence{2, 2, 3, 3, 0, 0});
    h.up(1);
    CHECK(h.chosen_of(4) == Sequence{1, 1, 2, 2});
}

TEST_CASE("64 paths are taken in turn") {
    Host h(64, selecting(PathSelector::round_robin));
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 64; i++) REQUIRE(h.chosen() == i);
}

TEST_CASE("queue length takes the path with fewest commands, the longest unused of equals") {
    Host h(3, selecting(PathSelector::queue_length));
    CHECK(h.chosen_of(4) == Sequence{0, 1, 2, 0}); // 2 1 1
    h.paths[2]->answer(0, IoStatus::ok);           // 2 1 0
    CHECK(h.chosen_of(3) == Sequence{2, 1, 2});    // 2 2 2
    // At equal depth 1 was chosen before 2, but 0 before both.
    CHECK(h.chosen_of(3) == Sequence{0, 1, 2});
}

TEST_CASE("queue depth as NVMe has it gives equals to the first path") {
    Host h(3, selecting(PathSelector::queue_depth));
    CHECK(h.chosen_of(4) == Sequence{0, 1, 2, 0});
    h.paths[0]->answer(0, IoStatus::ok);
    h.paths[0]->answer(0, IoStatus::ok); // 0 1 1
    CHECK(h.chosen() == 0);
    for (auto& p : h.paths) p->answer_all(IoStatus::ok);
    for (int i = 0; i < 5; i++) { // one at a time: all on the first
        CHECK(h.chosen() == 0);
        h.paths[0]->answer_all(IoStatus::ok);
    }
}

TEST_CASE("queue length spreads commands that come one at a time, queue depth does not") {
    Host h(3, selecting(PathSelector::queue_length));
    Sequence taken;
    for (int i = 0; i < 6; i++) {
        taken.push_back(h.chosen());
        for (auto& p : h.paths) p->answer_all(IoStatus::ok);
    }
    CHECK(taken == Sequence{0, 1, 2, 0, 1, 2});
}

TEST_CASE("service time weighs bytes under way against the throughput of the path") {
    // Path 0 twice as fast. After each command: blocks under way, (blocks + 1) / throughput.
    Host h(2, selecting(PathSelector::service_time),
           {{.device = nullptr, .throughput = 2}, {.device = nullptr}});
    CHECK(h.chosen() == 0); // 1/2 against 1
    CHECK(h.chosen() == 0); // 2/2 against 1: as long, the faster one
    CHECK(h.chosen() == 1); // 3/2 against 1
    CHECK(h.chosen() == 0); // 3/2 against 2
    CHECK(h.chosen() == 0); // 4/2 against 2
    CHECK(h.chosen() == 1);
    CHECK(h.chosen(16) == 0);           // (4 + 16) / 2 against 2 + 16
    CHECK(h.chosen() == 1);             // 21/2 against 3
    CHECK(h.chosen(1, Op::flush) == 1); // no bytes: 20/2 against 3
}

TEST_CASE("service time in a long random run is what a division says") {
    const std::vector<uint32_t> throughput = {1, 3, 2, 100};
    std::vector<PathOptions> each;
    for (const uint32_t t : throughput) each.push_back({.device = nullptr, .throughput = t});
    Host h(4, selecting(PathSelector::service_time), each);
    Random random(7, "service time");
    std::vector<std::vector<uint32_t>> under_way(4); // blocks of each command, by path
    std::vector<uint64_t> used(4, 0);
    for (uint64_t n = 1; n <= 4000; n++) {
        const auto blocks = 1 + static_cast<uint32_t>(random.below(64));
        size_t best = 0;
        double least = std::numeric_limits<double>::max();
        for (size_t i = 0; i < 4; i++) {
            double sum = blocks;
            for (const uint32_t b : under_way[i]) sum += b;
            const double time = sum / throughput[i];
            const bool ties = std::abs(time - least) < 1e-9 * time;
            const bool wins = ties ? throughput[i] > throughput[best] ||
                                         (throughput[i] == throughput[best] && used[i] < used[best])
                                   : time < least;
            if (wins) best = i, least = time;
        }
        REQUIRE(h.chosen(blocks) == static_cast<int>(best));
        used[best] = n;
        under_way[best].push_back(blocks);
        const auto from = static_cast<size_t>(random.below(4));
        if (under_way[from].empty()) continue;
        const auto which = static_cast<size_t>(random.below(under_way[from].size()));
        under_way[from].erase(under_way[from].begin() + static_cast<ptrdiff_t>(which));
        h.paths[from]->answer(which, IoStatus::ok);
    }
}

TEST_CASE("the nearest path is taken, the most recent one kept") {
    Host near(3, selecting(PathSelector::nearest),
              {{.device = nullptr, .distance = 20},
               {.device = nullptr, .distance = 10},
               {.device = nullptr, .distance = 10}});
    CHECK(near.chosen_of(3) == Sequence{1, 1, 1});
    near.down(1);
    CHECK(near.chosen_of(2) == Sequence{2, 2});
    near.up(1);
    CHECK(near.chosen() == 1);

    Host recent(3, selecting(PathSelector::most_recent));
    CHECK(recent.chosen_of(2) == Sequence{0, 0});
    recent.down(0);
    CHECK(recent.chosen() == 1);
    recent.up(0);
    CHECK(recent.chosen() == 1);
}

TEST_CASE("optimized paths before others, inaccessible ones never") {
    for (const PathSelector s : {PathSelector::round_robin, PathSelector::queue_length,
                                 PathSelector::queue_depth, PathSelector::service_time}) {
        CAPTURE(static_cast<int>(s));
        Host h(4, selecting(s),
               {non_optimized, {.device = nullptr}, non_optimized, {.device = nullptr}});
        CHECK(h.chosen_of(4) == Sequence{1, 3, 1, 3});
        h.down(1);
        CHECK(h.chosen_of(3) == Sequence{3, 3, 3});
        h.up(3, PathAccess::inaccessible);
        CHECK(h.chosen_of(4) == Sequence{0, 2, 0, 2});
        h.up(0, PathAccess::inaccessible);
        CHECK(h.chosen_of(2) == Sequence{2, 2});
        h.up(2, PathAccess::inaccessible);
        CHECK(h.chosen() == -1);
    }
}

TEST_CASE("groups of controllers, single paths and all paths together") {
    const auto in = [](uint32_t group, PathAccess a) {
        return PathOptions{.device = nullptr, .group = group, .access = a};
    };
    const std::vector<PathOptions> each = {
        in(1, PathAccess::optimized), in(0, PathAccess::optimized), in(1, PathAccess::optimized),
        in(0, PathAccess::non_optimized)};
    MultipathOptions o = selecting(PathSelector::round_robin);
    CHECK(Host(4, o, each).chosen_of(4) == Sequence{0, 1, 2, 0});
    o.grouping = PathGrouping::by_group;
    {
        Host h(4, o, each);
        CHECK(h.chosen_of(3) == Sequence{1, 1, 1}); // group 0, of which path 3 is worse
        h.down(1);
        CHECK(h.chosen_of(3) == Sequence{2, 0, 2}); // group 1 is optimized
        h.down(0);
        h.down(2);
        CHECK(h.chosen() == 3);
    }
    o.grouping = PathGrouping::single_paths;
    CHECK(Host(4, o, each).chosen_of(2) == Sequence{0, 0});
    o.grouping = PathGrouping::one_group;
    CHECK(Host(4, o, each).chosen_of(5) == Sequence{0, 1, 2, 3, 0});
}

TEST_CASE("a command costs its submitter one choice, and one more each time it is sent again") {
    Host h(2, selecting(PathSelector::round_robin));
    SelectCore core;
    Host::Command& c = h.send(1, Op::read, &core);
    CHECK(core.spent() == SelectCore::price);
    CHECK(c.work.busy == SelectCore::price); // paid at the doorbell, with the rest
    h.paths[0]->answer(0, IoStatus::no_path);
    CHECK(core.spent() == SelectCore::price * 2);
    h.paths[1]->answer(0, IoStatus::ok);
    CHECK(c.ends == 1);
    h.send(); // paid for already
    CHECK(core.spent() == SelectCore::price * 2);
}

TEST_CASE("a request comes back as it was given, whatever the layers below did to it") {
    Host h(2, selecting(PathSelector::round_robin));
    SelectCore core;
    Host::Command& c = h.send(3, Op::write, &core);
    BlockDevice* const device = h.multipath.get();
    const auto done = [](Request&) { return nothing(); };
    Request& below = *h.paths[0]->pending.at(0);
    CHECK(&below == static_cast<Request*>(&c)); // the same: nothing was copied
    below.saved = {done, device, {5}};          // another layer's, above or below
    below.lba = {99};
    below.device = h.paths[0].get();
    below.cpu = nullptr;
    h.paths[0]->answer(0, IoStatus::no_path);
    CHECK(c.lba == Lba{0}); // for the other path, too
    CHECK(c.cpu == &core);
    c.lba = {77};
    h.paths[1]->answer(0, IoStatus::failed);
    CHECK(c.ends == 1);
    CHECK(c.status == IoStatus::failed); // the device's own answer is final
    CHECK(c.lba == Lba{0});
    CHECK(c.device == device);
    CHECK(c.cpu == &core);
    CHECK(c.owner == nullptr);
    CHECK(c.saved.device == device);
    CHECK(c.saved.lba == Lba{5});
}

TEST_CASE("a path over paths: every layer finds its own") {
    Calendar calendar;
    PathDevice a(calendar), b(calendar);
    Multipath inner(calendar, {{.device = &a}, {.device = &b}}, {});
    Multipath outer(calendar, {{.device = &inner}}, {.no_path = NoPath::queue});
    bool ended = false;
    Io io = outer.read({4}, 1, nullptr);
    io.owner = &ended;
    io.done = [](Request& r) {
        *static_cast<bool*>(r.owner) = true;
        return nothing();
    };
    outer.submit(io).resume();
    a.answer(0, IoStatus::no_path);
    CHECK_FALSE(ended);
    b.answer(0, IoStatus::ok);
    CHECK(ended);
    CHECK(outer.counters().requeued == 0);
    CHECK(inner.counters().requeued == 1);
}

} // namespace storlab::test
