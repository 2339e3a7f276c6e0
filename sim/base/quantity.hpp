// Sizes, addresses and rates as types. They multiply only where physics allows:
// Bytes / Rate = Duration, Rate * Duration = Bytes.
#pragma once
#include "sim/base/time.hpp"
#include <compare>
#include <cstdint>

namespace storlab {

class Bytes {
public:
    constexpr Bytes() = default;
    explicit constexpr Bytes(int64_t n) : n_(n) {}
    static constexpr Bytes kib(int64_t n) { return Bytes(n << 10); }
    static constexpr Bytes mib(int64_t n) { return Bytes(n << 20); }
    static constexpr Bytes gib(int64_t n) { return Bytes(n << 30); }

    constexpr int64_t count() const { return n_; }
    constexpr auto operator<=>(const Bytes&) const = default;
    constexpr Bytes operator+(Bytes o) const { return Bytes(n_ + o.n_); }
    constexpr Bytes operator-(Bytes o) const { return Bytes(n_ - o.n_); }
    constexpr Bytes operator*(int64_t k) const { return Bytes(n_ * k); }
    constexpr Bytes operator/(int64_t k) const { return Bytes(n_ / k); }
    constexpr int64_t operator/(Bytes o) const { return n_ / o.n_; }
    constexpr Bytes operator%(Bytes o) const { return Bytes(n_ % o.n_); }
    constexpr Bytes& operator+=(Bytes o) {
        n_ += o.n_;
        return *this;
    }

private:
    int64_t n_ = 0;
};

// Bytes per second.
class Rate {
public:
    constexpr Rate() = default;
    static constexpr Rate bytes_per_second(double r) { return Rate(r); }
    static constexpr Rate bits_per_second(double r) { return Rate(r / 8); }
    constexpr double in_bytes_per_second() const { return r_; }
    constexpr auto operator<=>(const Rate&) const = default;
    constexpr Rate scaled(double factor) const { return Rate(r_ * factor); }

private:
    explicit constexpr Rate(double r) : r_(r) {}
    double r_ = 0;
};
constexpr Duration operator/(Bytes b, Rate r) {
    return Duration::seconds(static_cast<double>(b.count()) / r.in_bytes_per_second());
}

// Operations per second.
class Iops {
public:
    constexpr Iops() = default;
    explicit constexpr Iops(double n) : n_(n) {}
    constexpr double per_second() const { return n_; }
    constexpr auto operator<=>(const Iops&) const = default;

private:
    double n_ = 0;
};

// The address of a block on one device, counted in that device's blocks.
struct Lba {
    uint64_t block = 0;
    constexpr auto operator<=>(const Lba&) const = default;
    constexpr Lba operator+(uint64_t blocks) const { return {block + blocks}; }
    constexpr uint64_t operator-(Lba o) const { return block - o.block; }
};

} // namespace storlab
