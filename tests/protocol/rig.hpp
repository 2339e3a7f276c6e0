// A host, a wire and a target with one disk, for tests of the exchange engine.
#pragma once
#include "models/exchange/remote_unit.hpp"
#include "models/exchange/target.hpp"
#include "models/exchange/transfer.hpp"
#include "models/workload/model_disk.hpp"
#include "tests/protocol/wire.hpp"
#include <memory>

namespace storlab {

// One or more servers; a job goes to the one that is free first, after a random extra time.
class TestCpu final : public Cpu {
public:
    TestCpu(Calendar& c, const PriceList& prices, uint32_t servers = 1, Duration spread = {})
        : Cpu(prices, ledger), calendar_(c), random_(servers, "cpu"), free_(servers),
          spread_(spread) {}
    void run(Job& job) override {
        visits++;
        Instant* best = &free_[0];
        for (Instant& f : free_)
            if (f < *best) best = &f;
        Duration busy = job.work.busy;
        if (spread_ > Duration())
            busy += Duration::ps(
                static_cast<int64_t>(random_.below(static_cast<uint64_t>(spread_.count_ps()))));
        *best = later(*best, calendar_.now()) + busy;
        job.work = {};
        calendar_.schedule(job, *best);
    }
    Duration owed(Operation op) const { return ledger[static_cast<size_t>(op)]; }
    Ledger ledger{};
    uint64_t visits = 0;

private:
    Calendar& calendar_;
    Random random_;
    std::vector<Instant> free_;
    Duration spread_;
};

// A disk that takes its time; contents change when a command ends.
class TestDisk final : public BlockDevice {
public:
    TestDisk(Calendar& c, Geometry g) : calendar_(c), g_(g), data_(g.blocks * g.payload) {
        for (uint64_t b = 0; b < g.blocks; b++)
            fill_sector(data_.data() + b * g.payload, g.payload, b, 0);
    }
    Geometry geometry() const override { return g_; }
    Handle submit(Request& r) override {
        at_work++;
        commands++;
        r.device = this;
        r.fire = [](Event& e) {
            auto& q = static_cast<Request&>(e);
            static_cast<TestDisk&>(*q.device).begin(q);
        };
        if (r.cpu && r.work.owed()) r.cpu->run(r);
        else begin(r);
        return nothing();
    }
    void release() {
        hung = false;
        for (Request* r : std::exchange(stuck_, {})) calendar_.schedule(*r, calendar_.now());
    }
    const std::byte* at(uint64_t block) const { return data_.data() + block * g_.payload; }

    Duration delay = Duration::us(50);
    std::function<Duration()> delay_of;
    bool hung = false;
    IoStatus answer = IoStatus::ok;
    uint64_t at_work = 0, commands = 0;

private:
    Calendar& calendar_;
    Geometry g_;
    std::vector<std::byte> data_;
    std::vector<Request*> stuck_;

    void begin(Request& r) {
        r.enter(Layer::flash, calendar_.now());
        r.fire = [](Event& e) {
            auto& q = static_cast<Request&>(e);
            static_cast<TestDisk&>(*q.device).end(q);
        };
        if (hung) stuck_.push_back(&r);
        else calendar_.schedule(r, calendar_.now() + (delay_of ? delay_of() : delay));
    }
    void end(Request& r) {
        REQUIRE(at_work > 0);
        at_work--;
        if (answer == IoStatus::ok && r.op != Op::flush)
            for_each_segment(r, [&](uint32_t offset, std::byte* bytes, uint32_t n) {
                std::byte* const here = data_.data() + (r.lba.block + offset) * g_.payload;
                if (r.op == Op::write) std::memcpy(here, bytes, size_t{n} * g_.payload);
                else std::memcpy(bytes, here, size_t{n} * g_.payload);
            });
        r.finish(answer).resume();
    }
};

struct RigOptions {
    Profile profile = {};
    uint32_t depth = 8;
    uint64_t seed = 1, identity = 7;
    bool abort_first = true, offloaded_target = false;
    bool adapter = false, interrupt = false;
    Geometry disk{2048, Bytes(4096), 16};
    PriceList host_prices{}, target_prices{};
    uint32_t host_servers = 1;
    Duration host_spread = {};
};

struct Rig {
    RigOptions o;
    Calendar calendar;
    Wire wire;
    TestDisk disk;
    TestCpu host, adapter, interrupt, controller;
    std::unique_ptr<Target> target;
    std::unique_ptr<Initiator> initiator;
    std::unique_ptr<RemoteUnit> unit;
    std::vector<SessionState> states;
    std::vector<std::pair<uint16_t, Access>> accesses;

