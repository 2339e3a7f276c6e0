// One start of one machine, as far as the data plane is concerned: the doors through which its
// coroutines reach devices, cores and the clock. A door hands the world a copy of the command,
// timer or job, so that a machine that dies leaves nothing behind that the world could touch: a
// late answer meets the copy, the tombstone. Frames stay until no command is under way, because
// layers below may have kept pointers into them.
#pragma once
#include "sim/cluster/engine.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/seam/block_device.hpp"
#include <deque>
#include <list>
#include <vector>

namespace storlab {

class Incarnation;

struct Waking : Event { // a timer's copy
    Incarnation* life;
    Event* whose;
};
struct Running : Job { // a job's copy
    Incarnation* life;
    Job* whose;
};
struct Command : Request { // a command's copy
    Command() : Request(nullptr, Op::flush, {}, 0, nullptr) {}
    Incarnation* life = nullptr;
    Request* whose = nullptr;
    uint32_t place = 0, payload = 0;
    std::vector<std::byte> memory; // its data, once the machine has died
};

template <class T> class Pool { // grows to the largest number in use at one time
public:
    T& take() {
        if (free_.empty()) return all_.emplace_back();
        T& t = *free_.back();
        free_.pop_back();
        return t;
    }
    void give(T& t) { free_.push_back(&t); }

private:
    std::deque<T> all_;
    std::vector<T*> free_;
};
struct Tombstones { // shared by all incarnations: they outlive each of them
    Pool<Waking> timers;
    Pool<Running> jobs;
    Pool<Command> commands;
};

class Incarnation {
public:
    Incarnation(Calendar& calendar, Tombstones& stones, uint32_t node, uint32_t number);
    ~Incarnation();

    const uint32_t node, number;
    bool alive() const { return alive_; }
    // The present date, or that of its death.
    Instant now() const { return alive_ ? calendar_.now() : died_; }
    void die();
    // Held by each of its programs until its stack has unwound.
    std::shared_ptr<void> presence() const { return present_; }
    // Frees frames and what was kept for them if programs are gone and no command is under way.
    // True once nothing in the world refers to it any more.
    bool bury();
    void free_frames(); // whatever is under way: for the end of the world
    bool burying() const { return burying_; }

    BlockDevice& attach(BlockDevice& device);
    Cpu& attach(Cpu& cpu);
    Clock& clock() { return clock_; }
    void keep(std::shared_ptr<void> object) { kept_.push_back(std::move(object)); }

    // A coroutine that a program waits for.
    struct Root {
        Handle frame; // null once it has finished
        WakeUp finished;
        std::function<void()> on_finish;
        Resume start;
        std::shared_ptr<void> program; // the coroutine may refer to it
    };
    Root& start(Task<void> task, std::shared_ptr<void> program, std::function<void()> on_finish);
    void forget(Root& root);

private:
    class DeviceDoor;
    class CpuDoor;
    class ClockDoor final : public Clock {
    public:
        explicit ClockDoor(Incarnation& life) : life_(life) {}
        Instant now() const override { return life_.now(); }
        void wake(Event& event, Instant at) override;

    private:
        Incarnation& life_;
    };

    Calendar& calendar_;
    Tombstones& stones_;
    bool alive_ = true, burying_ = false;
    Instant died_;
    ClockDoor clock_{*this};
    std::vector<std::unique_ptr<DeviceDoor>> devices_;
    std::vector<std::unique_ptr<CpuDoor>> cpus_;
    std::vector<Command*> under_way_;
    uint64_t timers_and_jobs_ = 0;
    std::list<Root> roots_;
    std::vector<std::shared_ptr<void>> kept_;
    std::shared_ptr<char> present_ = std::make_shared<char>();
};

} // namespace storlab
