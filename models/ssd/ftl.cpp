#include "models/ssd/ftl.hpp"
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include <algorithm>
#include <cmath>

namespace storlab {

Ftl::Ftl(const FtlOptions& o)
    : o_(o), map_(o.logical_pages, unmapped),
      inverse_(uint64_t{o.superblocks} * o.pages_per_superblock, unmapped),
      superblocks_(o.superblocks), bucket_(o.pages_per_superblock + 1, none) {
    const uint64_t physical = inverse_.size();
    STORLAB_ENSURE(physical < unmapped);
    STORLAB_ENSURE(o.logical_pages + uint64_t{o.reserve + 2} * o.pages_per_superblock <= physical);
    for (uint32_t s = o.superblocks; s-- > 0;) free_.push_back(s);
}

void Ftl::link(uint32_t s) {
    Superblock& b = superblocks_[s];
    b.older = bucket_[b.valid];
    b.newer = none;
    if (b.older != none) superblocks_[b.older].newer = s;
    bucket_[b.valid] = s;
    fewest_ = std::min(fewest_, b.valid);
}
void Ftl::unlink(uint32_t s) {
    Superblock& b = superblocks_[s];
    if (b.older != none) superblocks_[b.older].newer = b.newer;
    if (b.newer != none) superblocks_[b.newer].older = b.older;
    else bucket_[b.valid] = b.older;
}

void Ftl::invalidate(uint32_t physical) {
    const uint32_t s = physical / o_.pages_per_superblock;
    Superblock& b = superblocks_[s];
    inverse_[physical] = unmapped;
    if (!b.full) {
        b.valid--;
        return;
    }
    unlink(s);
    b.valid--;
    link(s);
}

uint32_t Ftl::append(Open& open, uint64_t page) {
    if (open.superblock == none) {
        STORLAB_ENSURE(!free_.empty());
        open = {free_.back(), 0};
        free_.pop_back();
    }
    const uint32_t s = open.superblock, at = s * o_.pages_per_superblock + open.used++;
    map_[page] = at;
    inverse_[at] = static_cast<uint32_t>(page);
    superblocks_[s].valid++;
    if (open.used == o_.pages_per_superblock) {
        superblocks_[s].full = true;
        link(s);
        open.superblock = none;
    }
    return at;
}

void Ftl::choose_victim() {
    while (bucket_[fewest_] == none) fewest_++;
    victim_ = bucket_[fewest_];
    unlink(victim_);
    superblocks_[victim_].full = false; // its pages may still be overwritten; it is in no bucket
    cursor_ = 0;
}

// Frees space at the pace the host uses it: a victim with v of P pages valid yields P - v pages for
// v moved.
void Ftl::collect(FlashWork* work) {
    if (victim_ == none) {
        if (free_.size() > o_.reserve) return;
        choose_victim();
    }
    const uint32_t pages = o_.pages_per_superblock;
    const uint32_t valid = superblocks_[victim_].valid;
    const auto left = static_cast<double>(pages - cursor_);
    // Scan the rest of the victim while the host writes what it will yield.
    const double yield = std::max(1.0, left - valid);
    due_ += left / yield;
    uint32_t last_sensed = none;
    while (due_ >= 1 && cursor_ < pages) {
        const uint32_t at = victim_ * pages + cursor_++;
        due_ -= 1;
        const uint32_t page = inverse_[at];
        if (page == unmapped) continue;
        const uint32_t flash = at / o_.flash_page;
        inverse_[at] = unmapped;
        superblocks_[victim_].valid--;
        const uint32_t now_at = append(moved_, page);
        moved_pages_++;
        if (!work) continue;
        work->moved++;
        if (flash != last_sensed) work->sensed.push_back(at);
        last_sensed = flash;
        if ((now_at + 1) % o_.unit == 0) work->programmed.push_back(now_at);
    }
    if (cursor_ < pages) return;
    STORLAB_ENSURE(superblocks_[victim_].valid == 0);
    free_.insert(free_.begin(), victim_); // oldest free is used last: wear evens out
    victim_ = none;
    due_ = 0;
}

uint32_t Ftl::write(uint64_t page, FlashWork* work) {
    const uint32_t before = map_[page];
    if (before != unmapped) invalidate(before);
    const uint32_t at = append(host_, page);
    host_pages_++;
    if (free_.size() <= o_.reserve || victim_ != none) collect(work);
    while (free_.size() < 2) collect(work); // never run dry, whatever the pattern
    return at;
}

void Ftl::fill_sequentially() {
    for (uint64_t p = 0; p < o_.logical_pages; p++) write(p);
    take_write_amplification();
}

void Ftl::age(uint32_t extent_pages, uint64_t seed) {
    fill_sequentially();
    Random random(seed, "ftl/age");
    const uint64_t extents = o_.logical_pages / extent_pages;
    STORLAB_ENSURE(extents > 0);
    // A round overwrites a quarter of the drive. Steady: the last four rounds agree within 1 %
    // pairwise; 24 rounds are six overwrites, after which greedy has long forgotten the fill.
    constexpr int fewest_rounds = 8, most_rounds = 24;
    std::vector<double> amplification;
    for (int round = 0; round < most_rounds; round++) {
        for (uint64_t i = 0; i < extents / 4; i++) {
            const uint64_t first = random.below(extents) * extent_pages;
            for (uint32_t p = 0; p < extent_pages; p++) write(first + p);
        }
        amplification.push_back(take_write_amplification());
        if (round + 1 < fewest_rounds) continue;
        const auto [low, high] = std::minmax_element(amplification.end() - 4, amplification.end());
        if (*high - *low < 0.01 * *high) return;
    }
}

double Ftl::take_write_amplification() {
    const double wa =
        host_pages_ ? 1 + static_cast<double>(moved_pages_) / static_cast<double>(host_pages_) : 1;
    host_pages_ = moved_pages_ = 0;
    return wa;
}

bool Ftl::consistent() const {
    std::vector<uint32_t> valid(o_.superblocks, 0);
    uint64_t mapped = 0;
    for (uint64_t p = 0; p < map_.size(); p++) {
        if (map_[p] == unmapped) continue;
        mapped++;
        if (inverse_[map_[p]] != p) return false;
        valid[map_[p] / o_.pages_per_superblock]++;
    }
    for (const uint32_t page : inverse_)
        if (page != unmapped) mapped--;
    for (uint32_t s = 0; s < o_.superblocks; s++)
        if (superblocks_[s].valid != valid[s]) return false;
    return mapped == 0;
}

} // namespace storlab
