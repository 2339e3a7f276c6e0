// Numbers in fio job files. They are not SI/IEC: with fio's default kb_base=1024, 4k, 4kb and 4K
// are 4096, and 4KiB is 4000. The manual says the same of a bare 4Ki, but the program (fio 3.33,
// measured with --debug=parse) looks for the whole word "kib" and takes 4Ki for 4096; we follow the
// program and tell the caller. kb_base=1000 gives SI/IEC, except that 4Ki is then 4000.
// Stricter than fio, which reads "1.5m" as 1 byte, "2sec" as 2 us and "4x" as 4: those are errors.
#pragma once
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include <cstdint>
#include <string>
#include <string_view>

namespace storlab::fio {

enum class KbBase { k1000, k1024 };

// What was written, as a message shows it: in quotes, cut short.
std::string quoted(std::string_view text);

struct Number {
    int64_t value = 0;
    std::string note; // not empty: the manual and the program read this text differently
};
// A size or a count: decimal or 0x, then an optional suffix: b, or k m g t p with i, b or ib.
Number parse_number(std::string_view text, const SourcePlace& where, KbBase base);
// A time without suffix counts in `unit`; the suffixes are d h m s ms msec us usec.
Duration parse_time(std::string_view text, const SourcePlace& where, Duration unit);
// A whole number of percent, 0 to 100, without a % sign, which fio takes only in sizes.
int parse_percent(std::string_view text, const SourcePlace& where);
// A decimal number such as the 1.2 of zipf:1.2.
double parse_real(std::string_view text, const SourcePlace& where);

} // namespace storlab::fio
