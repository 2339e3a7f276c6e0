// Where a fio job reads and writes: one AddressPattern for each clone and file makes the endless
// list of (offset, size, direction) that fio would issue. Pure arithmetic, O(1) memory.
// The random map is a keyed permutation (Feistel network, cycle walking) instead of fio's bitmap:
// every start is used once before any repeats. Left out: with mixed sizes fio's map also avoids
// overlapping earlier, larger blocks, which needs the bitmap; here each start is used once.
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
    static constexpr int rounds = 4; // Luby and Rackoff: four rounds pass for a random permutation
    uint64_t n_ = 1;
    int half_bits_ = 0; // both halves together: the smallest even number of bits that covers n
    std::array<uint64_t, rounds> keys_{};
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
    Draw next();
    Region region() const { return region_; }

private:
    struct ZoneRange { // starts [first, first + count) take draws below `until`
        double until;
        uint64_t first;
        uint64_t count;
    };
    struct SizeCut {
        double until;
        uint32_t bytes;
    };
    struct Lane { // one direction
        uint32_t low, high;
        std::vector<SizeCut> split;
        uint64_t align;  // starts are multiples of this
        uint64_t starts; // how many a region holds
        double random_share;
        uint64_t position = 0; // where the next sequential I/O begins
        uint64_t last = 0;     // where the last I/O began
        int64_t run_left = 0;  // I/Os before a new random offset
        Zipf zipf;
        std::vector<ZoneRange> zones;
    };
    struct Walk { // one pass of the random map after the other
        Permutation order;
        uint64_t next = 0;
    };

    void set_up_lane(const Job& job, bool write);
    void set_up_spread(const Job& job, bool write);
    uint32_t draw_size(Lane& lane);
    uint64_t draw_start(Lane& lane, size_t walk);
    uint64_t mapped(Walk& walk);
    uint64_t skewed(const Lane& lane, const Permutation& scatter);
    uint64_t sequential(Lane& lane, uint32_t bytes) const;

    Random random_;
    Region region_;
    std::array<Lane, 2> lanes_;
    std::array<Walk, 2> walks_; // the second only if the directions have different grids
    bool one_walk_ = true;
    double read_share_ = 1;
    bool is_random_ = false;
    bool map_ = true;
    bool unaligned_ = false;
    Sequencer sequencer_ = Sequencer::sequential;
    int64_t random_run_ = 1;
    uint64_t hole_ = 0;
    Spread spread_ = Spread::uniform;
    double exponent_ = 1;  // pareto
    double deviation_ = 0; // normal, in starts
    std::optional<double> center_;
};

} // namespace storlab::fio
