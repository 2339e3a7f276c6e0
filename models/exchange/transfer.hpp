// What both ends of an exchange do to messages and debts: copy data between messages and memory,
// and add up what a number of messages cost.
#pragma once
#include "sim/seam/block_device.hpp"
#include <algorithm>

namespace storlab {

// Segments of `r` from block `offset` on: f(bytes of ours, bytes of the message's, count).
template <class F>
void for_each_part(const Request& r, uint32_t offset, uint32_t blocks, uint32_t payload, F&& f) {
    for_each_segment(r, [&](uint32_t at, std::byte* bytes, uint32_t n) {
        const uint32_t first = std::max(at, offset), end = std::min(at + n, offset + blocks);
        if (first >= end) return;
        f(bytes + size_t{first - at} * payload, size_t{first - offset} * payload,
          size_t{end - first} * payload);
    });
}
inline void copy_from(const Request& r, uint32_t offset, uint32_t blocks, uint32_t payload,
                      std::byte* to) {
    for_each_part(r, offset, blocks, payload, [&](const std::byte* ours, size_t at, size_t n) {
        std::memcpy(to + at, ours, n);
    });
}
inline void copy_to(const Request& r, uint32_t offset, uint32_t blocks, uint32_t payload,
                    const std::byte* from) {
    for_each_part(r, offset, blocks, payload,
                  [&](std::byte* ours, size_t at, size_t n) { std::memcpy(ours, from + at, n); });
}

// So many messages with so many bytes between them.
inline void owe_messages(Cpu& cpu, Work& work, Operation op, uint32_t messages, Bytes bytes) {
    if (messages == 0) return;
    cpu.owe_bytes(work, op, bytes);
    if (messages > 1) cpu.owe(work, op, messages - 1);
}

} // namespace storlab
