// Every fault shows what it says, and only that, in both worlds.
#include "sim/faults/faulty_device.hpp"
// The stack's test program is not linked with the faults library, so it carries their code itself.
#include "tests/support/worlds.hpp"
#include <catch2/catch.hpp>

namespace storlab::test {
namespace {

// One device, written and read a few blocks at a time; a block's contents are a letter.
template <class World> struct Bench {
    World world;
    BlockDevice& drive = world.add_device(64);
    uint32_t payload = drive.geometry().payload;

    IoStatus command(BlockDevice& d, Op op, uint64_t at, std::string& text) {
        std::vector<std::byte> data(text.size() * payload);
        for (size_t i = 0; i < text.size(); i++)
            std::memset(data.data() + i * payload, text[i], payload);
        const auto task = [&]() -> Task<IoStatus> {
            co_return co_await d.io(op, {at}, static_cast<uint32_t>(text.size()), data.data());
        };
        const auto status = finish(world, task());
        REQUIRE(status);
        for (size_t i = 0; i < text.size(); i++) text[i] = static_cast<char>(data[i * payload]);
        return *status;
    }
    IoStatus write(BlockDevice& d, uint64_t at, std::string text) {
        return command(d, Op::write, at, text);
    }
    IoStatus flush(BlockDevice& d) {
        std::string nothing_moved;
        return command(d, Op::flush, 0, nothing_moved);
    }
    // What is read, or the status if that is not ok.
    std::string read(BlockDevice& d, uint64_t at, uint32_t blocks) {
        std::string text(blocks, '?');
        const IoStatus s = command(d, Op::read, at, text);
        return s == IoStatus::ok ? text : s == IoStatus::failed ? "failed" : "no device";
    }
};

} // namespace

TEMPLATE_TEST_CASE("a lost write is acknowledged and leaves the old data", "", SimWorld,
                   FileWorld) {
    Bench<TestType> b;
    LostWrites d(b.drive, {.first = 2, .every = 3});
    for (uint64_t i = 0; i < 6; i++) REQUIRE(b.write(b.drive, i, "-") == IoStatus::ok);
    for (uint64_t i = 0; i < 6; i++) REQUIRE(b.write(d, i, "x") == IoStatus::ok);
    CHECK(b.read(d, 0, 6) == "x-xx-x"); // the second, the fifth
    CHECK(d.hits() == 2);
}

TEMPLATE_TEST_CASE(
    "stale reads return what was there before the latest write, within the range only", "",
    SimWorld, FileWorld) {
    Bench<TestType> b;
    b.write(b.drive, 0, "aaaa");
    StaleReads d(b.drive, {.first = 1, .blocks = 2});
    CHECK(b.read(d, 0, 4) == "aaaa");
    b.write(d, 0, "bbbb");
    CHECK(b.read(d, 0, 4) == "baab");
    b.write(d, 2, "cc");
    CHECK(b.read(d, 0, 4) == "babc");
    CHECK(b.read(b.drive, 0, 4) == "bbcc");
    CHECK(d.hits() == 4);
}

TEMPLATE_TEST_CASE("a delayed device answers no sooner than its delay, with the right data", "",
                   SimWorld, FileWorld) {
    Bench<TestType> b;
    DelayedDevice d(b.drive, b.world.clock(),
                    {.least = Duration::ms(3), .spread = Duration::ms(2)});
    const Instant start = b.world.clock().now();
    b.write(d, 5, "ab");
    CHECK(b.read(d, 5, 2) == "ab");
    const Duration taken = b.world.clock().now() - start;
    CHECK(taken >= Duration::ms(6));
    d.set({}, {});
    CHECK(b.read(d, 5, 2) == "ab");
    CHECK(d.hits() == 2);
}

TEMPLATE_TEST_CASE("unreadable sectors fail reads that touch them until they are written", "",
                   SimWorld, FileWorld) {
    Bench<TestType> b;
    b.write(b.drive, 0, "abcdef");
    UnreadableSectors d(b.drive, {.where = {.first = 2, .blocks = 2}});
    CHECK(b.read(d, 0, 2) == "ab");
    CHECK(b.read(d, 1, 2) == "failed");
    CHECK(b.read(d, 3, 1) == "failed");
    CHECK(b.read(d, 4, 2) == "ef");
    b.write(d, 3, "x");
    CHECK(b.read(d, 3, 1) == "x");
    CHECK(b.read(d, 2, 1) == "failed");
    CHECK(d.hits() == 3);
}

TEMPLATE_TEST_CASE("sectors that fail once are readable the next time", "", SimWorld, FileWorld) {
    Bench<TestType> b;
    b.write(b.drive, 0, "abcd");
    UnreadableSectors d(b.drive, {.where = {.first = 1, .blocks = 1}, .times = 1});
    CHECK(b.read(d, 1, 1) == "failed");
    CHECK(b.read(d, 1, 1) == "b");
}

TEMPLATE_TEST_CASE(
    "devices on one supply die together after so many commands, and carry out no more", "",
    SimWorld, FileWorld) {
    Bench<TestType> b;
    BlockDevice& other = b.world.add_device(64);
    PowerSupply supply{.commands_left = 3};
    PoweredDevice first(b.drive, supply), second(other, supply);
    CHECK(b.write(first, 0, "a") == IoStatus::ok);
    CHECK(b.write(second, 0, "b") == IoStatus::ok);
    CHECK(b.write(first, 1, "c") == IoStatus::ok);
    CHECK(b.write(second, 1, "d") == IoStatus::no_device);
    CHECK(b.write(first, 0, "e") == IoStatus::no_device);
    CHECK(b.read(first, 0, 2) == "no device");
    CHECK(b.flush(second) == IoStatus::no_device);
    CHECK(b.read(b.drive, 0, 2) == "ac");
    CHECK(b.read(other, 0, 1) == "b");
    CHECK(b.read(other, 1, 1) != "d");
}

TEMPLATE_TEST_CASE("a command on its way when the power goes is answered with no device", "",
                   SimWorld, FileWorld) {
    Bench<TestType> b;
    PowerSupply supply;
    PoweredDevice d(b.drive, supply);
    std::vector<std::byte> data(b.payload);
    const auto task = [&]() -> Task<IoStatus> {
        Io io = d.write({0}, 1, data.data());
        struct Cut { // the command is issued, then the power goes
            Io& io;
            PowerSupply& supply;
            bool await_ready() const { return false; }
            Handle await_suspend(Handle h) {
                io.await_suspend(h).resume();
                supply.off = true;
                return nothing();
            }
            IoStatus await_resume() const { return io.status; }
        };
        co_return co_await Cut{io, supply};
    };
    CHECK(finish(b.world, task()) == IoStatus::no_device);
}

TEMPLATE_TEST_CASE("a lingering write lands again after a newer one that overlaps it", "", SimWorld,
                   FileWorld) {
    Bench<TestType> b;
    LingeringWrites d(b.drive, {.first = 1});
    b.write(d, 0, "aaa");
    b.write(d, 10, "x"); // elsewhere
    CHECK(b.read(d, 0, 3) == "aaa");
    b.write(d, 1, "bbb");
    CHECK(b.read(d, 0, 4) == "aaab"); // not "abbb"
    CHECK(b.read(d, 10, 1) == "x");
    CHECK(d.hits() == 1);
    b.write(d, 1, "ccc"); // once is enough
    CHECK(b.read(d, 0, 4) == "accc");
}

TEMPLATE_TEST_CASE("faults stack", "", SimWorld, FileWorld) {
    Bench<TestType> b;
    LostWrites lost(b.drive, {.first = 2});
    UnreadableSectors d(lost, {.where = {.first = 0, .blocks = 1}});
    b.write(d, 0, "a");
    b.write(d, 1, "b");
    CHECK(b.read(d, 0, 1) == "a"); // healed by the write
    CHECK(b.read(d, 1, 1) != "b");
    CHECK(lost.hits() == 1);
}

} // namespace storlab::test
