// Named random streams: seed and component path decide the draws, so adding a drive to a testbed
// shifts no other drive's. Generator: xoshiro256++ (Blackman and Vigna, "Scrambled linear
// pseudorandom number generators", 2021); seeding by SplitMix64, as its authors advise.
#pragma once
#include <cstdint>
#include <string_view>

namespace storlab {

// The finaliser of SplitMix64: a bijection on 64 bits in which every input bit reaches every
// output.
constexpr uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}
// FNV-1a over the bytes of a name.
constexpr uint64_t hash_name(std::string_view name) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return h;
}

class Random {
public:
    Random(uint64_t seed, std::string_view stream) {
        uint64_t x = mix(seed) ^ hash_name(stream);
        for (uint64_t& word : s_) word = mix(x += 0x9e3779b97f4a7c15ull);
    }
    uint64_t next() {
        const uint64_t out = rotate(s_[0] + s_[3], 23) + s_[0], t = s_[1] << 17;
        s_[2] ^= s_[0];
        s_[3] ^= s_[1];
        s_[1] ^= s_[2];
        s_[0] ^= s_[3];
        s_[2] ^= t;
        s_[3] = rotate(s_[3], 45);
        return out;
    }
    // Uniform on [0, n); n > 0. The bias of the multiply is below n / 2^64.
    uint64_t below(uint64_t n) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(next()) * n >> 64);
    }
    // Uniform on [0, 1), 53 bits.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    static constexpr uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    uint64_t s_[4];
};

} // namespace storlab
