#include "sim/base/random.hpp"
#include "sim/base/text.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include <type_traits>

using namespace std::string_literals;
namespace storlab {
namespace {

const SourcePlace here{"mine.yaml", 31, 12};

std::string complaint_of(auto parse, std::string_view text) {
    try {
        if constexpr (std::is_invocable_v<decltype(parse), std::string_view, SourcePlace>)
            parse(text, here);
        else parse(text, here, {}); // no unit is usual
    } catch (const InputError& error) { return error.what(); }
    return "accepted";
}

} // namespace

TEST_CASE("every spelling of one size is the same number of bytes") {
    for (const auto text : {"2TB", "2 TB", "2.0TB", "2.000000 TB", "2000GB", "2000000 MB",
                            "2000000000kB", "2000000000 KB", "2000000000000B", "0.002PB"}) {
        CAPTURE(text);
        CHECK(parse_size(text, here).count() == 2'000'000'000'000);
    }
    for (const auto text : {"64KiB", "65536B", "0.0625MiB", "65.536kB", "064KiB"}) {
        CAPTURE(text);
        CHECK(parse_size(text, here) == Bytes::kib(64));
    }
}

TEST_CASE("a GB is a thousand million bytes and a GiB is 2^30") {
    CHECK(parse_size("1GB", here).count() == 1'000'000'000);
    CHECK(parse_size("1GiB", here).count() == 1'073'741'824);
    CHECK(parse_size("1EiB", here).count() == int64_t{1} << 60);
    CHECK(parse_size("0B", here).count() == 0);
}

TEST_CASE("decimals of a size are exact") {
    CHECK(parse_size("12.8TB", here).count() == 12'800'000'000'000);
    // More digits than a double holds.
    CHECK(parse_size("9.22337203685477579EB", here).count() == 9'223'372'036'854'775'790);
    CHECK(parse_size("1234567.89012345679TB", here).count() == 1'234'567'890'123'456'790);
    // Every thousandth of a TB, against integers.
    for (int64_t n = 0; n < 3000; n++) {
        char text[32];
        std::snprintf(text, sizeof text, "%d.%03dTB", int(n / 1000), int(n % 1000));
        REQUIRE(parse_size(text, here).count() == n * 1'000'000'000);
    }
}

TEST_CASE("a size says what was found and how to write it") {
    CHECK(complaint_of(parse_size, "2 TB/s") ==
          "mine.yaml:31:12: error: '2 TB/s' is not a size; write 2TB or 2TiB");
    CHECK(complaint_of(parse_size, "2") ==
          "mine.yaml:31:12: error: '2' has no unit; write 2GB or 2GiB");
    CHECK(complaint_of(parse_size, "64k") ==
          "mine.yaml:31:12: error: '64k' is not a size; write 64kB or 64KiB");
    CHECK(complaint_of(parse_size, "big") ==
          "mine.yaml:31:12: error: 'big' is not a size; write 2GB or 2GiB");
    CHECK(complaint_of(parse_size, "1.1TiB") == "mine.yaml:31:12: error: '1.1TiB' is not a whole "
                                                "number of bytes; the next is 1209462790554");
    CHECK(complaint_of(parse_size, "8EiB") ==
          "mine.yaml:31:12: error: '8EiB' is too large for a size");
}

TEST_CASE("advice keeps to the unit that is usual, or to the one that was meant") {
    const auto complaint = [](auto parse, std::string_view text, std::string_view usual) {
        try {
            parse(text, SourcePlace{"f", 1, 1}, usual);
        } catch (const InputError& error) { return std::string(error.what()); }
        return std::string();
    };
    CHECK(complaint(parse_size, "64", "KiB") == "f:1:1: error: '64' has no unit; write 64KiB");
    CHECK(complaint(parse_size, "64m", "KiB") ==
          "f:1:1: error: '64m' is not a size; write 64MB or 64MiB");
    CHECK(complaint(parse_rate, "2000", "KiB/s") ==
          "f:1:1: error: '2000' has no unit; write 2000KiB/s");
    CHECK(complaint(parse_rate, "200MiB", "") ==
          "f:1:1: error: '200MiB' is not a rate; write 200MiB/s");
}

TEST_CASE("nothing that only resembles a size is taken for one") {
    for (const auto& text : {""s,
                             " "s,
                             "B"s,
                             "."s,
                             ".5GB"s,
                             "5.GB"s,
                             "1..2GB"s,
                             "1,000GB"s,
                             "1e3GB"s,
                             "-5GB"s,
                             "+5GB"s,
                             "0x10B"s,
                             "5GB "s,
                             " 5GB"s,
                             "5 GB GB"s,
                             "5Gb"s,
                             "5gb"s,
                             "5gib"s,
                             "5GIB"s,
                             "5G"s,
                             "5\tGB"s,
                             "5GB\0"s,
                             "\xff\xff"s,
                             "5\u00a0GB"s,
                             "NaNGB"s,
                             "infGB"s,
                             "\u0665GB"s,
                             "1 000GB"s,
                             "5%"s,
                             "9223372036854775808B"s,
                             "99999999999999999999999999999999GB"s,
                             std::string(100'000, '9'),
                             "0."s + std::string(100'000, '0') + "1B",
                             std::string(1'000'000, ' ') + "B"}) {
        CAPTURE(text.substr(0, 40));
        CHECK_THROWS_AS(parse_size(text, here), InputError);
        CHECK(complaint_of(parse_size, text).size() < 250);
    }
}

TEST_CASE("a message shows no control characters of a hostile text") {
    CHECK(in_quotes("a\x1b[31m\nb") == "'a?[31m?b'");
    CHECK(in_quotes(std::string(500, 'x')).size() < 70);
}

TEST_CASE("every spelling of one duration is the same number of picoseconds") {
    for (const auto text : {"1.5ms", "1.5 ms", "1500us", "1500 \u00b5s", "1500\u03bcs", "1500000ns",
                            "0.0015s", "1500000000ps", "0.000025min"}) {
        CAPTURE(text);
        CHECK(parse_duration(text, here) == Duration::us(1500));
    }
    CHECK(parse_duration("2h", here) == Duration::s(7200));
    CHECK(parse_duration("1 d", here) == Duration::s(86400));
    CHECK(parse_duration("0.667us", here) == Duration::ps(667'000));
}

TEST_CASE("a duration beyond the clock or below its grid is refused") {
    CHECK_NOTHROW(parse_duration("106 d", here));
    CHECK_THROWS_AS(parse_duration("107 d", here), InputError);
    CHECK_THROWS_AS(parse_duration("0.5ps", here), InputError);
    CHECK(complaint_of(parse_duration, "5m") ==
          "mine.yaml:31:12: error: '5m' is not a duration; write 5min or 5ms");
    CHECK(complaint_of(parse_duration, "60") ==
          "mine.yaml:31:12: error: '60' has no unit; write 60us or 60ms");
}

TEST_CASE("every spelling of one rate is the same double") {
    const Rate two = Rate::bytes_per_second(2e9);
    for (const auto text : {"2GB/s", "2 GB/s", "2000 MB/s", "16 Gbit/s", "16000Mbit/s",
                            "0.016 Tbit/s", "0.002TB/s", "16000000000 bit/s", "1953125 KiB/s"}) {
        CAPTURE(text);
        CHECK(parse_rate(text, here) == two);
    }
    CHECK(parse_rate("200000 KiB/s", here).in_bytes_per_second() == 204'800'000.0);
    // A third of nothing that a double holds: the spellings still agree to the last bit.
    CHECK(parse_rate("3.3GB/s", here) == parse_rate("3300000.000 kB/s", here));
    CHECK(parse_rate("0.1bit/s", here) == parse_rate("0.0125B/s", here));
}

TEST_CASE("a rate of more digits than a double holds is the same double in every unit") {
    Random random(1, "rates");
    for (int i = 0; i < 10'000; i++) {
        const std::string n =
            std::to_string(1'000'000'000'000'000 + random.below(90'000'000'000'000'000));
        const size_t point = n.size() - 9;
        const Rate bytes = parse_rate(n + " B/s", here);
        REQUIRE(bytes == parse_rate(n.substr(0, point) + "." + n.substr(point) + " GB/s", here));
        REQUIRE(bytes.in_bytes_per_second() == static_cast<double>(std::stoll(n)));
    }
}

TEST_CASE("a rate needs its 'per second', and bits are spelled out") {
    CHECK(complaint_of(parse_rate, "16 Gb/s") ==
          "mine.yaml:31:12: error: '16 Gb/s' is not a rate; write 16 GB/s or 16 Gbit/s");
    for (const auto text : {"16GB", "16", "16/s", "/s", "16 GBps", "16 Gbit", "16 GiBit/s", "GB/s"})
        CHECK_THROWS_AS(parse_rate(text, here), InputError);
}

TEST_CASE("I/O rates, frequencies, cycles, fractions, factors and counts") {
    CHECK(parse_iops("30000 iops", here) == Iops(30000));
    CHECK(parse_iops("30000 IOPS", here) == Iops(30000));
    CHECK(parse_frequency("2.3GHz", here).value == 2.3e9);
    CHECK(parse_frequency("2300 MHz", here) == parse_frequency("2.3GHz", here));
    CHECK(parse_cycles("4140 cycles", here) == 4140);
    CHECK(parse_fraction("28%", here) == 0.28);
    CHECK(parse_fraction("0.28", here) == parse_fraction("28.00 %", here));
    CHECK(parse_fraction("100%", here) == 1.0);
    CHECK(parse_factor("1.25", here) == 1.25);
    CHECK(parse_count("0", here) == 0);
    CHECK(parse_count("1000000", here) == 1'000'000);

    CHECK(complaint_of(parse_iops, "30000") ==
          "mine.yaml:31:12: error: '30000' has no unit; write 30000 iops");
    CHECK(complaint_of(parse_frequency, "2.3") ==
          "mine.yaml:31:12: error: '2.3' has no unit; write 2.3GHz or 2.3MHz");
    CHECK(complaint_of(parse_fraction, "28") ==
          "mine.yaml:31:12: error: '28' is more than the whole; a fraction is 0 to 1");
    for (const auto text : {"100.1%", "28 percent", "-1%", "1.0001"})
        CHECK_THROWS_AS(parse_fraction(text, here), InputError);
    for (const auto text : {"4k", "4.0", "4 x", "-4", "1e3", "", "9999999999999999999"})
        CHECK_THROWS_AS(parse_count(text, here), InputError);
    for (const auto text : {"1.5 cycles", "4140", "4140 cycle/s"})
        CHECK_THROWS_AS(parse_cycles(text, here), InputError);
    CHECK_THROWS_AS(parse_factor("1.25x", here), InputError);
}

TEST_CASE("a cost in cycles follows the clock and one in time does not") {
    CHECK(parse_cost("4140 cycles", {2.3e9}, here) == Duration::ns(1800));
    CHECK(parse_cost("4140 cycles", {4.6e9}, here) == Duration::ns(900));
    CHECK(parse_cost("1.8us", {2.3e9}, here) == Duration::ns(1800));
    CHECK_THROWS_AS(parse_cost("1.8", {2.3e9}, here), InputError);
    CHECK_THROWS_AS(parse_cost("999999999999999999 cycles", {1}, here), InputError);
}

TEST_CASE("a size is printed in its shortest exact spelling and reads back the same") {
    CHECK(format_size(Bytes::kib(64)) == "64KiB");
    CHECK(format_size(Bytes(12'800'000'000'000)) == "12.8TB");
    CHECK(format_size(Bytes(1000)) == "1kB");
    CHECK(format_size(Bytes(1024)) == "1KiB");
    CHECK(format_size(Bytes(512)) == "512B");
    CHECK(format_size(Bytes(0)) == "0B");
    CHECK(format_size(Bytes(1536)) == "1536B");
    for (const auto text :
         {"64KiB", "2TB", "2TiB", "3.84TB", "10TB", "60GiB", "253GB", "4KiB", "8EB", "3840B"})
        CHECK(format_size(parse_size(text, here)) == text);
    for (int64_t n = 1; n < 100'000'000; n = n * 3 + 1)
        CHECK(parse_size(format_size(Bytes(n)), here) == Bytes(n));
}

TEST_CASE("a size with no short exact spelling is printed with three digits") {
    CHECK(format_size(Bytes(1'234'567'891'011)) == "1.23TB");
    CHECK(format_size(Bytes(INT64_MAX)) == "9.22EB");
    CHECK(format_size(Bytes(-4096)) == "-4KiB");
    CHECK_NOTHROW(format_size(Bytes(INT64_MIN)));
}

TEST_CASE("times, rates and counts are printed with three digits") {
    CHECK(format_duration(Duration::us(444)) == "444 us");
    CHECK(format_duration(Duration::ns(999'600)) == "1 ms");
    CHECK(format_duration(Duration::ns(999'400)) == "999 us");
    CHECK(format_duration(Duration::ms(2540)) == "2.54 s");
    CHECK(format_duration(Duration::us(75)) == "75 us");
    CHECK(format_duration(Duration::ps(20)) == "20 ps");
    CHECK(format_duration(Duration::ns(9996)) == "10 us");
    CHECK(format_duration(Duration::s(86'400)) == "86400 s");
    CHECK(format_duration(Duration{}) == "0 us");
    CHECK(format_duration(Duration::us(-75)) == "-75 us");
    CHECK(format_rate(Rate::bytes_per_second(3.301e9)) == "3.3 GB/s");
    CHECK(format_rate(Rate::bytes_per_second(0)) == "0 B/s");
    CHECK(format_count(4'600'000) == "4.6M");
    CHECK(format_count(501'234) == "501k");
    CHECK(format_count(1'750'112) == "1.75M");
    CHECK(format_count(12) == "12");
    CHECK(format_count(999'999) == "1M");
    CHECK(format_count(0.25) == "0.25");
    CHECK(format_count(0) == "0");
}

TEST_CASE("a printed time is within half a digit of the time") {
    for (int64_t ps = 1; ps < 900'000'000'000'000; ps = ps * 7 / 5 + 1) {
        const Duration d = Duration::ps(ps);
        const Duration back = parse_duration(format_duration(d), here);
        CHECK(std::abs(back / d - 1) <= 0.00501);
    }
}

} // namespace storlab
