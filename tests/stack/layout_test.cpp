#include "models/raid/layout.hpp"
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

namespace storlab {
namespace {

constexpr RaidLevel every_level[] = {RaidLevel::raid0, RaidLevel::raid1, RaidLevel::raid10,
                                     RaidLevel::raid5, RaidLevel::raid6};
constexpr uint32_t some_chunks[] = {1, 3, 16};

// f(layout) for every level, 2 to 9 members, several chunk sizes; `spare` blocks do not fill a
// chunk.
template <class F> void for_every_layout(F&& f) {
    for (const RaidLevel level : every_level)
        for (uint32_t members = 2; members <= 9; members++)
            for (const uint32_t chunk : some_chunks)
                for (const uint32_t spare : {0u, chunk - 1}) {
                    if (members < Layout::least_members(level)) continue;
                    CAPTURE(static_cast<int>(level), members, chunk, spare);
                    f(Layout(level, members, chunk, 5 * uint64_t{members} * chunk + spare));
                }
}

std::string in_a_row(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& w : words) {
        if (!text.empty()) text += ' ';
        text += w;
    }
    return text;
}
// The members of a row as text: d0, d1, ... for data, P and Q.
std::string row_text(const Layout& l, uint64_t row) {
    std::vector<std::string> member(l.members(), "?");
    for (uint32_t c = 0; c < l.members(); c++) {
        const uint32_t k = l.data_columns();
        std::string name(1, c < k ? 'd' : c == k ? 'P' : 'Q');
        if (c < k) name += std::to_string(row * k + c);
        member[l.column_member(row, c)] = std::move(name);
    }
    return in_a_row(member);
}
// The chunks of a mirrored row: which chunk each member's row holds.
std::vector<std::string> copies_text(const Layout& l, uint64_t rows) {
    std::vector<std::vector<std::string>> at(rows, std::vector<std::string>(l.members(), "-"));
    for (uint64_t chunk = 0; chunk < l.blocks() / l.chunk_blocks(); chunk++)
        for (uint32_t copy = 0; copy < l.copies(); copy++) {
            const Place p = l.place_copy({chunk * l.chunk_blocks()}, copy);
            if (p.row < rows) at[p.row][p.member] = std::to_string(chunk);
        }
    std::vector<std::string> text;
    for (const auto& row : at) text.push_back(in_a_row(row));
    return text;
}

} // namespace

TEST_CASE("every block and copy of an array has a place of its own on a member") {
    for_every_layout([](const Layout& l) {
        std::set<std::pair<uint32_t, uint64_t>> used;
        uint64_t placed = 0;
        for (uint64_t b = 0; b < l.blocks(); b++)
            for (uint32_t copy = 0; copy < l.copies(); copy++, placed++) {
                const Place p = l.place_copy({b}, copy);
                used.insert({p.member, p.at.block});
                REQUIRE(p.member < l.members());
                REQUIRE(p.at.block < l.rows() * l.chunk_blocks());
                REQUIRE(p.row == p.at.block / l.chunk_blocks());
            }
        CHECK(used.size() == placed);
    });
}

TEST_CASE("data, copies and parity together fill the members") {
    for_every_layout([](const Layout& l) {
        const uint64_t rows = l.rows(), members = l.members();
        const uint64_t parity = rows * l.parities() * l.chunk_blocks();
        uint64_t unused = 0; // half a pair of chunks is left at the end of an odd RAID 10
        if (l.level() == RaidLevel::raid10) unused = rows * members % 2 * l.chunk_blocks();
        CHECK(l.blocks() * l.copies() + parity + unused == rows * members * l.chunk_blocks());
    });
}

TEST_CASE("copies of a block are on different members") {
    for_every_layout([](const Layout& l) {
        for (uint64_t b = 0; b < l.blocks(); b++) {
            std::set<uint32_t> members;
            for (uint32_t copy = 0; copy < l.copies(); copy++)
                members.insert(l.place_copy({b}, copy).member);
            REQUIRE(members.size() == l.copies());
        }
    });
}

