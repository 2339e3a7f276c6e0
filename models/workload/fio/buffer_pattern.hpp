// The bytes of fio's buffer_pattern: "text", decimal numbers and 0x... one after the other,
// repeated from the start of each buffer. Left out: the contents of a 'file', and formats such as
// %o. Source: fio's manual; how numbers become bytes: fio 3.33 as measured (decimal: little endian
// without leading zero bytes, negative: four bytes; hexadecimal: as written, odd digits get a 0).
#pragma once
#include "sim/base/error.hpp"
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace storlab::fio {

constexpr size_t max_pattern = 512; // bytes, as in fio

std::vector<std::byte> pattern_bytes(std::string_view text, const SourcePlace& where);
void repeat_pattern(std::span<const std::byte> pattern, std::span<std::byte> buffer);

} // namespace storlab::fio
