// Many seeds of everything at once: slow and stuck disks, sessions cut in three ways, targets that
// drop them, changing access states, timers short enough to matter. Every command ends exactly
// once, every read returns what it may return, and nothing is left over.
#include "models/nvme/profiles.hpp"
#include "models/scsi/profiles.hpp"
#include "tests/protocol/rig.hpp"
#include <cstdlib>

using namespace storlab;

namespace {
constexpr uint64_t blocks = 48; // few, so that commands meet

Profile storm_profile(Random& random) {
    const Profile all[] = {nvme_tcp(),
                           nvme_tcp({Bytes::kib(8), Bytes::kib(8), false}),
                           nvme_rdma(),
                           fc_nvme(),
                           fcp(),
                           iscsi(),
                           iscsi(open_iscsi()),
                           iser()};
    Profile p = all[random.below(std::size(all))];
    // Small limits, so that every way of the data is taken by small commands.
    if (random.below(2)) p.burst = 4096 * static_cast<uint32_t>(1 + random.below(4));
    if (random.below(2)) p.data_out_unit = 4096 * static_cast<uint32_t>(1 + random.below(3));
    if (random.below(2)) p.data_in_unit = 4096 * static_cast<uint32_t>(1 + random.below(3));
    if (random.below(4) == 0) p.ready_limit = 3;
    SessionTimers& t = p.timers;
    t.command = Duration::ms(5);
    t.abort = Duration::ms(3);
    t.connect = Duration::ms(20);
    t.reconnect = Duration::ms(2);
    t.hold = random.below(2) ? Duration::ms(6) : Duration();
    t.removal = {};
    t.keep_alive = t.keep_alive_answer = random.below(2) ? Duration::ms(4) : Duration();
    t.silence = t.keep_alive > Duration() && random.below(2) ? Duration::ms(15) : Duration();
    return p;
}
PriceList storm_prices(Random& random) {
    PriceList p{};
    for (Price& each : p)
        if (random.below(2)) each = {Duration::ns(static_cast<int64_t>(random.below(3000))), 0.5};
    return p;
}

// Commands one after another, each checked against what the disk may hold.
struct Worker : Event {
    Rig& rig;
    ModelDisk& model;
    Random random;
    bool charges;
    int left, under_way = 0;
    uint64_t ended = 0, good = 0;
    Op op = Op::read;
    uint64_t lba = 0;
    uint32_t count = 0;
    std::vector<std::byte> data, written;
    ModelDisk::ReadMark mark;
    Request request{nullptr, Op::read, {}, 0, nullptr};

