// Where a fio job reads and writes: one AddressPattern for each clone and file makes the endless
// list of (offset, size, direction) that fio would issue. Pure arithmetic, O(1) memory.
// The random map is a keyed permutation (Feistel network, cycle walking) instead of fio's bitmap:
// every start is used once before any repeats, and each pass has its own order. Left out: with
// mixed sizes fio's map also avoids overlapping earlier, larger blocks, which needs the bitmap. A
// block that would cross the region's end is moved down to fit, so that size shares stay exact.
// Skewed draws are scattered over the region as fio does (3.33, measured: with a centre too, which
// only places the most used block). fio's own Zipf is an approximation: 17 % too many for rank 3.
// Sources: fio HOWTO.rst; Black and Rogaway, "Ciphers with arbitrary finite domains", 2002;
// Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
// distributions", 1996 (Zipf by its exact law, no table, no zeta sum).
#pragma once
#include "models/workload/fio/job_file.hpp"
#include "sim/base/random.hpp"
#include <array>
#include <cstdint>
#include <vector>

namespace storlab::fio {

// A bijection on [0, n) chosen by its keys.
class Permutation {
public:
    Permutation() = default; // of one element
    Permutation(uint64_t n, Random& random);
    uint64_t size() const { return n_; }
    uint64_t operator()(uint64_t i) const; // i < n

private:
    static constexpr int most_rounds = 12;
    uint64_t n_ = 1;
    int low_bits_ = 1;  // low_bits_ + high_bits_ bits cover n, at most twice: on average fewer
    int high_bits_ = 1; // than two tries until the walk is back inside
    int rounds_ = 0;
    uint64_t shift_ = 0; // makes each element exactly as likely at each position
    std::array<uint64_t, most_rounds> keys_{};
};

// Ranks 0 to n-1 with probability proportional to 1 / (rank + 1)^theta; theta > 0, 1 included.
class Zipf {
public:
    Zipf() = default;
    Zipf(uint64_t n, double theta);
    uint64_t draw(Random& random) const;

private:
    double integral(double x) const; // of x^-theta from 1
    double inverse(double area) const;
    double n_ = 1;
    double theta_ = 1;
    double area_first_ = 0; // the areas between which a uniform draw is inverted
    double area_last_ = 0;
    double accept_ = 0; // closer to the rank than this: no need to compare areas
};

struct Draw {
    uint64_t offset_bytes = 0; // from the start of the file or device
    uint32_t bytes = 0;
    bool write = false;
};

class AddressPattern {
public:
    // `device` is the size of the file or device; offset, size and offset_increment of the job are
    // applied here. InputError if they do not fit (see region_of).
    AddressPattern(const Job& job, uint32_t clone, Bytes device, Random random);
    Draw next(); // in the direction that the mix draws
    Draw next(bool write);
    bool mixed() const { return read_share_ > 0 && read_share_ < 1; }
    Region region() const { return region_; }

private:
    struct ZoneRange { // a draw below `until` goes to one of `count` starts from `first` on
        double until = 1;
        uint64_t first = 0;
        uint64_t count = 1;
    };
    struct SizeCut {
        double until = 1;
        uint32_t bytes = 0;
    };
    struct Lane { // one direction
        uint32_t low = 0;
        uint32_t high = 0;
        std::vector<SizeCut> split;
        uint64_t align = 1;  // starts are multiples of this
        uint64_t starts = 1; // how many of them the region holds
        double random_share = 1;
        uint64_t position = 0; // where the next sequential I/O begins
        uint64_t last = 0;     // where the last I/O began
        Zipf zipf;
        std::vector<ZoneRange> zones;
        size_t walk = 0;
        uint64_t shift = 0; // brings the most used block to the centre asked for
    };
    struct Walk { // one pass of the random map after the other; also scatters the ranks of a skew
        Permutation order;
        uint64_t next = 0;
    };

    void set_up_lane(const Job& job, bool write);
    void set_up_zones(const Job& job, bool write);
    uint32_t draw_size(const Lane& lane);
    uint64_t draw_start(const Lane& lane, uint32_t bytes);
    uint64_t draw_index(const Lane& lane);
    uint64_t draw_mapped(Walk& walk);
    uint64_t draw_rank(const Lane& lane);
    uint64_t sequential(const Lane& lane, uint32_t bytes) const;
    uint64_t fitted(const Lane& lane, uint64_t start, uint32_t bytes) const;

    Random random_;
    Region region_;
    std::array<Lane, 2> lanes_;
    std::array<Walk, 2> walks_; // the second only if the directions have different grids
    double read_share_ = 1;
    bool is_random_ = false;
    bool map_ = true;
    bool unaligned_ = false;
    Sequencer sequencer_ = Sequencer::sequential;
    int64_t random_run_ = 1;
    int64_t run_left_ = 0; // I/Os before a new random offset, both directions together, as in fio
    uint64_t hole_ = 0;
    Spread spread_ = Spread::uniform;
    double exponent_ = 1;  // pareto
    double deviation_ = 0; // normal, share of the region
};

} // namespace storlab::fio
