// Systematic Reed-Solomon over GF(2^8) with k data and p parity columns; one parity is XOR, two are
// RAID 6's P and Q (H. P. Anvin, "The mathematics of RAID-6": P = sum d_i, Q = sum 2^i d_i).
// Acts byte by byte, so it holds on any prefix of the columns. ISA-L does the arithmetic.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace storlab {

inline void xor_into(std::byte* into, const std::byte* from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) into[i] ^= from[i];
}

class ErasureCode {
public:
    // k + p <= 255; p = 1 or 2 (more than two Vandermonde rows are not MDS for every k).
    ErasureCode(uint32_t data, uint32_t parities);
    uint32_t data() const { return k_; }
    uint32_t parities() const { return p_; }

    // columns[0..k-1] are read, columns[k..k+p-1] written; each of `bytes` bytes.
    void encode(std::span<std::byte* const> columns, size_t bytes) const;
    // Adds the change of one data column (old XOR new) to a parity.
    void update(uint32_t parity, uint32_t column, const std::byte* change, std::byte* into,
                size_t bytes) const;
    // Recovers the columns in `missing` from the others (bit c: column c). False if more are
    // missing than there are parities.
    bool recover(uint64_t missing, std::span<std::byte* const> columns, size_t bytes) const;

private:
    uint32_t k_, p_;
    std::vector<uint8_t> matrix_; // (k+p) x k, identity on top
    std::vector<uint8_t> tables_; // ISA-L's expansion of the parity rows
};

} // namespace storlab
