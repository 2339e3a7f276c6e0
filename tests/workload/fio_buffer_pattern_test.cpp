// What fio 3.33 writes for a buffer_pattern, as measured with xxd.
#include "models/workload/fio/buffer_pattern.hpp"
#include <catch2/catch.hpp>
#include <string>

using namespace storlab;
using namespace storlab::fio;

namespace {
std::string hex(const std::string& text) {
    std::string out;
    for (const std::byte b : pattern_bytes(text, {"mine.fio", 3, 16})) {
        out += "0123456789abcdef"[static_cast<int>(b) >> 4];
        out += "0123456789abcdef"[static_cast<int>(b) & 15];
    }
    return out;
}
} // namespace

TEST_CASE("a buffer pattern is the bytes fio writes") {
    CHECK(hex("0xdeadbeef") == "deadbeef");
    CHECK(hex("0xabc") == "0abc");
    CHECK(hex("0x00ff") == "00ff");
    CHECK(hex("0x0") == "00");
    CHECK(hex("0") == "00");
    CHECK(hex("123") == "7b");
    CHECK(hex("256") == "0001");
    CHECK(hex("70000") == "701101");
    CHECK(hex("-12") == "f4ffffff");
    CHECK(hex("-70000") == "90eefeff");
    CHECK(hex("\"abc\"") == "616263");
    CHECK(hex("\"a\"256\"b\"") == "61000162");
    CHECK(hex("0xabc\"x\"-12") == "0abc78f4ffffff");
    CHECK(hex("-12-13") == "f4fffffff3ffffff");
}

TEST_CASE("what fio refuses as a buffer pattern is refused, with its place") {
    for (const char* text : {"", "abc", "0x", "%o", "4294967295", "2147483648", "\"open", " 0xff",
                             "0xff \"a\"", "\"a\"b\""}) {
        INFO(text);
        CHECK_THROWS_WITH(hex(text), Catch::Matchers::StartsWith("mine.fio:3:16: error: "));
    }
    CHECK_THROWS_AS(hex("\"" + std::string(513, 'a') + "\""), InputError);
}

TEST_CASE("a pattern begins anew in every buffer") {
    const auto pattern = pattern_bytes("0x010203", {});
    std::vector<std::byte> buffer(7);
    repeat_pattern(pattern, buffer);
    const std::vector<std::byte> want = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{1},
                                         std::byte{2}, std::byte{3}, std::byte{1}};
    CHECK(buffer == want);
}
