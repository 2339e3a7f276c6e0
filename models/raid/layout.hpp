// Where a block of an array lives: Linux md's layouts. Parity rotates to the left by one member a
// row and data follows it round ("left-symmetric"); RAID 6 has Q after P; RAID 10 is "near 2",
// which for an odd number of members is neither stripe nor mirror. Pure arithmetic.
#pragma once
#include "sim/base/quantity.hpp"
#include <cstdint>

namespace storlab {

enum class RaidLevel : uint8_t { raid0, raid1, raid10, raid5, raid6 };

// What keeps parity and data of a line together through a loss of power.
// ppl: RAID 5, up to 33 members; journal: RAID 5 and 6, up to 32
enum class Consistency : uint8_t { none, ppl, journal };

struct Place {
    uint64_t row;    // of chunks
    uint32_t column; // of data within the row
    uint32_t member; // that holds the block (its first copy)
    uint32_t left;   // blocks from here to the end of the chunk
    Lba at;          // on the member
};

class Layout {
public:
    Layout(RaidLevel level, uint32_t members, uint32_t chunk_blocks, uint64_t member_blocks)
        : level_(level), members_(members), chunk_(chunk_blocks),
          rows_(member_blocks / chunk_blocks) {}

    RaidLevel level() const { return level_; }
    uint32_t members() const { return members_; }
    uint32_t chunk_blocks() const { return chunk_; }
    uint32_t parities() const {
        return level_ == RaidLevel::raid5 ? 1 : level_ == RaidLevel::raid6 ? 2 : 0;
    }
    uint32_t copies() const {
        return level_ == RaidLevel::raid1 ? members_ : level_ == RaidLevel::raid10 ? 2 : 1;
    }
    uint32_t data_columns() const { // of a row with parity
        return level_ == RaidLevel::raid1 ? 1 : members_ - parities();
    }
    // The least number of members the level makes sense with.
    static uint32_t least_members(RaidLevel l) {
        return l == RaidLevel::raid6   ? 4
               : l == RaidLevel::raid5 ? 3
               : l == RaidLevel::raid0 ? 1
                                       : 2;
    }
    uint32_t survivable() const { return parities() ? parities() : copies() - 1; }
    uint64_t rows() const { return rows_; }
    uint64_t blocks() const {
        if (level_ == RaidLevel::raid10) return rows_ * members_ / 2 * chunk_;
        return rows_ * data_columns() * chunk_;
    }

    Place place(Lba lba) const { return place_copy(lba, 0); }
    // RAID 1 and 10: the given copy.
    Place place_copy(Lba lba, uint32_t copy) const {
        const uint64_t chunk = lba.block / chunk_;
        const auto offset = static_cast<uint32_t>(lba.block % chunk_);
        uint64_t row;
        uint32_t column, member;
        switch (level_) {
        case RaidLevel::raid1: row = chunk, column = 0, member = copy; break;
        case RaidLevel::raid10:
            row = (chunk * 2 + copy) / members_;
            column = member = static_cast<uint32_t>((chunk * 2 + copy) % members_);
            break;
        default:
            row = chunk / data_columns();
            column = static_cast<uint32_t>(chunk % data_columns());
            member = data_member(row, column);
        }
        return {row, column, member, chunk_ - offset, Lba{row * chunk_ + offset}};
    }
    // Members of a row with parity (or, for RAID 0, without).
    uint32_t parity_member(uint64_t row) const {
        return members_ - 1 - static_cast<uint32_t>(row % members_);
    }
    uint32_t data_member(uint64_t row, uint32_t column) const {
        if (parities() == 0) return column;
        const uint32_t m = parity_member(row) + parities() + column;
        return m >= members_ ? m - members_ : m;
    }
    // Columns 0..k-1 are data, k is P, k+1 is Q.
    uint32_t column_member(uint64_t row, uint32_t column) const {
        if (column < data_columns()) return data_member(row, column);
        const uint32_t m = parity_member(row) + column - data_columns();
        return m >= members_ ? m - members_ : m;
    }
    // The array's address that a member's block is a copy of (RAID 1 and 10).
    Lba copied_lba(uint64_t at, uint32_t member) const {
        if (level_ == RaidLevel::raid1) return {at};
        const uint64_t chunk = (at / chunk_ * members_ + member) / 2;
        return {chunk * chunk_ + at % chunk_};
    }
    // The array's address of a block of a member, given its data column.
    Lba lba_of(Lba at, uint32_t column) const {
        const uint64_t row = at.block / chunk_;
        return {(row * data_columns() + column) * chunk_ + at.block % chunk_};
    }

private:
    RaidLevel level_;
    uint32_t members_, chunk_;
    uint64_t rows_;
};

} // namespace storlab
