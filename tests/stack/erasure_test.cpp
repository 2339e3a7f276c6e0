#include "models/erasure/code.hpp"
#include "sim/base/random.hpp"
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>

namespace storlab {
namespace {

// One line: k + p columns of random bytes with parity encoded, each at an address of its own so
// that the sanitizer sees a byte too many.
struct Line {
    std::vector<std::vector<std::byte>> columns;
    std::vector<std::byte*> pointers;
    Line(uint32_t n, size_t bytes, Random& random) : columns(n, std::vector<std::byte>(bytes)) {
        for (auto& c : columns) {
            for (std::byte& b : c) b = static_cast<std::byte>(random.below(256));
            pointers.push_back(c.data());
        }
    }
};

// Multiplication in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1, the field of RAID 6, bit by bit.
uint8_t times(uint8_t a, uint8_t b) {
    unsigned product = 0, shifted = a;
    for (; b; b >>= 1, shifted <<= 1)
        if (b & 1) product ^= shifted;
    for (int bit = 15; bit >= 8; bit--)
        if (product >> bit & 1) product ^= 0x11du << (bit - 8);
    return static_cast<uint8_t>(product);
}

constexpr size_t some_lengths[] = {1, 16, 31, 32, 33, 100, 512, 4096};

template <class F> void for_every_geometry(F&& f) {
    for (uint32_t p = 1; p <= 2; p++)
        for (uint32_t k = 1; k <= 6; k++)
            for (const size_t bytes : some_lengths) {
                CAPTURE(k, p, bytes);
                f(k, p, bytes);
            }
}

} // namespace

TEST_CASE("P is the XOR of the data, Q the sum of its multiples by powers of two") {
    Random random(1, "erasure");
    for_every_geometry([&](uint32_t k, uint32_t p, size_t bytes) {
        Line line(k + p, bytes, random);
        ErasureCode(k, p).encode(line.pointers, bytes);
        uint64_t wrong = 0;
        for (size_t i = 0; i < bytes; i++) {
            uint8_t sum = 0, weighted = 0, power = 1;
            for (uint32_t c = 0; c < k; c++, power = times(power, 2)) {
                sum ^= static_cast<uint8_t>(line.columns[c][i]);
                weighted ^= times(power, static_cast<uint8_t>(line.columns[c][i]));
            }
            wrong += line.columns[k][i] != std::byte{sum};
            if (p == 2) wrong += line.columns[k + 1][i] != std::byte{weighted};
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("every loss of up to p columns is recovered, every larger one is refused") {
    Random random(2, "erasure");
    for_every_geometry([&](uint32_t k, uint32_t p, size_t bytes) {
        const ErasureCode code(k, p);
        Line line(k + p, bytes, random);
        code.encode(line.pointers, bytes);
        const auto whole = line.columns;
        for (uint64_t missing = 0; missing < (uint64_t{1} << (k + p)); missing++) {
            CAPTURE(missing);
            for (uint32_t c = 0; c < k + p; c++)
                if (missing >> c & 1)
                    std::fill(line.columns[c].begin(), line.columns[c].end(), std::byte{0xa5});
            const bool few = static_cast<uint32_t>(std::popcount(missing)) <= p;
            REQUIRE(code.recover(missing, line.pointers, bytes) == few);
            if (few) REQUIRE(line.columns == whole);
            for (uint32_t c = 0; c < k + p; c++)
                std::memcpy(line.pointers[c], whole[c].data(), bytes);
        }
    });
}

TEST_CASE("adding a change to parity is the same as encoding anew") {
    Random random(3, "erasure");
    for_every_geometry([&](uint32_t k, uint32_t p, size_t bytes) {
        const ErasureCode code(k, p);
        Line line(k + p, bytes, random);
        code.encode(line.pointers, bytes);
        for (uint32_t c = 0; c < k; c++) {
            std::vector<std::byte> fresh(bytes), change = line.columns[c];
            for (std::byte& b : fresh) b = static_cast<std::byte>(random.below(256));
            xor_into(change.data(), fresh.data(), bytes);
            for (uint32_t q = 0; q < p; q++)
                code.update(q, c, change.data(), line.pointers[k + q], bytes);
            line.columns[c] = fresh;
            line.pointers[c] = line.columns[c].data();
            const auto updated = line.columns;
            code.encode(line.pointers, bytes);
            CHECK(line.columns == updated);
        }
    });
}

TEST_CASE("the code of a prefix is the prefix of the code") {
    Random random(4, "erasure");
    const ErasureCode code(4, 2);
    Line line(6, 4096, random);
    code.encode(line.pointers, 4096);
    const auto whole = line.columns;
    for (const size_t prefix : {1u, 16u, 31u, 512u}) {
        for (uint32_t c = 4; c < 6; c++)
            std::fill(line.columns[c].begin(), line.columns[c].end(), std::byte{0});
        code.encode(line.pointers, prefix);
        for (uint32_t c = 4; c < 6; c++)
            CHECK(std::memcmp(line.pointers[c], whole[c].data(), prefix) == 0);
    }
}

TEST_CASE("all 45 double losses of RS(8,2) are recovered") {
    Random random(5, "erasure");
    const ErasureCode code(8, 2);
    Line line(10, 4096, random);
    code.encode(line.pointers, 4096);
    const auto whole = line.columns;
    int pairs = 0;
    for (uint32_t a = 0; a < 10; a++)
        for (uint32_t b = a + 1; b < 10; b++, pairs++) {
            std::fill(line.columns[a].begin(), line.columns[a].end(), std::byte{0});
            std::fill(line.columns[b].begin(), line.columns[b].end(), std::byte{0});
            REQUIRE(code.recover((1u << a) | (1u << b), line.pointers, 4096));
            REQUIRE(line.columns == whole);
        }
    CHECK(pairs == 45);
}

} // namespace storlab
