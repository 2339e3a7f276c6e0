// Integers in byte strings, and bytes that come in pieces of any size. For codecs: what arrives
// from a network is not to be trusted, so nothing here reads beyond what is there.
#pragma once
#include "sim/base/error.hpp"
#include "sim/seam/codec.hpp"
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace storlab {

// NVMe is little-endian, SCSI and iSCSI are big-endian.
template <size_t n> void put_little(std::byte* at, uint64_t v) {
    for (size_t i = 0; i < n; i++) at[i] = static_cast<std::byte>(v >> 8 * i & 0xff);
}
template <size_t n> void put_big(std::byte* at, uint64_t v) {
    for (size_t i = 0; i < n; i++) at[n - 1 - i] = static_cast<std::byte>(v >> 8 * i & 0xff);
}
template <size_t n> uint64_t get_little(const std::byte* at) {
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;) v = v << 8 | std::to_integer<uint64_t>(at[i]);
    return v;
}
template <size_t n> uint64_t get_big(const std::byte* at) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v = v << 8 | std::to_integer<uint64_t>(at[i]);
    return v;
}
inline uint8_t get_byte(const std::byte* at) { return std::to_integer<uint8_t>(*at); }
inline void put_byte(std::byte* at, uint32_t v) { *at = static_cast<std::byte>(v & 0xff); }

// Room for n bytes of zero at the end of `out`.
inline std::byte* extend(std::vector<std::byte>& out, size_t n) {
    out.resize(out.size() + n);
    return out.data() + (out.size() - n);
}

// What has arrived and was not yet decoded.
class Inbox {
public:
    void feed(const std::byte* bytes, size_t n) {
        if (head_ > 0 && head_ >= bytes_.size() / 2) { // what is left moves once, not every time
            bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(head_));
            head_ = 0;
        }
        bytes_.insert(bytes_.end(), bytes, bytes + n);
    }
    size_t size() const { return bytes_.size() - head_; }
    const std::byte* data() const { return bytes_.data() + head_; }
    void take(size_t n) {
        STORLAB_ENSURE(n <= size());
        head_ += n;
        if (head_ == bytes_.size()) bytes_.clear(), head_ = 0;
    }

private:
    std::vector<std::byte> bytes_;
    size_t head_ = 0;
};

} // namespace storlab
