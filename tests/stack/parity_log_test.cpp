// The partial parity log by itself: its format, which entries are replayed, and whose turn it is.
#include "models/raid/parity_log.hpp"
#include "sim/base/random.hpp"
#include "sim/base/task.hpp"
#include <catch2/catch.hpp>
#include <cstring>

namespace storlab::test {
namespace {

using Ring = std::vector<std::byte>; // of one member, as it is on the member

struct Log {
    ParityLog::Shape shape;
    ParityLog log{shape};
    Ring ring = Ring(size_t{log.blocks()} * shape.payload);

    ParityLog::Ticket reserve() {
        ParityLog::Reserve r(log, 0);
        REQUIRE(r.await_ready());
        return r.await_resume();
    }
    // Writes an entry; its first `header` and last `partial` blocks land.
    ParityLog::Ticket write(uint64_t line, uint32_t columns, bool header = true,
                            bool partial = true) {
        ParityLog::Ticket t = reserve();
        for (uint32_t i = 0; i < shape.payload; i++)
            log.partial(t)[i] = static_cast<std::byte>(mix(t.sequence + i));
        log.seal(t, line, columns);
        std::byte* const slot = ring.data() + size_t{log.slot_of(t)} * 2 * shape.payload;
        if (header) std::memcpy(slot, log.header(t), shape.payload);
        if (partial) std::memcpy(slot + shape.payload, log.partial(t), shape.payload);
        return t;
    }
    void done(ParityLog::Ticket t) { log.release(t); }
    std::vector<ParityLog::Entry> entries() const {
        std::vector<ParityLog::Entry> found;
        for (uint32_t slot = 0; slot < shape.slots; slot++)
            if (const auto e = log.read(slot, ring.data() + size_t{slot} * 2 * shape.payload))
                found.push_back(*e);
        return found;
    }
    // Lines that would be replayed after a start now.
    std::vector<uint64_t> replayed() const {
        ParityLog fresh(shape);
        std::vector<uint64_t> lines;
        for (const ParityLog::Entry& e : fresh.unfinished(0, entries())) lines.push_back(e.line);
        return lines;
    }
};
using Lines = std::vector<uint64_t>;

} // namespace

TEST_CASE("an entry is read back as it was written, in a sketch and in a block") {
    const uint32_t payload = GENERATE(16u, 512u, 4096u);
    const uint32_t columns = GENERATE(2u, 7u, 32u);
    Log l{.shape = {1, columns, 3, payload}};
    CHECK(l.entries().empty()); // zeros are no entry
    Random random(1, "entries");
    const uint64_t every = (uint64_t{1} << columns) - 1;
    for (uint64_t i = 0; i < 200; i++) {
        const uint64_t line =
            i % 5 == 0 ? (uint64_t{1} << 40) - 1 : random.below(uint64_t{1} << 40);
        const auto changed = static_cast<uint32_t>(i % 7 == 0 ? every : random.next() & every);
        const auto t = l.write(line, changed);
        const auto found =
            l.log.read(l.log.slot_of(t), l.ring.data() + size_t{l.log.slot_of(t)} * 2 * payload);
        REQUIRE(found);
        CHECK(found->line == line);
        CHECK(found->columns == changed);
        CHECK(found->sequence == t.sequence);
        CHECK(found->whole);
        l.done(t);
    }
}

TEST_CASE("a header with any bit changed is no entry, and a partial parity with one is not whole") {
    Log l{.shape = {1, 4, 1, 16}};
    l.write(12345, 5);
    for (uint32_t bit = 0; bit < 256; bit++) {
        Ring changed = l.ring;
        changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        const auto e = l.log.read(0, changed.data());
        if (bit < 128) CHECK_FALSE(e);
        else CHECK((e && !e->whole));
    }
}

TEST_CASE("of a line's entries only the latest is replayed, and none that another one ousted") {
    Log l{.shape = {1, 4, 4, 16}};
    l.done(l.write(1, 1));
    l.done(l.write(2, 1));
    l.done(l.write(1, 2));
    CHECK(l.replayed() == Lines{2, 1});
    CHECK(l.entries().size() == 3);
    l.done(l.write(3, 1));
    l.done(l.write(4, 1)); // over the first of line 1
    CHECK(l.replayed() == Lines{2, 1, 3, 4});
}

TEST_CASE("an entry that landed in part is not replayed, nor is what its line had before") {
    Log l{.shape = {1, 4, 2, 16}};
    l.done(l.write(1, 1));
    l.done(l.write(2, 1));
    SECTION("the header alone: its line has not been touched since its last change") {
        l.write(2, 2, true, false); // over that of line 1
        CHECK(l.replayed().empty());
    }
    SECTION("the partial parity alone spoils an entry that was done") {
        l.write(5, 2, false, true); // over that of line 1
        CHECK(l.replayed() == Lines{2});
    }
}

// The writes of slot 0 are over, its line is changed by the entry in slot 1, which is over too and
// ousted by a torn one; the entry in slot 0 must not come back.
TEST_CASE("a stale entry does not come back when the later one of its line is torn") {
    for (const bool header : {false, true}) {
        Log l{.shape = {1, 4, 2, 16}};
        l.done(l.write(7, 1));          // sequence 0
        l.done(l.write(7, 2));          // 1
        l.done(l.write(8, 1));          // 2, over 0
        l.write(9, 1, header, !header); // 3, over 1: in part
        for (const uint64_t line : l.replayed()) CHECK(line == 8);
    }
}

TEST_CASE("sequences wrap without harm") {
    const uint32_t slots = GENERATE(1u, 2u, 3u);
    Log l{.shape = {1, 4, slots, 16}};
    for (uint64_t i = 0; i < uint64_t{slots} * (65536 + 3); i++) {
        l.done(l.write(i, 1));
        if (i < 5u * slots || i + 9u * slots > uint64_t{slots} * 65536) {
            const Lines lines = l.replayed();
            REQUIRE(lines.size() == std::min<uint64_t>(i + 1, slots));
            CHECK(lines.back() == i);
            CHECK(lines.front() == i + 1 - lines.size());
        }
    }
}

TEST_CASE("a log goes on after the latest entry it finds") {
    Log l{.shape = {2, 4, 4, 16}};
    for (uint64_t i = 0; i < 6; i++) l.done(l.write(i, 1));
    ParityLog next(l.shape);
    next.unfinished(0, l.entries());
    ParityLog::Reserve r(next, 0), other(next, 1);
    REQUIRE((r.await_ready() && other.await_ready()));
    CHECK(r.await_resume().sequence == 6);
    CHECK(other.await_resume().sequence == 0);
}

TEST_CASE("slots are handed out in order, and who comes later does not overtake") {
    ParityLog log({1, 4, 2, 16});
    std::vector<uint64_t> got;
    std::vector<ParityLog::Ticket> tickets;
    const auto user = [&](uint64_t) -> Task<void> {
        tickets.push_back(co_await ParityLog::Reserve(log, 0));
        got.push_back(tickets.back().sequence);
    };
    for (uint64_t i = 0; i < 5; i++)
        user(i).detach(nullptr, [](void*) { return nothing(); }).resume();
    CHECK(got == Lines{0, 1});
    log.release(tickets[1]); // slot 1 is free, but it is slot 0's turn
    CHECK(got == Lines{0, 1});
    log.release(tickets[0]);
    CHECK(got == Lines{0, 1, 2, 3});
    log.release(tickets[2]);
    CHECK(got == Lines{0, 1, 2, 3, 4});
    log.release(tickets[2]); // no effect a second time
    CHECK(got.size() == 5);
}

} // namespace storlab::test
