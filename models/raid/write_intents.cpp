#include "models/raid/write_intents.hpp"
#include <cstring>

namespace storlab {

WriteIntents::WriteIntents(Clock& clock, Options options)
    : clock_(clock), o_(std::move(options)), regions_(o_.regions),
      blocks_(blocks_for(o_.regions, o_.payload)), flying_(blocks_.size() * o_.payload),
      wanted_(blocks_.size() * o_.payload), landed_(wanted_.size()) {
    std::memset(flying_.get(), 0, landed_.size());
    sweep_.intents = this;
    sweep_.phase = Phase::timer;
    sweep_.fire = [](Event& e) { static_cast<Sweep&>(e).intents->sweep(); };
}

bool WriteIntents::begin(uint64_t region) {
    regions_[region].writers++;
    set(wanted_.data(), region, true);
    return in_place(region);
}
void WriteIntents::end(uint64_t region) {
    Region& r = regions_[region];
    STORLAB_ENSURE(r.writers > 0);
    if (--r.writers > 0) return;
    r.last = clock_.now();
    sweep_later();
}

bool WriteIntents::differs(uint32_t block) const {
    const size_t at = size_t{block} * o_.payload;
    return blocks_[block].forced || std::memcmp(&wanted_[at], &landed_[at], o_.payload) != 0;
}
void WriteIntents::start(uint32_t block) {
    if (blocks_[block].writing || !differs(block)) return;
    blocks_[block].writing = true;
    o_.write(block);
}
std::byte* WriteIntents::take(uint32_t block) {
    const size_t at = size_t{block} * o_.payload;
    blocks_[block].forced = false;
    std::memcpy(flying_.get() + at, &wanted_[at], o_.payload);
    return flying_.get() + at;
}
bool WriteIntents::landed(uint32_t block) {
    const size_t at = size_t{block} * o_.payload;
    std::memcpy(&landed_[at], flying_.get() + at, o_.payload);
    Block& b = blocks_[block];
    const bool again = b.writing = differs(block);
    EventQueue served, rest;
    while (!b.waiters.empty()) {
        auto& w = static_cast<Begin&>(static_cast<Resume&>(b.waiters.pop()));
        (in_place(w.region_) ? served : rest).push(w);
    }
    b.waiters = rest;
    while (!served.empty()) static_cast<Begin&>(static_cast<Resume&>(served.pop())).waiter.resume();
    return again;
}
void WriteIntents::rewrite(uint32_t block) {
    blocks_[block].forced = true;
    start(block);
}

void WriteIntents::load(uint32_t block, const std::byte* bits) {
    const uint64_t first = uint64_t{block} * o_.payload * 8;
    for (uint64_t i = 0; i < uint64_t{o_.payload} * 8 && first + i < o_.regions; i++) {
        if (!bit(bits, i)) continue;
        regions_[first + i].stale = true;
        set(wanted_.data(), first + i, true);
    }
}
void WriteIntents::distrust() {
    for (uint64_t region = 0; region < o_.regions; region++) {
        regions_[region].stale = true;
        set(wanted_.data(), region, true);
    }
}
void WriteIntents::agree() {
    for (uint32_t block = 0; block < blocks(); block++) start(block);
}
void WriteIntents::trust(uint64_t region) {
    Region& r = regions_[region];
    r.stale = false;
    r.last = clock_.now();
    sweep_later();
}

// One timer for all bits; none while there is nothing to clear.
void WriteIntents::sweep_later() {
    if (sweeping_) return;
    sweeping_ = true;
    clock_.wake(sweep_, clock_.now() + o_.idle);
}
void WriteIntents::sweep() {
    sweeping_ = false;
    const Instant now = clock_.now();
    bool more = false;
    for (uint64_t region = 0; region < o_.regions; region++) {
        const Region& r = regions_[region];
        if (!bit(wanted_.data(), region) || r.writers > 0 || r.stale) continue;
        if (now - r.last >= o_.idle) set(wanted_.data(), region, false);
        else more = true;
    }
    if (more) sweep_later();
    agree();
}

} // namespace storlab
