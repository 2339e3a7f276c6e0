// The journal by itself: its format, what a scan of it finds, in which order and when entries
// count.
#include "models/raid/journal.hpp"
#include "sim/faults/faulty_device.hpp"
#include "tests/support/array_under_test.hpp"
#include <deque>
#include <set>

namespace storlab::test {
namespace {

// Holds back commands until told; says what is there.
class Gate final : public DeviceFilter {
public:
    using DeviceFilter::DeviceFilter;
    Handle submit(Request& r) override {
        if (broken) return r.finish(IoStatus::failed);
        for (uint32_t b = 0; r.op == Op::read && b < r.blocks; b++)
            if (unreadable.contains(r.lba.block + b)) return r.finish(IoStatus::failed);
        if (!closed || r.op == Op::read) return inner_.submit(r);
        held.push_back(&r);
        return nothing();
    }
    void pass(size_t which) {
        Request* const r = held[which];
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        inner_.submit(*r).resume();
    }
    void open() {
        closed = false;
        while (!held.empty()) pass(0);
    }
    std::vector<Request*> held;
    std::set<uint64_t> unreadable;
    bool closed = false, broken = false;
};

struct Log {
    SimWorld world;
    uint32_t columns = 4;
    MemoryDevice drive;
    Gate gate{drive};
    uint64_t settled = 0, lost = 0;
    std::vector<uint64_t> applied = {};
    bool refuse = false;
    std::vector<std::byte> memory;
    std::unique_ptr<Journal> journal;

