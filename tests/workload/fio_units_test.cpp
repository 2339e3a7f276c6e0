#include "models/workload/fio/units.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::fio;

namespace {
const SourcePlace here{"job.fio", 3, 7};
int64_t bytes(std::string_view text, KbBase base = KbBase::k1024) {
    return parse_number(text, here, base).value;
}
std::string complaint(std::string_view text) {
    try {
        parse_number(text, here, KbBase::k1024);
    } catch (const InputError& error) { return error.what(); }
    return "accepted";
}
std::string time_complaint(std::string_view text) {
    try {
        parse_time(text, here, Duration::s(1));
    } catch (const InputError& error) { return error.what(); }
    return "accepted";
}
} // namespace

TEST_CASE("fio 4k is 4096 and 4KiB is 4000, the reverse of SI and IEC") {
    for (const char* text : {"4k", "4K", "4kb", "4kB", "4KB"}) CHECK(bytes(text) == 4096);
    for (const char* text : {"4kib", "4KiB", "4Kib", "4KIB"}) CHECK(bytes(text) == 4000);
    CHECK(bytes("1m") == 1048576);
    CHECK(bytes("1mib") == 1000000);
    CHECK(bytes("2g") == int64_t{2} << 30);
    CHECK(bytes("1tb") == int64_t{1} << 40);
    CHECK(bytes("1tib") == 1'000'000'000'000);
    CHECK(bytes("2p") == int64_t{1} << 51);
    CHECK(bytes("1pib") == 1'000'000'000'000'000);
}
TEST_CASE("fio 4Ki without the B is 4096 as the program reads it, and the manual's 4000 is noted") {
    const Number ki = parse_number("4Ki", here, KbBase::k1024);
    CHECK(ki.value == 4096);
    CHECK(ki.note == "'4Ki' is 4096 to the fio program (3.33), though its manual says 4000; 'k' or "
                     "'KiB' would be clear");
    CHECK(parse_number("1mi", here, KbBase::k1000).value == 1000000);
    CHECK(parse_number("1mi", here, KbBase::k1000).note.find("1048576") != std::string::npos);
    CHECK(parse_number("4KiB", here, KbBase::k1024).note.empty());
    CHECK(parse_number("4k", here, KbBase::k1024).note.empty());
}
TEST_CASE("kb_base=1000 gives SI and IEC units") {
    CHECK(bytes("4k", KbBase::k1000) == 4000);
    CHECK(bytes("4kb", KbBase::k1000) == 4000);
    CHECK(bytes("4KiB", KbBase::k1000) == 4096);
    CHECK(bytes("1m", KbBase::k1000) == 1000000);
    CHECK(bytes("1MiB", KbBase::k1000) == 1048576);
}
TEST_CASE("b and B are bytes, 0x is hexadecimal, a leading zero is not octal") {
    CHECK(bytes("512b") == 512);
    CHECK(bytes("512B") == 512);
    CHECK(bytes("0x10") == 16);
    CHECK(bytes("0X1b") == 27); // a digit, not a suffix
    CHECK(bytes("010") == 10);
    CHECK(bytes("0") == 0);
    CHECK(bytes("9223372036854775807") == INT64_MAX);
}
TEST_CASE("number texts that fio cuts short or wraps are errors with their place") {
    CHECK(
        complaint("1.5m") ==
        "job.fio:3:7: error: '1.5m' has a decimal point, where fio would stop reading; expected a "
        "number such as 4096, 4k, 1m or 0x1000");
    CHECK(complaint("4q") ==
          "job.fio:3:7: error: '4q' ends in 'q'; expected a number such as 4096, "
          "4k, 1m or 0x1000");
    CHECK(complaint("-4k") ==
          "job.fio:3:7: error: '-4k' is negative; expected a number such as 4096, "
          "4k, 1m or 0x1000");
    CHECK(complaint("9223372036854775808") ==
          "job.fio:3:7: error: '9223372036854775808' is too large: above 2^63");
    CHECK(complaint("99999999p") == "job.fio:3:7: error: '99999999p' is too large: above 2^63");
    for (const char* text :
         {"",   "k",   "b",   "4kk",   "4k5",   "4bk", "0x",    "0xk", "0x1k", "0x-1",
          "+4", "4 k", " 4k", "4ki b", "4kibb", "1e3", "(4*2)", "--4", "8z",   "10%"})
        CHECK(complaint(text).starts_with("job.fio:3:7: error: "));
    CHECK(complaint("4k ; four").find("a comment must stand on a line of its own") !=
          std::string::npos);
    CHECK(complaint(std::string(1000, 'x')).size() < 200);
}
TEST_CASE("a time without suffix counts in the option's own unit, and m is minutes") {
    CHECK(parse_time("90", here, Duration::s(1)) == Duration::s(90));
    CHECK(parse_time("250", here, Duration::us(1)) == Duration::us(250));
    CHECK(parse_time("1m", here, Duration::us(1)) == Duration::s(60));
    CHECK(parse_time("1M", here, Duration::s(1)) == Duration::s(60));
    CHECK(parse_time("2d", here, Duration::s(1)) == Duration::s(172800));
    CHECK(parse_time("1h", here, Duration::s(1)) == Duration::s(3600));
    CHECK(parse_time("5s", here, Duration::us(1)) == Duration::s(5));
    CHECK(parse_time("100ms", here, Duration::s(1)) == Duration::ms(100));
    CHECK(parse_time("10msec", here, Duration::s(1)) == Duration::ms(10));
    CHECK(parse_time("5us", here, Duration::s(1)) == Duration::us(5));
    CHECK(parse_time("5USEC", here, Duration::s(1)) == Duration::us(5));
}
TEST_CASE("time texts that fio reads as microseconds or wraps are errors") {
    CHECK(time_complaint("2sec").find(
              "ends in 'sec', which fio would skip and read microseconds") != std::string::npos);
    CHECK(time_complaint("107d").find("106 days") != std::string::npos);
    CHECK(time_complaint("106d") == "accepted");
    for (const char* text : {"", "1.5", "1min", "-1", "0x10", "1k", "s", "99999999999999999999"})
        CHECK(time_complaint(text).starts_with("job.fio:3:7: error: "));
}
TEST_CASE("percentages are whole and at most 100") {
    CHECK(parse_percent("0", here) == 0);
    CHECK(parse_percent("100", here) == 100);
    CHECK(parse_percent("0x32", here) == 50);
    for (const char* text : {"101", "-1", "", "30%", "1.5", "4294967297"})
        CHECK_THROWS_AS(parse_percent(text, here), InputError);
    CHECK(parse_real("1.2", here) == 1.2);
    for (const char* text : {"", "1,2", "inf", "nan", "1e999", "1.2x"})
        CHECK_THROWS_AS(parse_real(text, here), InputError);
}
