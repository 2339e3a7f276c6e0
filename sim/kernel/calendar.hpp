// The event calendar: a hierarchical timing wheel on picoseconds (Varghese and Lauck 1987; a radix
// queue on time). Order is exactly (date, phase, order of scheduling). A slot of the lowest level
// spans 4 ns and is kept sorted; it holds about one event, so sorting is free and the levels that a
// 1 ps tick would need below it are skipped.
#pragma once
#include "sim/base/error.hpp"
#include "sim/seam/clock.hpp"
#include <bit>

namespace storlab {

class Calendar final : public Clock {
public:
    Instant now() const override { return now_; }
    void wake(Event& e, Instant at) override { schedule(e, at); }
    void schedule(Event& e, Instant at) {
        e.at = at;
        link(&e);
    }

    // The earliest event not after bound, or null. The wheel never moves past bound, so that the
    // control plane may still schedule at any date from bound on.
    Event* pop(Instant bound) {
        const int64_t limit = ticks(bound);
        for (;;) {
            int l = 0;
            while (!sum_[l])
                if (++l == levels) return nullptr;
            const int w = std::countr_zero(sum_[l]), s = w * 64 + std::countr_zero(bits_[l][w]);
            Event* e = slot_[l][s].head;
            if (l == 0 || !e->next) { // a lone event needs no cascade
                const int64_t at = ticks(e->at);
                if (at > limit) return nullptr;
                if (l || !(slot_[0][s].head = e->next)) clear(l, s);
                base_ = at;
                now_ = e->at;
                fired_++;
                return e;
            }
            const int low = grain + l * slot_bits, high = low + slot_bits;
            const int64_t start = (high > 62 ? 0 : (base_ >> high) << high) | (int64_t{s} << low);
            if (start > limit) return nullptr;
            base_ = start;
            clear(l, s);
            while (e) {
                Event* const n = e->next;
                link(e);
                e = n;
            }
        }
    }
    // Fires everything up to and including bound; returns early, after the event that asked for it,
    // when interrupted. True if it ran to the bound.
    bool run_until(Instant bound) {
        interrupted_ = false;
        while (Event* e = pop(bound)) {
            e->fire(*e);
            if (interrupted_) return false;
        }
        return true;
    }
    void interrupt() { interrupted_ = true; }
    // Moves the clock forward with no event, for whoever owns the date above the calendar.
    void advance_to(Instant t) {
        if (t > now_) now_ = t;
    }
    uint64_t events_fired() const { return fired_; }
    bool empty() const {
        for (const uint8_t s : sum_)
            if (s) return false;
        return true;
    }

private:
    static constexpr int grain = 12, slot_bits = 8, slots = 1 << slot_bits;
    static constexpr int levels = (62 - grain) / slot_bits + 1;
    struct List {
        Event *head, *tail;
    };
    int64_t base_ = 0; // position of the wheel, never after now_
    Instant now_;
    uint64_t fired_ = 0;
    bool interrupted_ = false;
    uint8_t sum_[levels] = {}; // which words of bits_ are not zero
    uint64_t bits_[levels][slots / 64] = {};
    List slot_[levels][slots] = {};

    static int64_t ticks(Instant t) { return t.since_start().count_ps(); }
    static bool not_after(const Event& a, const Event& b) {
        return a.at < b.at || (a.at == b.at && a.phase <= b.phase);
    }
    void link(Event* e) {
        const int64_t at = ticks(e->at);
        STORLAB_ENSURE(at >= base_); // an event before what has fired would be lost among the slots
        const uint64_t x = static_cast<uint64_t>(at ^ base_) >> grain;
        const int l = (63 - std::countl_zero(x | 1)) / slot_bits;
        const int s = static_cast<int>(at >> (grain + l * slot_bits)) & (slots - 1);
        List& q = slot_[l][s];
        e->next = nullptr;
        if (!q.head) {
            q.head = q.tail = e;
            bits_[l][s / 64] |= 1ull << (s & 63);
            sum_[l] |= static_cast<uint8_t>(1 << (s / 64));
        } else if (l || not_after(*q.tail, *e)) {
            q.tail = q.tail->next = e;
        } else { // lowest level: sorted, equals in order of scheduling
            Event** p = &q.head;
            while (not_after(**p, *e)) p = &(*p)->next;
            e->next = *p;
            *p = e;
        }
    }
    void clear(int l, int s) {
        slot_[l][s].head = nullptr;
        if (!(bits_[l][s / 64] &= ~(1ull << (s & 63))))
            sum_[l] &= static_cast<uint8_t>(~(1 << (s / 64)));
    }
};

} // namespace storlab
