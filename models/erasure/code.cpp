#include "models/erasure/code.hpp"
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <isa-l.h>

namespace storlab {

namespace {
constexpr size_t table_bytes = 32; // ISA-L expands a coefficient into this much
uint8_t* bytes_of(std::byte* p) { return reinterpret_cast<uint8_t*>(p); }
} // namespace

ErasureCode::ErasureCode(uint32_t data, uint32_t parities)
    : k_(data), p_(parities), matrix_((data + parities) * data),
      tables_(table_bytes * data * parities) {
    if (data == 0 || parities == 0 || parities > 2 || data + parities > 255) std::abort();
    gf_gen_rs_matrix(matrix_.data(), static_cast<int>(k_ + p_), static_cast<int>(k_));
    ec_init_tables(static_cast<int>(k_), static_cast<int>(p_), &matrix_[k_ * k_], tables_.data());
}

void ErasureCode::encode(std::span<std::byte* const> columns, size_t bytes) const {
    if (p_ == 1) {
        std::memcpy(columns[k_], columns[0], bytes);
        for (uint32_t c = 1; c < k_; c++) xor_into(columns[k_], columns[c], bytes);
        return;
    }
    std::vector<uint8_t*> pointers;
    for (std::byte* c : columns) pointers.push_back(bytes_of(c));
    ec_encode_data(static_cast<int>(bytes), static_cast<int>(k_), static_cast<int>(p_),
                   const_cast<uint8_t*>(tables_.data()), pointers.data(), pointers.data() + k_);
}

void ErasureCode::update(uint32_t parity, uint32_t column, const std::byte* change, std::byte* into,
                         size_t bytes) const {
    if (parity == 0) return xor_into(into, change, bytes); // the first row is all ones
    const uint8_t factor = matrix_[(k_ + parity) * k_ + column];
    for (size_t i = 0; i < bytes; i++)
        into[i] ^= std::byte{gf_mul(factor, static_cast<uint8_t>(change[i]))};
}

bool ErasureCode::recover(uint64_t missing, std::span<std::byte* const> columns,
                          size_t bytes) const {
    std::vector<uint32_t> lost, source;
    for (uint32_t c = 0; c < k_ + p_; c++) {
        if (missing >> c & 1) lost.push_back(c);
        else if (source.size() < k_) source.push_back(c);
    }
    if (lost.size() > p_ || source.size() < k_) return false;
    if (lost.empty()) return true;
    // Rows of the survivors, inverted, give the data; a lost parity is its row times that.
    std::vector<uint8_t> survivors(k_ * k_), inverse(k_ * k_), rows(lost.size() * k_);
    for (uint32_t i = 0; i < k_; i++) std::memcpy(&survivors[i * k_], &matrix_[source[i] * k_], k_);
    if (gf_invert_matrix(survivors.data(), inverse.data(), static_cast<int>(k_)) != 0) return false;
    for (size_t l = 0; l < lost.size(); l++)
        for (uint32_t c = 0; c < k_; c++) {
            uint8_t sum = 0;
            for (uint32_t i = 0; i < k_; i++)
                sum ^= gf_mul(matrix_[lost[l] * k_ + i], inverse[i * k_ + c]);
            rows[l * k_ + c] = sum;
        }
    std::vector<uint8_t> tables(table_bytes * k_ * lost.size());
    ec_init_tables(static_cast<int>(k_), static_cast<int>(lost.size()), rows.data(), tables.data());
    std::vector<uint8_t*> in, out;
    for (const uint32_t c : source) in.push_back(bytes_of(columns[c]));
    for (const uint32_t c : lost) out.push_back(bytes_of(columns[c]));
    ec_encode_data(static_cast<int>(bytes), static_cast<int>(k_), static_cast<int>(lost.size()),
                   tables.data(), in.data(), out.data());
    return true;
}

} // namespace storlab
