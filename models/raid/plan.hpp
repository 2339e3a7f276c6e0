// How to change some columns of one parity line: a decision, apart from doing it.
//
//   read-modify-write   read the old data and old parity, add the change
//   reconstruct-write   read the data that stays, compute parity anew (a full line reads nothing)
//   plain-write         no parity is left to keep: write the data
//   recover-write       read every survivor, recover what is lost, then compute parity anew
//
// As md does, whichever of the first two reads less; equal goes to reconstruct-write.
#pragma once
#include <bit>
#include <cstdint>

namespace storlab {

enum class WriteMethod : uint8_t { plain, read_modify, reconstruct, recover, impossible };

struct LineState {
    uint32_t data_columns, parities;
    uint64_t written; // data columns with new contents
    uint64_t missing; // columns that cannot be read
    uint64_t absent;  // those of them that cannot be written either: their member is out
    uint64_t cached;  // columns whose present contents are in memory
};
struct WritePlan {
    WriteMethod method;
    uint64_t read;    // columns to read first
    uint64_t recover; // columns to recover from those
    uint64_t write;   // columns to write, as far as their members exist
};

inline WritePlan plan_write(const LineState& s) {
    const uint64_t data = (uint64_t{1} << s.data_columns) - 1;
    const uint64_t parity = ((uint64_t{1} << s.parities) - 1) << s.data_columns;
    const uint64_t write = s.written | parity;
    const uint64_t missing = s.missing & ~s.cached;  // a lost column in memory is not lost
    const uint64_t live_parity = parity & ~s.absent; // to be kept right, readable or not

    if (!live_parity && !(s.written & s.absent)) return {WriteMethod::plain, 0, 0, s.written};
    const uint64_t modify = (s.written | live_parity) & ~s.cached;
    const bool can_modify = !(modify & missing) && live_parity;
    const uint64_t rebuild = data & ~s.written & ~s.cached;
    const bool can_rebuild = !(rebuild & missing);

    if (can_rebuild && (!can_modify || std::popcount(rebuild) <= std::popcount(modify)))
        return {WriteMethod::reconstruct, rebuild, 0, write};
    if (can_modify) return {WriteMethod::read_modify, modify, 0, s.written | live_parity};
    if (static_cast<uint32_t>(std::popcount(missing)) > s.parities)
        return {WriteMethod::impossible, 0, 0, 0};
    return {WriteMethod::recover, (data | parity) & ~missing & ~s.cached, missing & data, write};
}

} // namespace storlab
