#include "sim/base/error.hpp"
#include <catch2/catch.hpp>

using namespace storlab;

namespace {
const std::vector<std::string> keys{"level", "chunk", "speed-limit-min", "speed-limit-max"};
}

TEST_CASE("the nearest word is one slip away, whatever its capitals and dashes") {
    CHECK(nearest("chnk", keys) == "chunk");
    CHECK(nearest("speed-limit-mx", keys) == "speed-limit-max");
    CHECK(nearest("Speed_Limit_Max", keys) == "speed-limit-max");
    CHECK_FALSE(nearest("journal", keys));
    CHECK_FALSE(nearest("50", std::vector<std::string>{"0", "5", "10"}));
}

TEST_CASE("a word of which pieces were left out is near too, but an exact slip is nearer") {
    CHECK(nearest("max-speed", keys) == "speed-limit-max");
    CHECK(nearest("speed-limit", keys) == "speed-limit-min");
    CHECK(nearest("memblaze", std::vector<std::string>{"xeon", "memblaze-6926-12.8tb"}) ==
          "memblaze-6926-12.8tb");
    CHECK(nearest("level-x", keys) == "level");
    CHECK_FALSE(nearest("-", keys));
    CHECK_FALSE(nearest("", keys));
}

TEST_CASE("a complaint that comes twice is told once") {
    Complaints all;
    for (const auto what : {"b", "a", "b"}) all.add({"f", 1, 2}, what);
    all.add({"f", 1, 1}, "b");
    try {
        all.throw_if_any();
        FAIL("nothing thrown");
    } catch (const InputError& error) {
        CHECK(std::string(error.what()) == "f:1:1: error: b\nf:1:2: error: b\nf:1:2: error: a");
    }
}
