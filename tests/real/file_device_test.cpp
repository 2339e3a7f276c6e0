#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/real/file_device.hpp"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdlib.h>

namespace storlab {
namespace {

namespace fs = std::filesystem;

struct Folder {
    fs::path path;
    Folder() {
        std::string pattern = fs::temp_directory_path() / "storlab-file-XXXXXX";
        REQUIRE(::mkdtemp(pattern.data()));
        path = pattern;
    }
    ~Folder() { fs::remove_all(path); }
    std::string file(const std::string& name) const { return path / name; }
};

template <class T> T finish(RealWorld& world, Task<T> task) {
    std::optional<T> result;
    std::move(task)
        .detach(&result,
                [](void* c, T value) {
                    *static_cast<std::optional<T>*>(c) = value;
                    return nothing();
                })
        .resume();
    world.run();
    REQUIRE(result);
    return *result;
}
Task<IoStatus> command(BlockDevice& d, Op op, uint64_t at, uint32_t blocks, std::byte* data) {
    co_return co_await d.io(op, {at}, blocks, data);
}
Task<IoStatus> scattered(BlockDevice& d, Op op, uint64_t at, uint32_t blocks,
                         const std::vector<Segment>& pieces) {
    co_return co_await Io(&d, op, {at}, blocks, pieces.data(),
                          static_cast<uint32_t>(pieces.size()));
}

std::vector<std::byte> random_bytes(size_t n, uint64_t seed) {
    Random random(seed, "file device test");
    std::vector<std::byte> bytes(n);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
    return bytes;
}
std::vector<std::byte> contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<std::byte> bytes(fs::file_size(path));
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}
std::string complaint(const FileOptions& o) {
    RealWorld world;
    try {
        FileDevice d(world, o);
    } catch (const InputError& e) { return e.what(); }
    return "accepted";
}
struct Free {
    void operator()(std::byte* p) const { std::free(p); }
};
using Aligned = std::unique_ptr<std::byte, Free>;
Aligned aligned(size_t bytes) {
    return Aligned(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
}

} // namespace

TEST_CASE("a file device keeps what is written, where it says, through the page cache or past it") {
    const bool direct = GENERATE(true, false);
    const int64_t block = GENERATE(512, 4096);
    Folder folder;
    RealWorld world;
    const std::string path = folder.file("drive");
    {
        FileDevice d(world, {.path = path, .blocks = 32, .block = Bytes(block), .direct = direct});
        CHECK((direct || !d.direct()));
        CHECK(d.geometry().blocks == 32);
        CHECK(d.geometry().payload == block);
        CHECK(fs::file_size(path) == static_cast<uint64_t>(32 * block));
        auto data = random_bytes(static_cast<size_t>(3 * block), 1);
        CHECK(finish(world, command(d, Op::write, 5, 3, data.data())) == IoStatus::ok);
        CHECK(finish(world, command(d, Op::flush, 0, 0, nullptr)) == IoStatus::ok);
        std::vector<std::byte> back(data.size());
        CHECK(finish(world, command(d, Op::read, 5, 3, back.data())) == IoStatus::ok);
        CHECK(back == data);
        CHECK(d.first_error().empty());
    }
    const auto whole = contents(path), data = random_bytes(static_cast<size_t>(3 * block), 1);
    CHECK(std::equal(data.begin(), data.end(), whole.begin() + 5 * block));
    CHECK(std::count(whole.begin(), whole.begin() + 5 * block, std::byte{0}) == 5 * block);
    FileDevice again(world, {.path = path, .blocks = 32, .block = Bytes(block), .direct = direct});
    std::vector<std::byte> back(data.size());
    CHECK(finish(world, command(again, Op::read, 5, 3, back.data())) == IoStatus::ok);
    CHECK(back == data);
}

TEST_CASE("memory in pieces at odd addresses arrives whole and in order") {
    const bool direct = GENERATE(true, false);
    Folder folder;
    RealWorld world;
    FileDevice d(
        world, {.path = folder.file("drive"), .blocks = 16, .block = Bytes(512), .direct = direct});
    auto data = random_bytes(6 * 512 + 16, 2);
    const std::vector<Segment> from = {
        {data.data() + 1, 1}, {data.data() + 514, 3}, {data.data() + 2055, 2}};
    CHECK(finish(world, scattered(d, Op::write, 4, 6, from)) == IoStatus::ok);
    std::vector<std::byte> back(6 * 512 + 16);
    const std::vector<Segment> to = {{back.data() + 3, 4}, {back.data() + 3 + 2048, 2}};
    CHECK(finish(world, scattered(d, Op::read, 4, 6, to)) == IoStatus::ok);
    std::vector<std::byte> sent(data.begin() + 1, data.begin() + 513);
    sent.insert(sent.end(), data.begin() + 514, data.begin() + 514 + 1536);
    sent.insert(sent.end(), data.begin() + 2055, data.begin() + 2055 + 1024);
    CHECK(std::equal(sent.begin(), sent.end(), back.begin() + 3));
    CHECK(d.copied() == (d.direct() ? 2u : 0u));
}

TEST_CASE("aligned memory is not copied") {
    Folder folder;
    RealWorld world;
    FileDevice d(world, {.path = folder.file("drive"), .blocks = 16});
    const Aligned a = aligned(2 * 4096), b = aligned(2 * 4096);
    std::memset(a.get(), 7, 2 * 4096);
    const std::vector<Segment> pieces = {{a.get() + 4096, 1}, {a.get(), 1}};
    CHECK(finish(world, scattered(d, Op::write, 0, 2, pieces)) == IoStatus::ok);
    CHECK(finish(world, command(d, Op::read, 0, 2, b.get())) == IoStatus::ok);
    CHECK(std::memcmp(a.get(), b.get(), 2 * 4096) == 0);
    CHECK(d.copied() == 0);
}

TEST_CASE("more pieces than the kernel takes in one call are carried out all the same") {
    Folder folder;
    RealWorld world;
    constexpr uint32_t pieces = 1500; // UIO_MAXIOV is 1024
    FileDevice d(world, {.path = folder.file("drive"), .blocks = pieces, .block = Bytes(512)});
    auto data = random_bytes(size_t{pieces} * 512, 3);
    std::vector<Segment> from;
    for (uint32_t i = 0; i < pieces; i++) from.push_back({data.data() + (pieces - 1 - i) * 512, 1});
    CHECK(finish(world, scattered(d, Op::write, 0, pieces, from)) == IoStatus::ok);
    std::vector<std::byte> back(512);
    CHECK(finish(world, command(d, Op::read, 1, 1, back.data())) == IoStatus::ok);
    CHECK(std::equal(back.begin(), back.end(), data.begin() + (pieces - 2) * 512));
}

TEST_CASE("more commands than the ring holds wait their turn and are all carried out") {
    Folder folder;
    RealWorld world({.ring_depth = 4});
    FileDevice d(world, {.path = folder.file("drive"), .blocks = 300, .block = Bytes(512)});
    auto data = random_bytes(300 * 512, 4);
    std::vector<Io> ios;
    for (uint32_t i = 0; i < 300; i++) ios.push_back(d.write({i}, 1, data.data() + i * 512));
    const auto write_all = [&]() -> Task<IoStatus> { co_return co_await all(ios.data(), 300); };
    CHECK(finish(world, write_all()) == IoStatus::ok);
    std::vector<std::byte> back(300 * 512);
    CHECK(finish(world, command(d, Op::read, 0, 300, back.data())) == IoStatus::ok);
    CHECK(back == data);
    CHECK(world.ring().idle());
}

TEST_CASE("a failed device answers no_device, also to what was in flight, and from the loop") {
    Folder folder;
    RealWorld world;
    FileDevice d(world, {.path = folder.file("drive"), .blocks = 8});
    std::vector<std::byte> data(4096);
    Io io = d.write({0}, 1, data.data());
    bool answered = false;
    io.owner = &answered;
    io.done = [](Request& r) {
        *static_cast<bool*>(r.owner) = true;
        return nothing();
    };
    d.submit(io).resume();
    d.fail();
    world.run();
    CHECK(answered);
    CHECK(io.status == IoStatus::no_device);
    answered = false;
    d.submit(io).resume();
    CHECK_FALSE(answered);
    world.run();
    CHECK(answered);
    CHECK(finish(world, command(d, Op::read, 0, 1, data.data())) == IoStatus::no_device);
    CHECK(finish(world, command(d, Op::flush, 0, 0, nullptr)) == IoStatus::no_device);
    CHECK(d.first_error().empty()); // pulled, not broken
}

TEST_CASE("a read past a file that was cut short is failed, and the first error is kept") {
    Folder folder;
    RealWorld world;
    const std::string path = folder.file("drive");
    FileDevice d(world, {.path = path, .blocks = 8});
    fs::resize_file(path, 4096);
    std::vector<std::byte> data(2 * 4096);
    CHECK(finish(world, command(d, Op::read, 0, 2, data.data())) == IoStatus::failed);
    CHECK(finish(world, command(d, Op::read, 4, 1, data.data())) == IoStatus::failed);
    CHECK(d.first_error() == path + ": read at byte 0: 4096 bytes of 8192 moved");
    CHECK(finish(world, command(d, Op::read, 0, 1, data.data())) == IoStatus::ok);
}

TEST_CASE("a file that cannot be a drive is a complaint with its path and the reason") {
    Folder folder;
    const std::string nowhere = folder.file("no/such/folder/drive");
    CHECK(complaint({.path = nowhere, .blocks = 8}) ==
          nowhere +
              ": error: cannot open or create the file of a drive: No such file or directory");
    CHECK(complaint({.path = folder.path, .blocks = 8}).find("Is a directory") !=
          std::string::npos);
    CHECK(complaint({.path = "/dev/null", .blocks = 8}).find("must be a regular file") !=
          std::string::npos);
    const std::string huge = folder.file("huge");
    CHECK(complaint({.path = huge, .blocks = uint64_t{1} << 50}).starts_with(huge + ": error: "));
}

TEST_CASE("a larger file keeps its size, a smaller one grows") {
    Folder folder;
    RealWorld world;
    const std::string path = folder.file("drive");
    { FileDevice d(world, {.path = path, .blocks = 8}); }
    { FileDevice d(world, {.path = path, .blocks = 2}); }
    CHECK(fs::file_size(path) == 8 * 4096);
    { FileDevice d(world, {.path = path, .blocks = 9}); }
    CHECK(fs::file_size(path) == 9 * 4096);
}

TEST_CASE(
    "a block that O_DIRECT cannot address goes through the page cache, and the device says so") {
    Folder folder;
    RealWorld world;
    FileDevice d(world, {.path = folder.file("drive"), .blocks = 100, .block = Bytes(100)});
    CHECK_FALSE(d.direct());
    auto data = random_bytes(300, 5);
    CHECK(finish(world, command(d, Op::write, 7, 3, data.data())) == IoStatus::ok);
    std::vector<std::byte> back(300);
    CHECK(finish(world, command(d, Op::read, 7, 3, back.data())) == IoStatus::ok);
    CHECK(back == data);
}

} // namespace storlab
