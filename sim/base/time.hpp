// Instants and durations on one int64 picosecond grid (reach: 106 days either side of zero).
// They are distinct types so that two instants cannot be added; a bare number never means a time.
// Picoseconds because a byte on a 400 Gbit/s link is 20 ps: nanoseconds would be 2 % off a short
// frame.
#pragma once
#include <compare>
#include <cstdint>

namespace storlab {

class Duration {
public:
    constexpr Duration() = default;
    static constexpr Duration ps(int64_t n) { return Duration(n); }
    static constexpr Duration ns(int64_t n) { return Duration(n * 1000); }
    static constexpr Duration us(int64_t n) { return Duration(n * 1000'000); }
    static constexpr Duration ms(int64_t n) { return Duration(n * 1000'000'000); }
    static constexpr Duration s(int64_t n) { return Duration(n * 1000'000'000'000); }
    // Rounds to the nearest picosecond.
    static constexpr Duration seconds(double s) {
        return Duration(static_cast<int64_t>(s * 1e12 + (s < 0 ? -0.5 : 0.5)));
    }
    static constexpr Duration max() { return Duration(INT64_MAX); }

    constexpr int64_t count_ps() const { return ps_; }
    constexpr int64_t count_ns() const { return ps_ / 1000; }
    constexpr double in_seconds() const { return static_cast<double>(ps_) * 1e-12; }
    constexpr double in_us() const { return static_cast<double>(ps_) * 1e-6; }

    constexpr auto operator<=>(const Duration&) const = default;
    constexpr Duration operator+(Duration o) const { return Duration(ps_ + o.ps_); }
    constexpr Duration operator-(Duration o) const { return Duration(ps_ - o.ps_); }
    constexpr Duration operator*(int64_t n) const { return Duration(ps_ * n); }
    constexpr Duration operator/(int64_t n) const { return Duration(ps_ / n); }
    constexpr double operator/(Duration o) const {
        return static_cast<double>(ps_) / static_cast<double>(o.ps_);
    }
    constexpr Duration& operator+=(Duration o) {
        ps_ += o.ps_;
        return *this;
    }
    constexpr Duration& operator-=(Duration o) {
        ps_ -= o.ps_;
        return *this;
    }
    // A real factor, rounded to the nearest picosecond.
    constexpr Duration scaled(double factor) const { return seconds(in_seconds() * factor); }

private:
    explicit constexpr Duration(int64_t ps) : ps_(ps) {}
    int64_t ps_ = 0;
};

class Instant {
public:
    constexpr Instant() = default;
    static constexpr Instant at(Duration since_start) { return Instant(since_start); }
    static constexpr Instant never() { return Instant(Duration::max()); }

    constexpr Duration since_start() const { return t_; }
    constexpr auto operator<=>(const Instant&) const = default;
    constexpr Instant operator+(Duration d) const { return Instant(t_ + d); }
    constexpr Instant operator-(Duration d) const { return Instant(t_ - d); }
    constexpr Duration operator-(Instant o) const { return t_ - o.t_; }
    constexpr Instant& operator+=(Duration d) {
        t_ += d;
        return *this;
    }

private:
    explicit constexpr Instant(Duration t) : t_(t) {}
    Duration t_;
};

constexpr Instant later(Instant a, Instant b) { return a < b ? b : a; }

} // namespace storlab