    Worker(Rig& r, ModelDisk& m, uint64_t seed, int commands, bool pays)
        : rig(r), model(m), random(seed, "worker"), charges(pays), left(commands) {
        fire = [](Event& e) { static_cast<Worker&>(e).begin(); };
        rig.calendar.schedule(*this, rig.calendar.now() + pause());
    }
    Duration pause() { return Duration::ns(static_cast<int64_t>(random.below(200'000))); }

    void begin() {
        if (left-- == 0) return;
        count = static_cast<uint32_t>(1 + random.below(random.below(3) ? 4 : 24));
        lba = random.below(blocks - count + 1);
        op = random.below(10) == 0 ? Op::flush : random.below(2) ? Op::read : Op::write;
        data.assign(size_t{count} * rig.o.disk.payload, std::byte{0x55});
        if (op == Op::write) model.begin_write(lba, count, data.data());
        if (op == Op::read) model.begin_read(lba, count, mark);
        written = data;
        request = Request(rig.unit.get(), op, Lba{lba}, op == Op::flush ? 0 : count, data.data());
        request.cpu = charges ? &rig.host : nullptr;
        request.owner = this;
        request.done = [](Request& r) {
            static_cast<Worker*>(r.owner)->end();
            return nothing();
        };
        REQUIRE(++under_way == 1);
        rig.unit->submit(request).resume();
    }
    void end() {
        REQUIRE(--under_way == 0); // a second time it would be below
        ended++;
        const bool ok = request.status == IoStatus::ok;
        REQUIRE((ok || request.status == IoStatus::no_path));
        good += ok;
        if (op == Op::write) model.end_write(lba, count, written.data(), ok);
        if (op == Op::read && ok) model.end_read(lba, count, data.data(), mark);
        Duration wait = pause() + Duration::ns(1);
        if (!ok) wait += Duration::us(static_cast<int64_t>(random.below(3000)));
        rig.calendar.schedule(*this, rig.calendar.now() + wait);
    }
};

struct Storm : Event { // what goes wrong
    Rig& rig;
    Random random;
    bool over = false;
    Storm(Rig& r, uint64_t seed) : rig(r), random(seed, "storm") {
        fire = [](Event& e) { static_cast<Storm&>(e).strike(); };
        rig.calendar.schedule(*this, rig.calendar.now() + Duration::ms(1));
        rig.disk.delay_of = [this] {
            const uint64_t kind = random.below(100);
            const auto us = static_cast<int64_t>(kind < 90   ? 20 + random.below(200)
                                                 : kind < 96 ? 4000 + random.below(3000)
                                                             : 7000 + random.below(9000));
            return Duration::us(us);
        };
    }
    void strike() {
        if (over) return;
        switch (random.below(12)) {
        case 0: rig.wire.cut(Cut::told); break;
        case 1: rig.wire.cut(Cut::late); break;
        case 2: rig.wire.cut(Cut::silent); break;
        case 3: rig.target->drop_sessions(); break;
        case 4: rig.wire.unreachable = !rig.wire.unreachable; break;
        case 5:
        case 6: rig.target->set_access(3, static_cast<Access>(random.below(5))); break;
        case 7: rig.initiator->reconnect_now(); break;
        default: rig.target->set_access(3, Access::optimized); break;
        }
        rig.calendar.schedule(*this, rig.calendar.now() +
                                         Duration::us(static_cast<int64_t>(random.below(12'000))));
    }
};

struct Totals {
    uint64_t good = 0, bad = 0, aborted = 0, resets = 0, losses = 0, attentions = 0, late = 0,
             dropped = 0;
};

void one_storm(uint64_t seed, Totals& totals) {
    CAPTURE(seed);
    Random random(seed, "world");
    RigOptions o;
    o.profile = storm_profile(random);
    o.depth = static_cast<uint32_t>(1 + random.below(8));
    o.seed = seed;
    o.identity = 1;
    o.abort_first = random.below(4) > 0;
    o.adapter = random.below(2);
    o.interrupt = random.below(2);
    o.offloaded_target = random.below(2);
    o.disk = {blocks, Bytes(4096), 16};
    o.host_prices = storm_prices(random);
    o.target_prices = storm_prices(random);
    // Workers that overtake each other would break a burst's order, which one thread keeps.
    o.host_servers = o.profile.ready_limit == 1 ? static_cast<uint32_t>(1 + random.below(2)) : 1;
    o.host_spread = Duration::us(static_cast<int64_t>(random.below(2) * 20));
    Rig rig(o);
    rig.wire.jitter = Duration::us(static_cast<int64_t>(random.below(50)));
    ModelDisk model(blocks, 16, ModelDisk::Start::filled);
    rig.initiator->start();
    Storm storm(rig, seed);
    std::deque<Worker> workers;
    const int commands = 40;
    for (uint64_t w = 0; w < 6; w++)
        workers.emplace_back(rig, model, seed * 100 + w, commands, random.below(2));
    rig.run(Duration::ms(80));
    storm.over = true;
    rig.wire.unreachable = false;
    rig.target->set_access(3, Access::optimized);
    rig.run(Duration::ms(300));
    for (const Worker& w : workers) {
        REQUIRE(w.ended == static_cast<uint64_t>(commands));
        totals.good += w.good;
        totals.bad += w.ended - w.good;
    }
    for (const std::string& m : model.first_mismatches()) UNSCOPED_INFO(m);
    REQUIRE(model.mismatches() == 0);
    const InitiatorCounters& i = rig.initiator->counters();
    const TargetCounters& t = rig.target->counters();
    REQUIRE(i.commands == i.completed);
    REQUIRE(i.violations + t.violations == 0);
    REQUIRE(t.to_device == t.done);
    REQUIRE(t.commands == t.answered + t.aborted + t.dropped);
    REQUIRE(rig.initiator->outstanding() == 0);
    REQUIRE(rig.initiator->state() == SessionState::live);
    if (rig.wire.connected()) REQUIRE(rig.target->sessions() >= 1);
    REQUIRE(rig.disk.at_work == 0);
    REQUIRE(rig.wire.out() <= 1); // a keep-alive or its answer may be under way
    totals.aborted += i.aborted;
    totals.resets += i.resets;
    totals.losses += i.losses;
    totals.attentions += i.attentions;
    totals.late += i.late;
    totals.dropped += t.dropped;
}
} // namespace

TEST_CASE("a storm of losses, timeouts, aborts and state changes: each command ends exactly once") {
    const char* const more = std::getenv("STORLAB_STORM_SEEDS");
    const uint64_t seeds = more ? std::strtoull(more, nullptr, 10) : 5000;
    Totals totals;
    for (uint64_t seed = 1; seed <= seeds; seed++) one_storm(seed, totals);
    // It was a storm: everything that can happen did.
    INFO("good " << totals.good << ", no path " << totals.bad << ", aborted " << totals.aborted
                 << ", resets " << totals.resets << ", losses " << totals.losses << ", attentions "
                 << totals.attentions << ", late " << totals.late << ", dropped "
                 << totals.dropped);
    CHECK(totals.good > seeds * 100);
    CHECK(totals.bad > seeds * 5);
    CHECK(totals.aborted > seeds / 10);
    CHECK(totals.resets > seeds / 10);
    CHECK(totals.losses > seeds);
    CHECK(totals.attentions > seeds / 100);
    CHECK(totals.late > seeds / 50);
    CHECK(totals.dropped > seeds / 10);
    if (std::getenv("STORLAB_STORM_PRINT")) FAIL_CHECK("totals");
}
