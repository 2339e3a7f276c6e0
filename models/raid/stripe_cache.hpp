// The array's working set of lines. A line is one block at the same address of every member; its
// stripe holds a page for each column, the requests that wait for it, and is what is locked: one
// coroutine at a time works on it, whatever arrives meanwhile waits in line. As in md the number of
// stripes is fixed, an idle one keeps its pages until it is needed for another line, and writers
// sleep when none is idle.
#pragma once
#include "models/raid/page_memory.hpp"
#include "sim/seam/block_device.hpp"
#include <cstddef>
#include <vector>

namespace storlab {

class Raid;

struct Stripe {
    Raid* array = nullptr;
    uint64_t line = ~uint64_t{0};
    Stripe* chain = nullptr;                   // of its hash bucket
    Stripe *older = nullptr, *newer = nullptr; // among the idle
    EventQueue pending;                        // requests, each within one column of the line
    EventQueue taken;                          // those being carried out
    EventQueue exclusive; // coroutines that wait to have the stripe to themselves
    std::byte* pages = nullptr;
    uint64_t cached = 0;  // columns whose page holds what the member holds
    uint64_t written = 0; // columns with new contents among the taken
    uint32_t waiting = 0; // requests pending
    uint32_t plugs = 0;   // submitters that are not done adding
    bool active = false;
    bool hashed = false;

    bool idle() const { return !active && pending.empty() && exclusive.empty() && plugs == 0; }
};

class StripeCache {
public:
    StripeCache(uint32_t stripes, uint32_t columns, uint32_t payload);
    // The stripe of a line, taken from the idle ones if need be; null when none is idle.
    Stripe* get(uint64_t line);
    // Puts a stripe that has become idle back; it stays findable. Whoever waits for one is woken,
    // as long as one is idle: a waiter may find its line in use and leave the stripe to the next.
    void put(Stripe& s);
    std::byte* page(const Stripe& s, uint32_t column) const {
        return s.pages + size_t{column} * payload_;
    }
    EventQueue waiters; // for an idle stripe
    uint64_t exhausted = 0;

private:
    uint32_t payload_;
    std::vector<Stripe> stripes_;
    PageMemory pages_;
    std::vector<Stripe*> bucket_;
    int shift_;
    Stripe *oldest_ = nullptr, *newest_ = nullptr;

    Stripe*& bucket(uint64_t line) { return bucket_[(line * 0x9e3779b97f4a7c15ull) >> shift_]; }
    void unlink_idle(Stripe& s);
    void unhash(Stripe& s);
};

} // namespace storlab