TEST_CASE("blocks of one chunk are neighbours on one member, and a place says how many follow") {
    for_every_layout([](const Layout& l) {
        for (uint64_t b = 0; b < l.blocks(); b++) {
            const Place p = l.place({b});
            REQUIRE(p.left == l.chunk_blocks() - b % l.chunk_blocks());
            if (p.left == 1) continue;
            const Place next = l.place({b + 1});
            REQUIRE(next.member == p.member);
            REQUIRE(next.at == p.at + 1);
        }
    });
}

TEST_CASE("columns of a row are a permutation of the members, and addresses turn back") {
    for_every_layout([](const Layout& l) {
        if (l.copies() > 1) return;
        for (uint64_t row = 0; row < l.rows(); row++) {
            std::set<uint32_t> members;
            for (uint32_t c = 0; c < l.members(); c++) members.insert(l.column_member(row, c));
            REQUIRE(members.size() == l.members());
        }
        for (uint64_t b = 0; b < l.blocks(); b++) {
            const Place p = l.place({b});
            REQUIRE(l.lba_of(p.at, p.column) == Lba{b});
            REQUIRE(l.column_member(p.row, p.column) == p.member);
        }
    });
}

TEST_CASE("RAID 5 is md's left-symmetric layout") {
    const Layout four(RaidLevel::raid5, 4, 8, 80);
    CHECK(row_text(four, 0) == "d0 d1 d2 P");
    CHECK(row_text(four, 1) == "d4 d5 P d3");
    CHECK(row_text(four, 2) == "d8 P d6 d7");
    CHECK(row_text(four, 3) == "P d9 d10 d11");
    CHECK(row_text(four, 4) == "d12 d13 d14 P");
    const Layout five(RaidLevel::raid5, 5, 8, 80);
    CHECK(row_text(five, 0) == "d0 d1 d2 d3 P");
    CHECK(row_text(five, 1) == "d5 d6 d7 P d4");
    CHECK(row_text(five, 2) == "d10 d11 P d8 d9");
    CHECK(row_text(five, 3) == "d15 P d12 d13 d14");
    CHECK(row_text(five, 4) == "P d16 d17 d18 d19");
    CHECK(row_text(five, 5) == "d20 d21 d22 d23 P");
}

TEST_CASE("RAID 6 is md's left-symmetric layout, Q after P, round the end") {
    const Layout four(RaidLevel::raid6, 4, 8, 80);
    CHECK(row_text(four, 0) == "Q d0 d1 P");
    CHECK(row_text(four, 1) == "d2 d3 P Q");
    CHECK(row_text(four, 2) == "d5 P Q d4");
    CHECK(row_text(four, 3) == "P Q d6 d7");
    const Layout five(RaidLevel::raid6, 5, 8, 80);
    CHECK(row_text(five, 0) == "Q d0 d1 d2 P");
    CHECK(row_text(five, 1) == "d3 d4 d5 P Q");
    CHECK(row_text(five, 2) == "d7 d8 P Q d6");
    CHECK(row_text(five, 3) == "d11 P Q d9 d10");
    CHECK(row_text(five, 4) == "P Q d12 d13 d14");
}

TEST_CASE("RAID 10 near 2 puts copies side by side, and goes round an odd number of members") {
    CHECK(copies_text(Layout(RaidLevel::raid10, 4, 8, 16), 2) ==
          std::vector<std::string>{"0 0 1 1", "2 2 3 3"});
    CHECK(copies_text(Layout(RaidLevel::raid10, 5, 8, 32), 4) ==
          std::vector<std::string>{"0 0 1 1 2", "2 3 3 4 4", "5 5 6 6 7", "7 8 8 9 9"});
    CHECK(copies_text(Layout(RaidLevel::raid10, 3, 8, 24), 3) ==
          std::vector<std::string>{"0 0 1", "1 2 2", "3 3 -"});
}

TEST_CASE("parity moves over all members evenly") {
    for_every_layout([](const Layout& l) {
        if (l.parities() == 0) return;
        std::vector<int> held(l.members());
        for (uint64_t row = 0; row < l.members(); row++)
            for (uint32_t c = l.data_columns(); c < l.members(); c++)
                held[l.column_member(row, c)]++;
        CHECK(held == std::vector<int>(l.members(), static_cast<int>(l.parities())));
    });
}

} // namespace storlab
