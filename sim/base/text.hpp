// Quantities as people write them in a scenario, and as we print them: "64KiB", "2TB", "1.5 ms",
// "16 Gbit/s", "2.3GHz", "28%". Prefixes follow SI and IEC (fio's own swapped ones are read by the
// fio job reader), a unit is never guessed, and decimals are exact: 12.8TB is 12800000000000 bytes.
// A text that is no such quantity is an InputError which shows how to write one.
// Left out on purpose: exponents, signs, digit separators, one-letter units ("64k", "5m").
#pragma once
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace storlab {

struct Hertz {
    double value = 0;
    constexpr auto operator<=>(const Hertz&) const = default;
};

// B kB..EB KiB..EiB and size/s, bit/s..Tbit/s. `usual`: the unit that advice shows, "KiB" of a
// chunk.
Bytes parse_size(std::string_view text, const SourcePlace& place, std::string_view usual = {});
Rate parse_rate(std::string_view text, const SourcePlace& place, std::string_view usual = {});
Duration parse_duration(std::string_view text, const SourcePlace& place); // ps ns us ms s min h d
Iops parse_iops(std::string_view text, const SourcePlace& place);         // "30000 iops"
Hertz parse_frequency(std::string_view text, const SourcePlace& place);   // Hz kHz MHz GHz
int64_t parse_cycles(std::string_view text, const SourcePlace& place);    // "4140 cycles"
double parse_fraction(std::string_view text, const SourcePlace& place);   // "28%" or "0.28", 0 to 1
double parse_factor(std::string_view text, const SourcePlace& place);     // a plain number, "1.25"
// Work on a core, "4140 cycles" at its clock, or a duration that does not depend on it, "1.8us".
Duration parse_cost(std::string_view text, Hertz clock, const SourcePlace& place);
int64_t parse_count(std::string_view text, const SourcePlace& place); // a plain whole number

// 'text' for a message: shortened, control characters shown as '?'.
std::string in_quotes(std::string_view text);
std::string joined(std::span<const std::string> words, std::string_view between = ", ");

// The shortest exact spelling ("64KiB", "12.8TB"), or three digits ("1.23GB") if that is long.
std::string format_size(Bytes size);
std::string format_duration(Duration d); // three digits: "444 us", "1.5 ms", "0.38 s" is "380 ms"
std::string format_rate(Rate rate);      // "3.3 GB/s"
std::string format_count(double n);      // "4.6M", "501k", "12"

} // namespace storlab
