// Thousands of seeds of paths that break, lose answers, flap and change access under load, with
// settings drawn anew for each: every command ends exactly once, and contents are right.
#include "models/multipath/multipath.hpp"
#include "sim/faults/faulty_device.hpp"
#include "tests/support/block_load.hpp"
#include "tests/support/worlds.hpp"
#include <catch2/catch.hpp>

namespace storlab::test {
namespace {

constexpr uint64_t disk_blocks = 64;
Duration up_to_us(Random& random, uint64_t us) {
    return Duration::ns(static_cast<int64_t>(random.below(us * 1000)));
}

constexpr Duration slowest = Duration::us(200); // a command over a path that works

// A path to the disk. Broken, it loses commands before they arrive and answers on their way back;
// what has ended with no_path is never carried out later.
class StormPath final : public DeviceFilter {
public:
    bool broken = false;
    StormPath(BlockDevice& disk, Clock& clock, uint64_t seed, const std::string& name)
        : DeviceFilter(disk), clock_(clock), random_(seed, name) {}
    Handle submit(Request& r) override {
        if (broken && random_.below(2)) return r.finish(IoStatus::no_path);
        return run(r, carry(r));
    }
    void break_down() { broken = true, breaks_++; }

private:
    Clock& clock_;
    Random random_;
    uint64_t breaks_ = 0;

    Task<IoStatus> carry(Request& r) {
        const uint64_t breaks = breaks_;
        const bool was_broken = broken;
        if (random_.below(3)) co_await sleep_for(clock_, up_to_us(random_, 30));
        if (was_broken || breaks != breaks_) co_return IoStatus::no_path;
        const IoStatus status = co_await copy_of(r);
        if (random_.below(3)) co_await sleep_for(clock_, up_to_us(random_, 60));
        co_return breaks != breaks_ ? IoStatus::no_path : status;
    }
};

template <class T> T any_of(Random& random, std::initializer_list<T> all) {
    return *(all.begin() + random.below(all.size()));
}
MultipathOptions some_options(Random& random) {
    const auto sometimes = [&](uint64_t us) {
        return random.below(2) ? Duration() : Duration::us(1) + up_to_us(random, us);
    };
    MultipathOptions o;
    o.selector = static_cast<PathSelector>(random.below(6));
    o.round_robin_ios = 1 + static_cast<uint32_t>(random.below(3));
    o.grouping = static_cast<PathGrouping>(random.below(4));
    o.failback = static_cast<Failback>(random.below(4));
    o.failback_delay = up_to_us(random, 300);
    o.no_path = any_of(random, {NoPath::queue, NoPath::queue, NoPath::queue, NoPath::wait,
                                NoPath::fail, NoPath::remove});
    o.no_path_wait = Duration::us(300) + up_to_us(random, 1000);
    if (random.below(4) == 0) o.retries = 1 + static_cast<uint32_t>(random.below(5));
    o.retry_interval = sometimes(50);
    o.timers.hold = sometimes(300);
    o.timers.hold_after_timeout = random.below(2);
    if (random.below(4) == 0) o.timers.give_up = Duration::us(1) + up_to_us(random, 500);
    o.timers.reconnect = sometimes(200);
    o.timers.loss = sometimes(2000);
    o.timers.loss_is_final = random.below(4) == 0;
    o.checker.believes_checks_only = random.below(2);
    o.checker.failed = Duration::us(20) + up_to_us(random, 100);
    if (random.below(2)) o.checker.interval = Duration::us(50) + up_to_us(random, 100);
    o.checker.longest = o.checker.interval * 4;
    o.checker.timeout = random.below(2) ? slowest : Duration::us(40) + up_to_us(random, 100);
    return o;
}
bool never_fails(const MultipathOptions& o) {
    return o.no_path == NoPath::queue && o.retries == 0 && o.timers.give_up == Duration() &&
           !(o.timers.loss_is_final && o.timers.loss > Duration());
}

class Storm {
public:
    MultipathOptions options;
    uint64_t removals = 0, checked = 0;
    std::unique_ptr<Multipath> multipath;

