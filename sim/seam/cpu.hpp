// Who executes code, and what code owes for being executed. Real code names what it did
// (Operation, how often, bytes touched); the world knows what that costs there. In the real world
// it has already cost what it cost, and every price is zero.
//
// A debt is collected on the way down the stack and paid in one visit to the core, before the
// doorbell: utilisation and the moment are right, and a layer that only forwards costs no event.
#pragma once
#include "sim/base/quantity.hpp"
#include "sim/seam/event.hpp"
#include "sim/seam/span.hpp"
#include <array>
#include <cstddef>
#include <string_view>

namespace storlab {

enum class Operation : uint8_t {
    load_submit,      // the load generator prepares an I/O and enters the kernel
    load_reap,        // ... and takes a completion
    block_submit,     // block layer, one request
    drive_submit,     // NVMe driver: command and doorbell
    drive_complete,   // NVMe driver: completion and interrupt share
    raid_read_chunk,  // RAID submission in the caller, per chunk read
    raid_write,       // RAID submission of a write, per request
    raid_write_page,  // ... and per page of a stripe
    raid_lock_chunk,  // under the array's lock, per chunk or chunk page submitted
    raid_pass,        // one handling of a stripe by a worker
    raid_lock_stripe, // under the array's lock, per stripe handled
    raid_member_io,   // one member command issued from a stripe
    raid_parity,      // bytes run through parity arithmetic
    card_submit,      // the caller's side of a command handed to a RAID card
    card_driver,      // ... and what threads of its driver do for it
    lock_spin,        // waiting for a lock on a core
    path_select,      // multipath, one request
    fabric_submit,    // initiator: a command into the queue of its session or adapter
    fabric_complete,  // ... and its completion, interrupt share included
    pdu_send,         // host that runs the protocol itself: one message, and its bytes
    pdu_receive,      // ... and one received, its bytes copied to where they belong
    packet_receive,   // network stack below the protocol: one message received, and its bytes
    adapter_command,  // adapter that runs the protocol: one command
    adapter_write,    // ... and what a write costs it beyond that
    target_read,      // target: a read, from its arrival to the answer
    target_write,     // ... a write
    target_send,      // target that runs the protocol on its cores: one message, and its bytes
    target_receive,   // ... and one received
    count
};
constexpr size_t operation_count = static_cast<size_t>(Operation::count);
constexpr std::array<std::string_view, operation_count> operation_names = {
    "load submit",      "load reap",      "block submit",    "drive submit",    "drive complete",
    "raid read chunk",  "raid write",     "raid page",       "raid lock chunk", "raid pass",
    "raid lock stripe", "raid member io", "raid parity",     "card submit",     "card driver",
    "lock spin",        "path select",    "fabric submit",   "fabric complete", "pdu send",
    "pdu receive",      "packet receive", "adapter command", "adapter write",   "target read",
    "target write",     "target send",    "target receive"};

struct SpinLock; // a lock whose waiters spin; the world defines it

// What is owed: time on the core, then at most one critical section, then bytes moved by the
// engine.
struct Work {
    Duration busy;
    SpinLock* lock = nullptr;
    Duration hold;                        // with the lock held
    uint32_t sections = 0;                // so many times: each hands the lock over anew
    uint32_t bytes_in = 0, bytes_out = 0; // across the engine's own link, if it has one

    // A debt of nothing needs no visit.
    bool owed() const { return busy > Duration() || lock || bytes_in || bytes_out; }
};

// Which of the jobs waiting for a context it takes first. What has come back goes before what is to
// go out, as interrupts come before programs: a context offered more than it can do would otherwise
// submit ever more and finish ever less.
enum class Urgency : uint8_t { completion, usual, deferred };

// An event that can be executed: queued on a thread, it fires when its work is done.
struct Job : Event {
    Work work;
    Span* span = nullptr;
    Urgency urgency = Urgency::usual; // a pool of workers knows only who is deferred

    void enter(Layer layer, Instant now) {
        if (span) span->enter(layer, now);
    }
};

struct Price {
    Duration each;
    double ps_per_byte = 0;
};
using PriceList = std::array<Price, operation_count>;
using Ledger = std::array<Duration, operation_count>; // time by operation, for one machine

class Cpu {
public:
    Cpu(const PriceList& prices, Ledger& ledger) : prices_(prices), ledger_(ledger) {}
    virtual ~Cpu() = default;
    // Executes the job's work in this context and clears it; then job.fire.
    virtual void run(Job& job) = 0;

    void owe(Work& work, Operation op, uint32_t times = 1) {
        const Duration d = prices_[index(op)].each * times;
        work.busy += d;
        ledger_[index(op)] += d;
    }
    void owe_bytes(Work& work, Operation op, Bytes touched) {
        const Price& p = prices_[index(op)];
        const auto d = p.each + Duration::ps(static_cast<int64_t>(
                                    p.ps_per_byte * static_cast<double>(touched.count())));
        work.busy += d;
        ledger_[index(op)] += d;
    }
    void note(Operation op, Duration d) { ledger_[index(op)] += d; }
    // A critical section; a debt that already has one is lengthened.
    void owe_locked(Work& work, SpinLock* lock, Operation op, uint32_t times = 1) {
        const Duration d = prices_[index(op)].each * times;
        work.lock = lock;
        work.hold += d;
        work.sections += times;
        ledger_[index(op)] += d;
    }

private:
    static constexpr size_t index(Operation op) { return static_cast<size_t>(op); }
    const PriceList& prices_;
    Ledger& ledger_;
};

// co_await charge(cpu, work)
struct Charge : Job {
    Cpu& cpu;
    Handle waiter;
    Charge(Cpu& c, const Work& w) : cpu(c) {
        work = w;
        fire = [](Event& e) { static_cast<Charge&>(e).waiter.resume(); };
    }
    bool await_ready() const { return false; }
    void await_suspend(Handle h) {
        waiter = h;
        cpu.run(*this);
    }
    void await_resume() const {}
};
inline Charge charge(Cpu& cpu, const Work& work) { return {cpu, work}; }

} // namespace storlab
