// Contents of a simulated device: a sketch for every block, zero at first; of a large device in
// pages that the system hands out when they are first touched. A sketch is a prefix of the block;
// XOR and Reed-Solomon act byte by byte, so parity code runs on sketches as on whole blocks.
#pragma once
#include "sim/seam/block_device.hpp"
#include <cstddef>

namespace storlab {

class Store {
public:
    Store(uint64_t blocks, uint32_t payload);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    std::byte* at(Lba lba) { return bytes_ + lba.block * payload_; }
    void expect(Lba lba) const { __builtin_prefetch(bytes_ + lba.block * payload_); }
    uint32_t payload() const { return payload_; }
    void read(const Request& r) {
        for_each_segment(r, [&](uint32_t offset, std::byte* to, uint32_t blocks) {
            copy(to, at(r.lba + offset), blocks);
        });
    }
    void write(const Request& r) {
        for_each_segment(r, [&](uint32_t offset, std::byte* from, uint32_t blocks) {
            copy(at(r.lba + offset), from, blocks);
        });
    }

private:
    std::byte* bytes_;
    size_t mapped_ = 0; // 0: from the heap
    uint32_t payload_;

    void copy(std::byte* to, const std::byte* from, uint32_t blocks) const {
        if (blocks == 1 && payload_ == 16) std::memcpy(to, from, 16); // the common case, inlined
        else std::memcpy(to, from, size_t{blocks} * payload_);
    }
};

} // namespace storlab