    explicit Storm(uint64_t seed)
        : random_(seed, "storm"), world_(seed), disk_(world_.add_device(disk_blocks)),
          model_(disk_blocks, 16) {
        options = some_options(random_);
        std::vector<PathOptions> each;
        const uint64_t n = 1 + random_.below(5);
        for (uint64_t i = 0; i < n; i++) {
            const std::string name = "path/" + std::to_string(i);
            paths_.push_back(std::make_unique<StormPath>(disk_, world_.clock(), seed, name));
            each.push_back({paths_.back().get(), static_cast<uint32_t>(i / 2),
                            1 + static_cast<uint32_t>(random_.below(3)),
                            static_cast<uint32_t>(random_.below(3)), some_access()});
        }
        multipath = std::make_unique<Multipath>(world_.clock(), each, options);
        multipath->on_removed([this] { removals++; });
        if (random_.below(2)) multipath->on_attempt([this](size_t path) { return attempt(path); });
        if (random_.below(2)) multipath->start_checks();
        tick_.storm = this;
        tick_.fire = [](Event& e) { static_cast<Tick&>(e).storm->step(); };
    }
    void run() {
        world_.clock().wake(tick_, world_.clock().now());
        world_.run();
        for (const auto& c : commands_) REQUIRE(c->ends == 1);
        const MultipathCounters& n = multipath->counters();
        REQUIRE(n.commands == commands_.size());
        REQUIRE(n.completed == n.commands);
        for (size_t p = 0; p < paths_.size(); p++) REQUIRE(multipath->outstanding(p) == 0);
        REQUIRE(removals == (multipath->removed() ? 1 : 0));
        if (never_fails(options)) REQUIRE(model_.failed_reads + model_.failed_writes == 0);
        // Where checks may come too late there may be no path at the end.
        if (!multipath->removed() && options.checker.timeout == slowest) {
            const auto status = finish(world_, read_back(*multipath, model_, 7));
            REQUIRE(status);
            if (never_fails(options)) REQUIRE(*status == IoStatus::ok);
        }
        checked = model_.checked;
        REQUIRE(model_.mismatches == 0);
    }

private:
    struct Tick : Event {
        Storm* storm;
    } tick_;
    struct Command : Request {
        using Request::Request;
        Storm* storm = nullptr;
        uint32_t ends = 0;
        ModelDisk::Ticket ticket;
        std::vector<std::byte> data;
    };
    Random random_;
    SimWorld world_;
    BlockDevice& disk_;
    ModelDisk model_;
    std::vector<std::unique_ptr<StormPath>> paths_;
    std::vector<std::unique_ptr<Command>> commands_;
    uint32_t steps_ = 150;