    explicit Rig(RigOptions options)
        : o(std::move(options)), wire(calendar, o.seed), disk(calendar, o.disk),
          host(calendar, o.host_prices, o.host_servers, o.host_spread),
          adapter(calendar, o.host_prices), interrupt(calendar, o.host_prices),
          controller(calendar, o.target_prices) {
        calendar.advance_to(Instant::at(Duration::us(1)));
        target = std::make_unique<Target>(calendar, o.profile,
                                          TargetOptions{.offloaded = o.offloaded_target});
        target->add_unit(3, disk, controller);
        InitiatorOptions i;
        i.depth = o.depth;
        i.identity = o.identity;
        i.abort_first = o.abort_first;
        if (o.adapter) i.adapter = &adapter;
        if (o.interrupt) i.interrupt = &interrupt;
        i.connect = [this] { return wire.connect([this](Connection& c) { target->accept(c); }); };
        initiator = std::make_unique<Initiator>(calendar, o.profile, i);
        unit = std::make_unique<RemoteUnit>(*initiator, 3, disk.geometry());
        initiator->on_state([this](SessionState s) { states.push_back(s); });
        initiator->on_access([this](uint16_t u, Access a) { accesses.emplace_back(u, a); });
    }
    void run(Duration d) { run_to(calendar.now() + d); }
    void run_to(Instant t) {
        calendar.run_until(t);
        calendar.advance_to(t);
    }
    // Logged in, and nothing noted yet.
    void go_live() {
        initiator->start();
        run(Duration::ms(1));
        REQUIRE(initiator->state() == SessionState::live);
        wire.log.clear();
    }
};

// A command and how often it ended.
struct Command {
    std::vector<std::byte> data;
    Request request;
    Instant ended;
    int times = 0;
    Rig& rig;

    Command(Rig& r, Op op, uint64_t lba, uint32_t blocks, Cpu* cpu = nullptr)
        : data(size_t{blocks} * r.o.disk.payload),
          request(r.unit.get(), op, Lba{lba}, blocks, data.data()), rig(r) {
        request.owner = this;
        request.cpu = cpu;
        request.done = [](Request& q) {
            auto& c = *static_cast<Command*>(q.owner);
            c.times++;
            c.ended = c.rig.calendar.now();
            return nothing();
        };
    }
    Command(const Command&) = delete;
    Command& fill(uint32_t version) {
        const uint32_t payload = rig.o.disk.payload;
        for (uint32_t b = 0; b < request.blocks; b++)
            fill_sector(data.data() + size_t{b} * payload, payload, request.lba.block + b, version);
        return *this;
    }
    Command& submit() {
        rig.unit->submit(request).resume();
        return *this;
    }
    // Contents of what was read, or of what the disk has.
    bool holds(const std::byte* bytes, uint32_t version) const {
        const uint32_t payload = rig.o.disk.payload;
        std::vector<std::byte> right(payload);
        for (uint32_t b = 0; b < request.blocks; b++) {
            fill_sector(right.data(), payload, request.lba.block + b, version);
            if (std::memcmp(right.data(), bytes + size_t{b} * payload, payload) != 0) return false;
        }
        return true;
    }
    bool read(uint32_t version) const { return holds(data.data(), version); }
    bool on_disk(uint32_t version) const { return holds(rig.disk.at(request.lba.block), version); }
};

} // namespace storlab
