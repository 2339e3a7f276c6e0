#include "sim/cluster/incarnation.hpp"
#include "sim/base/error.hpp"
#include <algorithm>
#include <cstring>

namespace storlab {

namespace {

// Whoever unwinds may own the memory of a command under way: it goes on in memory of its own.
void move_data(Command& c) {
    c.memory.resize(size_t{c.blocks} * c.payload);
    bool has_data = false;
    for_each_segment(c, [&](uint32_t offset, const std::byte* data, uint32_t blocks) {
        if (!data) return;
        has_data = true;
        std::memcpy(c.memory.data() + size_t{offset} * c.payload, data, size_t{blocks} * c.payload);
    });
    c.list = nullptr;
    c.segment_count = 1;
    c.whole = {has_data ? c.memory.data() : nullptr, c.blocks};
}

} // namespace

class Incarnation::DeviceDoor final : public BlockDevice {
public:
    DeviceDoor(Incarnation& life, BlockDevice& device) : behind(device), life_(life) {}
    BlockDevice& behind;

    Geometry geometry() const override { return behind.geometry(); }
    Handle submit(Request& request) override {
        if (!life_.alive_) return nothing();
        Command& c = life_.stones_.commands.take();
        static_cast<Request&>(c) = request;
        request.work = {}; // the debt goes with the copy
        c.saved = {nullptr, nullptr, {}};
        c.device = &behind;
        c.owner = nullptr;
        c.done = [](Request& r) { return answered(static_cast<Command&>(r)); };
        c.life = &life_;
        c.whose = &request;
        c.payload = behind.geometry().payload;
        c.place = static_cast<uint32_t>(life_.under_way_.size());
        life_.under_way_.push_back(&c);
        return behind.submit(c);
    }

private:
    Incarnation& life_;

    static Handle answered(Command& c) {
        Incarnation& life = *c.life;
        Request& whose = *c.whose;
        const IoStatus status = c.status;
        life.under_way_[c.place] = life.under_way_.back();
        life.under_way_[c.place]->place = c.place;
        life.under_way_.pop_back();
        c.memory = {};
        life.stones_.commands.give(c);
        return life.alive_ ? whose.finish(status) : nothing();
    }
};

class Incarnation::CpuDoor final : public Cpu {
public:
    // The copy has the same prices and the same ledger.
    CpuDoor(Incarnation& life, Cpu& cpu) : Cpu(cpu), behind(cpu), life_(life) {}
    Cpu& behind;

    void run(Job& job) override {
        if (!life_.alive_) return;
        Running& r = life_.stones_.jobs.take();
        static_cast<Job&>(r) = job;
        job.work = {};
        r.fire = [](Event& e) { done(static_cast<Running&>(e)); };
        r.life = &life_;
        r.whose = &job;
        life_.timers_and_jobs_++;
        behind.run(r);
    }

private:
    Incarnation& life_;

    static void done(Running& r) {
        Incarnation& life = *r.life;
        Job& whose = *r.whose;
        whose.at = r.at;
        life.timers_and_jobs_--;
        life.stones_.jobs.give(r);
        if (life.alive_) whose.fire(whose);
    }
};

void Incarnation::ClockDoor::wake(Event& event, Instant at) {
    if (!life_.alive_) return;
    Waking& w = life_.stones_.timers.take();
    w.phase = event.phase;
    w.life = &life_;
    w.whose = &event;
    w.fire = [](Event& e) {
        auto& waking = static_cast<Waking&>(e);
        Incarnation& life = *waking.life;
        Event& whose = *waking.whose;
        life.timers_and_jobs_--;
        life.stones_.timers.give(waking);
        if (life.alive_) whose.fire(whose);
    };
    event.at = at;
    life_.timers_and_jobs_++;
    life_.calendar_.schedule(w, at);
}

Incarnation::Incarnation(Calendar& calendar, Tombstones& stones, uint32_t n, uint32_t start_number)
    : node(n), number(start_number), calendar_(calendar), stones_(stones) {}
Incarnation::~Incarnation() { free_frames(); }

BlockDevice& Incarnation::attach(BlockDevice& device) {
    for (const auto& d : devices_)
        if (&d->behind == &device || d.get() == &device) return *d;
    return *devices_.emplace_back(std::make_unique<DeviceDoor>(*this, device));
}
Cpu& Incarnation::attach(Cpu& cpu) {
    for (const auto& c : cpus_)
        if (&c->behind == &cpu || c.get() == &cpu) return *c;
    return *cpus_.emplace_back(std::make_unique<CpuDoor>(*this, cpu));
}

Incarnation::Root& Incarnation::start(Task<void> task, std::shared_ptr<void> program,
                                      std::function<void()> on_finish) {
    Root& root = roots_.emplace_back();
    root.program = std::move(program);
    root.on_finish = std::move(on_finish);
    root.frame = std::move(task).detach(&root, [](void* context) {
        Root& r = *static_cast<Root*>(context);
        r.frame = {};
        r.on_finish();
        return nothing();
    });
    // From the calendar: the coroutine runs on the stack of the kernel, as it will ever after.
    root.start.waiter = root.frame;
    root.start.phase = Phase::arrival;
    clock_.wake(root.start, calendar_.now());
    return root;
}
void Incarnation::forget(Root& root) {
    roots_.remove_if([&](const Root& r) { return &r == &root; });
}

void Incarnation::die() {
    STORLAB_ENSURE(alive_);
    alive_ = false;
    died_ = calendar_.now();
    for (Command* const c : under_way_) move_data(*c);
}

bool Incarnation::bury() {
    STORLAB_ENSURE(!alive_);
    if (!under_way_.empty() || present_.use_count() > 1) return false;
    free_frames();
    return timers_and_jobs_ == 0;
}

void Incarnation::free_frames() {
    alive_ = false;
    burying_ = true; // destructors in frames may call the node
    for (Root& r : roots_)
        if (r.frame) std::exchange(r.frame, {}).destroy();
    roots_.clear();
    kept_.clear();
    burying_ = false;
}

} // namespace storlab
