// What a load can move at most, whatever it keeps in flight: the least cut of the testbed between
// what it aims at and where it runs. Plain data, and how it is said.
#pragma once
#include "sim/base/quantity.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace storlab {

struct BoundLimit {   // of some of the same kind together
    std::string name; // storage/ssd/*/link
    uint64_t count = 1;
    double bytes_per_s = 0; // of each
};
struct BoundFlow {
    double bytes_per_s = 0; // of the load
    Bytes block;            // of every request; 0: sizes differ
    double carried = 1;     // bytes that the limits carry for each of the load's: RAID writes more
    std::vector<BoundLimit> cut;
};
struct BoundResult {
    std::string load;
    std::optional<BoundFlow> read, write; // empty: the load has none, or nothing limits it
};

// "users can read at most 52.2 GB/s: server/ssd/*/link (8 x 6.53 GB/s)"; one for each direction.
std::vector<std::string> in_words(const BoundResult& bound);

} // namespace storlab
