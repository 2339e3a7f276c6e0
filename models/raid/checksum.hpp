// A checksum of what logs hold, against entries that landed in part: every bit of the data reaches
// every bit of the sum. Not against an adversary, and not the CRC that md uses: what is on a drive
// is read by nobody else.
#pragma once
#include "sim/base/random.hpp"
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace storlab {

inline uint64_t checksum(uint64_t start, const std::byte* data, size_t bytes) {
    uint64_t sum = start;
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, data + at, std::min(sizeof word, bytes - at));
        sum = mix(sum + word) + at;
    }
    return sum;
}

} // namespace storlab