    explicit Log(uint64_t blocks, uint32_t payload = 16, uint32_t n = 4)
        : columns(n), drive(world.clock(), {.blocks = blocks, .payload = payload}),
          memory(size_t{n} * payload) {
        start();
    }
    void start() {
        journal = std::make_unique<Journal>(
            gate, columns,
            Journal::Hooks{[this] { return settle(); },
                           [this](const Journal::Entry& e) { return apply(e); },
                           [this] { lost++; }});
    }
    Task<void> settle() {
        settled++;
        co_return;
    }
    Task<bool> apply(const Journal::Entry& e) {
        if (refuse) co_return false;
        applied.push_back(e.line);
        std::memcpy(memory.data(), e.pages, memory.size());
        co_return true;
    }
    static void pattern(std::vector<std::byte>& pages, uint64_t line) {
        for (size_t i = 0; i < pages.size(); i++) pages[i] = static_cast<std::byte>(mix(line + i));
    }
    struct Writer {
        std::vector<std::byte> pages;
        Journal::Ticket ticket;
        std::optional<bool> logged;
    };
    std::deque<Writer> writers;
    // An entry under way; its outcome is in the writer.
    Writer& write(uint64_t line, uint32_t mask) {
        Writer& w = writers.emplace_back();
        w.pages.resize(memory.size());
        pattern(w.pages, line);
        journal->append({line, mask, w.pages.data()}, w.ticket)
            .detach(&w,
                    [](void* c, bool logged) {
                        static_cast<Writer*>(c)->logged = logged;
                        return nothing();
                    })
            .resume();
        return w;
    }
    void wrote(uint64_t line, uint32_t mask, bool done = false) {
        Writer& w = write(line, mask);
        world.run();
        REQUIRE(w.logged == true);
        if (done) release(w);
    }
    void release(Writer& w) {
        journal->release(w.ticket);
        world.run();
    }
    // As after a loss of power.
    Journal::Found recover() {
        applied.clear();
        start();
        const auto found = finish(world, journal->recover());
        REQUIRE(found);
        return *found;
    }
};
using Lines = std::vector<uint64_t>;

} // namespace

TEST_CASE("a journal's entry comes back as it was written, in a sketch and in a block") {
    const uint32_t payload = GENERATE(16u, 512u, 4096u);
    const uint32_t columns = GENERATE(3u, 7u, 32u);
    Log l(Journal::least_blocks(columns), payload, columns);
    Random random(payload, "entries");
    const uint64_t every = (uint64_t{1} << columns) - 1;
    std::vector<std::byte> expected(l.memory.size());
    for (uint64_t i = 0; i < 60; i++) {
        const uint64_t line =
            i % 5 == 0 ? (uint64_t{1} << 40) - 1 - i : random.below(uint64_t{1} << 40);
        const auto mask = static_cast<uint32_t>(i % 7 == 0 ? every : random.next() & every);
        if (mask == 0) continue;
        l.wrote(line, mask);
        const Journal::Found found = l.recover();
        CHECK(found.entries == 1);
        REQUIRE(l.applied == Lines{line});
        Log::pattern(expected, line);
        for (uint32_t c = 0; c < columns; c++)
            if (mask >> c & 1)
                CHECK(std::memcmp(l.memory.data() + size_t{c} * payload,
                                  expected.data() + size_t{c} * payload, payload) == 0);
        CHECK(l.recover().entries == 0); // and it is not there twice
    }
}

TEST_CASE("an entry with any bit changed ends the scan, and what precedes it is applied") {
    Log l(100);
    l.wrote(5, 3);
    l.wrote(6, 5); // meta and pages in blocks 5, 6 and 7 of the device
    l.wrote(7, 3);
    const std::vector<std::byte> before(l.drive.peek(0), l.drive.peek(0) + 100 * 16);
    const auto lines_with = [&](size_t bit) {
        std::memcpy(l.drive.peek(0), before.data(), before.size());
        *(l.drive.peek(5) + bit / 8) ^= static_cast<std::byte>(1u << bit % 8);
        l.recover();
        return l.applied;
    };
    for (size_t bit = 0; bit < 3 * 128; bit++) REQUIRE(lines_with(bit) == Lines{5});
    REQUIRE(lines_with(3 * 128) == Lines{5, 6});
}

TEST_CASE("a damaged checkpoint leaves the log to the one before") {
    Log l(100);
    l.wrote(1, 3);                   // the life begins with a checkpoint
    CHECK(l.recover().entries == 1); // and the next one with the other
    l.wrote(2, 3);
    const std::vector<std::byte> before(l.drive.peek(0), l.drive.peek(0) + 100 * 16);
    CHECK(l.recover().entries == 1);
    for (size_t bit = 0; bit < 128; bit++)
        for (const uint64_t block : {0, 1}) {
            std::memcpy(l.drive.peek(0), before.data(), before.size());
            l.drive.peek(block)[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
            l.recover();
            // The older one speaks of the life before, with its entry still there.
            REQUIRE((l.applied == Lines{2} || l.applied == Lines{1}));
        }
}

// Entry 2 is torn and 3 and 4 are whole. In the next life an entry as long as 2 takes its place.
TEST_CASE("what lay beyond a torn entry stays dead when the hole is filled") {
    Log l(100);
    for (const uint64_t line : {1, 2, 3, 4}) l.wrote(line, 3);
    l.drive.peek(2 + 3)[3] ^= std::byte{1}; // of the second entry
    CHECK(l.recover().entries == 1);
    l.wrote(9, 3);
    CHECK(l.recover().entries == 1);
    CHECK(l.applied == Lines{9});
}

TEST_CASE("a journal that was some other array's is not believed without recovery") {
    Log l(100);
    for (const uint64_t line : {1, 2, 3}) l.wrote(line, 3);
    l.start(); // nobody asks for recovery
    l.wrote(7, 3);
    l.recover();
    CHECK(l.applied == Lines{7});
}

TEST_CASE("an entry counts only when it is flushed, and all that precede it") {
    Log l(100);
    l.wrote(0, 1, true);
    l.gate.closed = true;
    Log::Writer &a = l.write(1, 3), &b = l.write(2, 3), &c = l.write(3, 3);
    REQUIRE(l.gate.held.size() == 3);
    l.gate.pass(1); // the second lands first
    l.world.run();
    CHECK(l.gate.held.size() == 2); // no flush yet
    l.gate.pass(0);
    l.world.run();
    REQUIRE(l.gate.held.size() == 2);
    CHECK(l.gate.held[1]->op == Op::flush);
    CHECK((!a.logged && !b.logged));
    l.gate.pass(0); // the third lands, after the flush began
    l.world.run();
    REQUIRE(l.gate.held.size() == 1);
    l.gate.pass(0);
    l.world.run();
    CHECK((a.logged == true && b.logged == true));
    CHECK_FALSE(c.logged);
    REQUIRE(l.gate.held.size() == 1); // one of its own
    CHECK(l.gate.held[0]->op == Op::flush);
    l.gate.open();
    l.world.run();
    CHECK(c.logged == true);
}

TEST_CASE("a full log takes entries again, in order of arrival, as the oldest are done") {
    Log l(Journal::least_blocks(4)); // a ring of 40 blocks: 8 entries of 5
    std::vector<Log::Writer*> w;
    for (uint64_t i = 0; i < 11; i++) {
        w.push_back(&l.write(i, 15));
        l.world.run();
    }
    const auto logged = [&] {
        return std::count_if(w.begin(), w.end(), [](const auto* x) { return x->logged == true; });
    };
    CHECK(logged() == 8);
    l.release(*w[1]); // not the oldest
    CHECK(logged() == 8);
    const uint64_t settled = l.settled;
    l.release(*w[0]);
    CHECK(l.settled == settled + 1); // members have flushed before their entries are given up
    CHECK(logged() == 10);
    CHECK_FALSE(w[10]->logged);
    l.release(*w[2]);
    CHECK(logged() == 11);
    CHECK(l.recover().entries == 8);
    CHECK(l.applied == Lines{3, 4, 5, 6, 7, 8, 9, 10});
}

TEST_CASE("a log that wraps many times holds what is not done, wherever it lies") {
    for (const uint64_t extra : {0, 1, 2, 3, 11}) {
        Log l(Journal::least_blocks(4) + extra);
        Random random(extra, "wraps");
        std::deque<std::pair<uint64_t, Log::Writer*>> open;
        for (uint64_t i = 0; i < 3000; i++) {
            Log::Writer& w = l.write(i, 1 + static_cast<uint32_t>(random.below(15)));
            l.world.run();
            open.push_back({i, &w});
            REQUIRE(w.logged == true);
            if (open.size() > 1 + random.below(6)) {
                l.release(*open.front().second);
                open.pop_front();
            }
            if (i % 50 != 49) continue;
            REQUIRE(l.recover().entries >= open.size());
            const Lines tail(l.applied.end() - static_cast<std::ptrdiff_t>(open.size()),
                             l.applied.end());
            Lines expected;
            for (const auto& [line, writer] : open) expected.push_back(line);
            REQUIRE(tail == expected);
            for (size_t n = 1; n < l.applied.size(); n++)
                REQUIRE(l.applied[n] == l.applied[n - 1] + 1);
            open.clear(); // another life
        }
        CHECK(l.journal->checkpoints_written() > 0);
        CHECK(l.settled > 100);
    }
}

TEST_CASE("when the device fails nothing is logged any more, and nobody waits") {
    Log l(Journal::least_blocks(4));
    std::vector<Log::Writer*> w;
    for (uint64_t i = 0; i < 12; i++) w.push_back(&l.write(i, 15)); // some wait for room
    l.world.run();
    auto drained = l.journal->drain();
    std::optional<bool> drain;
    std::move(drained)
        .detach(&drain,
                [](void* c, bool ok) {
                    *static_cast<std::optional<bool>*>(c) = ok;
                    return nothing();
                })
        .resume();
    l.gate.broken = true;
    l.release(*w[0]); // which asks for a checkpoint
    CHECK(l.journal->failed());
    CHECK(l.lost == 1);
    CHECK(drain == false);
    for (uint64_t i = 0; i < 12; i++) CHECK(w[i]->logged == (i < 8));
    CHECK(l.write(20, 1).logged == false);
    for (auto* x : w) l.release(*x); // no harm
    l.gate.broken = false;
    CHECK(l.recover().entries == 8); // nothing was given up
}

TEST_CASE("draining gives up all entries there are, and waits for those under way") {
    Log l(400);
    l.wrote(1, 3, true);
    Log::Writer& a = l.write(2, 3);
    l.world.run();
    std::optional<bool> drain;
    l.journal->drain()
        .detach(&drain,
                [](void* c, bool ok) {
                    *static_cast<std::optional<bool>*>(c) = ok;
                    return nothing();
                })
        .resume();
    l.world.run();
    CHECK_FALSE(drain);
    l.wrote(3, 3); // later than that
    l.release(a);
    CHECK(drain == true);
    l.recover();
    CHECK(l.applied == Lines{3});
}

TEST_CASE("a log of which a part cannot be read is not applied at all") {
    Log l(100);
    for (const uint64_t line : {1, 2, 3}) l.wrote(line, 3);
    const uint64_t block = GENERATE(0u, 1u, 2u, 5u, 6u, 10u);
    l.gate.unreadable = {block};
    const Journal::Found found = l.recover();
    CHECK(found.unreadable == 1);
    CHECK(found.applied == 0);
    CHECK(l.applied.empty());
    CHECK_FALSE(l.journal->failed());
    l.gate.unreadable.clear();
    l.wrote(4, 3); // it goes on
    l.recover();
    CHECK(l.applied == Lines{4});
}

TEST_CASE("a journal none of whose checkpoints can be read takes no entries") {
    Log l(100);
    for (const uint64_t line : {1, 2}) l.wrote(line, 3);
    l.gate.unreadable = {0, 1};
    CHECK(l.recover().unreadable == 1);
    CHECK(l.lost == 1);
    CHECK(l.write(4, 3).logged == false);
    l.gate.unreadable.clear();
    l.recover();
    CHECK(l.applied == Lines{1, 2});
}

TEST_CASE("what the array cannot take stays in the log") {
    Log l(100);
    for (const uint64_t line : {1, 2, 3}) l.wrote(line, 3);
    l.refuse = true;
    CHECK(l.recover().applied == 0);
    CHECK(l.write(4, 3).logged == false);
    l.refuse = false;
    CHECK(l.recover().applied == 3);
    CHECK(l.applied == Lines{1, 2, 3});
}

} // namespace storlab::test
