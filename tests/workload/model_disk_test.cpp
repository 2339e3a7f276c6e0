// The judge of all other code is judged here: what it must accept and what it must not.
#include "models/workload/model_disk.hpp"
#include <catch2/catch.hpp>

using namespace storlab;

namespace {
constexpr uint32_t payload = 16;
struct Sector {
    std::byte bytes[payload];
    void hold(uint64_t sector, uint32_t version) { fill_sector(bytes, payload, sector, version); }
};
// The disk under test holds one sector; versions are given in order of begin_write.
struct Fixture {
    ModelDisk disk{8, payload, ModelDisk::Start::filled};
    bool read_returns(const Sector& s, const ModelDisk::ReadMark& mark) {
        return disk.end_read(3, 1, s.bytes, mark) == 0;
    }
    bool reads(uint32_t version) {
        ModelDisk::ReadMark mark;
        disk.begin_read(3, 1, mark);
        Sector s;
        s.hold(3, version);
        return read_returns(s, mark);
    }
};
} // namespace

TEST_CASE("a new volume holds version 0, and nothing else is accepted") {
    Fixture f;
    CHECK(f.reads(0));
    CHECK_FALSE(f.reads(1));
    Sector other;
    other.hold(4, 0); // another sector's contents: a misdirected read
    ModelDisk::ReadMark mark;
    f.disk.begin_read(3, 1, mark);
    CHECK_FALSE(f.read_returns(other, mark));
    CHECK(f.disk.mismatches() == 2);
    CHECK(f.disk.first_mismatches().size() == 2);
}

TEST_CASE("a read counts once, however large and however wrong") {
    Fixture f;
    ModelDisk::ReadMark mark;
    std::vector<std::byte> zeros(4 * payload, std::byte{0x55});
    f.disk.begin_read(2, 4, mark);
    CHECK(f.disk.end_read(2, 4, zeros.data(), mark) == 4);
    CHECK(f.disk.verified() == 1);
    CHECK(f.disk.mismatches() == 1);
    CHECK(f.disk.first_mismatches().size() == 4);
}

TEST_CASE("an acknowledged write is all a later read may see") {
    Fixture f;
    Sector w;
    f.disk.begin_write(3, 1, w.bytes);
    CHECK(f.reads(0)); // in flight: old or new
    CHECK(f.reads(1));
    f.disk.end_write(3, 1, w.bytes, true);
    CHECK_FALSE(f.reads(0)); // a lost write, or stale data
    CHECK(f.reads(1));
}

TEST_CASE("a read may return any version that was current while it was under way") {
    Fixture f;
    ModelDisk::ReadMark mark;
    f.disk.begin_read(3, 1, mark);
    for (int i = 0; i < 3; i++) {
        Sector w;
        f.disk.begin_write(3, 1, w.bytes);
        f.disk.end_write(3, 1, w.bytes, true);
    }
    for (uint32_t v = 0; v <= 3; v++) {
        Sector s;
        s.hold(3, v);
        CHECK(f.read_returns(s, mark));
    }
    Sector future;
    future.hold(3, 4);
    CHECK_FALSE(f.read_returns(future, mark));
}

TEST_CASE("overlapping writes may land in either order, but later reads agree") {
    for (const uint32_t seen : {1u, 2u}) {
        Fixture f;
        Sector a, b;
        f.disk.begin_write(3, 1, a.bytes);
        f.disk.begin_write(3, 1, b.bytes);
        f.disk.end_write(3, 1, a.bytes, true);
        f.disk.end_write(3, 1, b.bytes, true);
        CHECK_FALSE(f.reads(0));
        CHECK(f.reads(seen));
        CHECK(f.reads(seen));
        CHECK_FALSE(f.reads(3 - seen)); // the other one now would be a change of mind
        CHECK(f.disk.overlaps() == 1);
    }
}

TEST_CASE("an older write does not win over one issued after it was done") {
    Fixture f;
    Sector a, b, c;
    f.disk.begin_write(3, 1, a.bytes); // a and b overlap, c comes after both
    f.disk.begin_write(3, 1, b.bytes);
    f.disk.end_write(3, 1, b.bytes, true);
    f.disk.end_write(3, 1, a.bytes, true);
    f.disk.begin_write(3, 1, c.bytes);
    CHECK(f.reads(1));
    f.disk.end_write(3, 1, c.bytes, true);
    CHECK_FALSE(f.reads(1));
    CHECK_FALSE(f.reads(2));
    CHECK(f.reads(3));
}

TEST_CASE("a write that failed may be there or not, for ever") {
    Fixture f;
    Sector w;
    f.disk.begin_write(3, 1, w.bytes);
    f.disk.end_write(3, 1, w.bytes, false);
    CHECK(f.reads(0));
    CHECK(f.reads(1));
    CHECK_FALSE(f.reads(2));
    Sector next;
    f.disk.begin_write(3, 1, next.bytes);
    f.disk.end_write(3, 1, next.bytes, true);
    CHECK(f.reads(2));
    CHECK_FALSE(f.reads(0));
}

TEST_CASE("a new file is a volume of zeros") {
    ModelDisk disk(8, payload, ModelDisk::Start::zeros);
    ModelDisk::ReadMark mark;
    disk.begin_read(3, 1, mark);
    std::byte zeros[payload]{};
    CHECK(disk.end_read(3, 1, zeros, mark) == 0);
    zeros[7] = std::byte{1};
    disk.begin_read(3, 1, mark);
    CHECK(disk.end_read(3, 1, zeros, mark) == 1);
}

TEST_CASE("a read may return what was there when it was issued, whatever has overlapped since") {
    Fixture f;
    Sector first, second, third, fourth;
    ModelDisk::ReadMark mark;
    f.disk.begin_write(3, 1, first.bytes);
    f.disk.begin_read(3, 1, mark); // sees version 0, and is long under way
    f.disk.begin_write(3, 1, second.bytes);
    f.disk.end_write(3, 1, second.bytes, true);
    f.disk.end_write(3, 1, first.bytes, true);
    CHECK(f.reads(2)); // settles which of the two it was
    Sector settled;
    f.disk.begin_write(3, 1, settled.bytes);
    f.disk.end_write(3, 1, settled.bytes, true); // one version again
    f.disk.begin_write(3, 1, third.bytes);
    f.disk.begin_write(3, 1, fourth.bytes); // and several once more
    Sector old;
    old.hold(3, 0);
    CHECK(f.read_returns(old, mark));
    CHECK_FALSE(f.reads(0)); // who asks now may not
    CHECK_FALSE(f.reads(2));
    CHECK(f.reads(3));
}