    PathAccess some_access() {
        return any_of(random_, {PathAccess::optimized, PathAccess::optimized,
                                PathAccess::non_optimized, PathAccess::inaccessible});
    }
    void step() {
        if (steps_ == 0) { // all checks are over
            multipath->stop_checks();
            return;
        }
        if (random_.below(2)) send();
        else disturb(random_.below(paths_.size()));
        Duration next = up_to_us(random_, random_.below(5) ? 20 : 200);
        if (--steps_ == 0) {
            heal();
            next = Duration::ms(10);
        }
        world_.clock().wake(tick_, world_.clock().now() + next);
    }
    void send() {
        const auto blocks = 1 + static_cast<uint32_t>(random_.below(8));
        const Lba at{random_.below(disk_blocks - blocks + 1)};
        const bool writing = random_.below(2);
        std::vector<std::byte> data(size_t{blocks} * 16);
        const ModelDisk::Ticket ticket =
            writing ? model_.begin_write(at, blocks, data.data()) : model_.begin_read(at, blocks);
        Command& c = *commands_.emplace_back(std::make_unique<Command>(
            multipath.get(), writing ? Op::write : Op::read, at, blocks, nullptr));
        c.data = std::move(data);
        c.whole.at = c.data.data();
        c.ticket = ticket;
        c.storm = this;
        c.cpu = random_.below(2) ? &world_.cpu() : nullptr;
        c.done = ended;
        multipath->submit(c).resume();
    }
    static Handle ended(Request& r) {
        auto& c = static_cast<Command&>(r);
        REQUIRE(++c.ends == 1);
        REQUIRE(c.lba == c.ticket.first);
        ModelDisk& model = c.storm->model_;
        if (c.op == Op::write) model.end_write(c.ticket, c.status);
        else model.end_read(c.ticket, c.data.data(), c.status);
        return nothing();
    }
    void tell(size_t path, bool up) {
        const Loss why = any_of(random_, {Loss::link_down, Loss::peer_gone, Loss::timed_out});
        PathState s = up ? PathState::is_up(some_access()) : PathState::is_down(why, some_access());
        multipath->path_state(path, s);
    }
    void disturb(size_t path) {
        StormPath& p = *paths_[path];
        switch (random_.below(6)) {
        case 0: p.break_down(); break; // and nobody says so
        case 1:
            p.break_down();
            tell(path, false);
            break;
        case 2:
            tell(path, false); // what is under way may still be answered
            break;
        case 3:
            p.broken = false;
            tell(path, true);
            break;
        case 4: tell(path, !p.broken); break;
        default: // away and back
            p.break_down();
            tell(path, false);
            p.broken = false;
            tell(path, true);
        }
    }
    bool attempt(size_t path) {
        switch (random_.below(3)) {
        case 0: return false;
        case 1: // at once
            multipath->path_state(path, paths_[path]->broken
                                            ? PathState::is_down(Loss::timed_out)
                                            : PathState::is_up(PathAccess::optimized));
            return true;
        default: return true; // answered by whatever is told next, in the end by heal()
        }
    }
    void heal() {
        for (size_t p = 0; p < paths_.size(); p++) {
            paths_[p]->broken = false;
            multipath->path_state(p, PathState::is_up(PathAccess::optimized));
        }
    }
};

} // namespace

TEST_CASE("in a storm of path failures every command ends once and no contents are wrong") {
    MultipathCounters sum;
    uint64_t removals = 0, steady = 0, checked = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        CAPTURE(seed);
        Storm storm(seed);
        storm.run();
        const MultipathCounters& n = storm.multipath->counters();
        sum.commands += n.commands;
        sum.requeued += n.requeued;
        sum.held += n.held;
        sum.waited += n.waited;
        sum.failed += n.failed;
        sum.path_failures += n.path_failures;
        sum.failbacks += n.failbacks;
        sum.checks += n.checks;
        sum.attempts += n.attempts;
        removals += storm.removals;
        checked += storm.checked;
        steady += never_fails(storm.options);
    }
    // It was a storm: each of these happened often.
    CHECK(checked > 200'000); // blocks
    CHECK(sum.commands > 200'000);
    CHECK(sum.requeued > 40'000);
    CHECK(sum.held > 10'000);
    CHECK(sum.waited > 10'000);
    CHECK(sum.failed > 10'000);
    CHECK(sum.path_failures > 40'000);
    CHECK(sum.failbacks > 1000);
    CHECK(sum.checks > 20'000);
    CHECK(sum.attempts > 1000);
    CHECK(removals > 200);
    CHECK(steady > 800);
}

TEST_CASE("the same seed gives the same storm") {
    const auto figures = [](uint64_t seed) {
        Storm s(seed);
        s.run();
        const MultipathCounters& n = s.multipath->counters();
        return std::vector<uint64_t>{n.requeued, n.held,      n.waited,  n.failed,
                                     n.checks,   n.failbacks, n.attempts};
    };
    for (uint64_t seed = 1; seed <= 20; seed++) CHECK(figures(seed) == figures(seed));
    CHECK(figures(1) != figures(2));
}

} // namespace storlab::test
