#include "sim/report/text.hpp"
#include "tests/report/sample_result.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

using namespace storlab;
using Catch::Contains;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}
std::string line_with(const std::string& text, const std::string& start) {
    for (const std::string& line : lines_of(text))
        if (line.rfind(start, 0) == 0) return line;
    return "no line starts with " + start;
}
size_t columns_of(const std::string& line) {
    return static_cast<size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

} // namespace

TEST_CASE("the answer of the sample run reads as designed") {
    CHECK("\n" + to_text(sample_result(), 96) == R"(
Eight drives behind a RAID5 on a GPU card                     seed 1 · 500 ms simulated in 2.9 s

load     IOPS        MB/s  mean     p50      p95      p99      p99.9   max     ios
mixed    50k  ±0.6%  205   6.08 ms  89.9 us  89.9 us  89.9 us  3 s     3 s     25k
  read   40k         164   98.1 us  90 us    90 us    90 us    900 us  900 us  20k
  write  10k         41.0  30 ms    30 us    30 us    30 us    -       3 s     5k
probe    1k          4.1   98.1 us  90 us    90 us    -        -       900 us  500

loads   mixed: randrw 4 KiB, 80 % reads, closed loop, 304 in flight
        probe: randread 4 KiB, open loop, 0.1 in flight
binds   storage/target  98.4 %  SCSI target threads   then  storage/ssd/*  61 %
bound   mixed can read at most 19.2 GB/s, 4.69M IOPS: storage/ssd/*/link (3 x 6.4 GB/s)
        mixed can write at most 14 GB/s, 3.42M IOPS: storage/ssd/*/link (2 x 5 GB/s) +
        storage/ssd/7/link (6 GB/s), 1.14 bytes written for each
time    per I/O, mean 400 us:  target queue 57 %  fabric 22 %  drive 21 %
        slowest 1 %:  target queue 75 %  drive 20 %  fabric 5 %
cpu     storage 46 % (target 30 %, irq 12 %, raid 4 %)   client 31 %
events  at 100 ms     pull storage/ssd/3
          +30 ms      detect: 3 timeouts storage/raid
phases  until pull storage/ssd/3  mixed     40k IOPS    mean 98.1 us  p99 90 us    max 900 us
        then                      mixed     50 IOPS     mean 90 us    p99 -        max 90 us
full    rebuild of storage/ssd/3: 8.7 h at full size = 12.8 TB / 410 MB/s
checks  1 750 112 reads verified, 0 differ · 4 096 stripes scrubbed, 0 differ · Little 0.1 %
        all requests accounted for
assumed volumes 8 x 2 TiB (moves IOPS by < 1 %) · 1 fitted
again   storlab run scenarios/testbeds/starwind/remote.yaml --seed 1      trace 9f3c2a17d1e0b4aa
)");
}

TEST_CASE("the answer fits one screen and wraps at the width it is given") {
    for (const int width : {96, 110, 160}) {
        RunResult result = sample_result();
        for (int i = 0; i < 40; ++i) {
            result.cpu.push_back({"host/" + std::to_string(i), 0.5, {{"irq", 0.2}}});
            result.assumptions.push_back(
                {"parts/x/" + std::to_string(i), "1 us", "assumed", "", {}});
            result.timeline.push_back({Instant::at(Duration::s(i)), "set", "qos", ""});
        }
        const auto lines = lines_of(to_text(result, width));
        CHECK(lines.size() <= 52);
        for (const std::string& line : lines) CHECK(columns_of(line) <= static_cast<size_t>(width));
    }
}

TEST_CASE("ceilings of many loads do not fill the screen, and none is no line") {
    RunResult result = sample_result();
    result.bound.clear();
    CHECK(line_with(to_text(result), "bound") == "no line starts with bound");
    for (int i = 0; i < 40; ++i)
        result.bound.push_back({"l" + std::to_string(i), BoundFlow{1e9, Bytes(0), 1, {}}, {}});
    CHECK_THAT(to_text(result), Contains("l3 can read at most 1 GB/s\n") &&
                                    Contains("and of 36 more loads in the JSON") &&
                                    !Contains("l4 can"));
}

TEST_CASE("every row of the load table has its columns under the headings") {
    const std::string text = to_text(sample_result());
    const std::string heading = line_with(text, "load ");
    const auto column = [&](const std::string& line, const std::string& name) {
        // Widths differ in bytes where a line holds a plus-minus sign; skip it as the eye does.
        std::string plain = line;
        for (size_t at; (at = plain.find("\u00b1")) != std::string::npos;)
            plain.replace(at, 2, "~");
        return plain.substr(heading.find(name));
    };
    CHECK_THAT(column(line_with(text, "mixed"), "MB/s"), Catch::StartsWith("205 "));
    CHECK_THAT(column(line_with(text, "mixed"), "max"), Catch::StartsWith("3 s "));
    CHECK_THAT(column(line_with(text, "  write"), "p99.9"), Catch::StartsWith("- "));
    CHECK_THAT(column(line_with(text, "probe"), "p99 "), Catch::StartsWith("- "));
    CHECK(column(line_with(text, "probe"), "ios") == "500");
}

TEST_CASE("a load of one direction has one row, a mixed one has its directions below it") {
    RunResult result = sample_result();
    result.loads.erase(result.loads.begin());
    CHECK_THAT(to_text(result), !Contains("  read") && !Contains("  write"));
    CHECK_THAT(to_text(sample_result()), Contains("\n  read") && Contains("\n  write"));
}

TEST_CASE("data that differs is said before any figure, with its first places") {
    RunResult result = sample_result();
    result.integrity.mismatches = 3;
    result.integrity.scrub_mismatches = 1;
    result.integrity.first = {"main/lun/0 block 17: read version 4, current were 5 to 6"};
    const std::string text = to_text(result);
    CHECK_THAT(text, Contains("*** DATA DIFFERS: 3 of 1 750 112 verified reads ***"));
    CHECK_THAT(text, Contains("*** PARITY OR COPIES DIFFER: 1 of 4 096 scrubbed stripes ***"));
    CHECK(text.find("DATA DIFFERS") < text.find("block 17"));
    CHECK(text.find("block 17") < text.find("IOPS"));
}

TEST_CASE("a failed check is said twice, on top and in its line") {
    RunResult result = sample_result();
    result.checks[0] = {"little", false, 0.08, 0.01, "Little 8 %"};
    CHECK_THAT(to_text(result), Contains("*** CHECK FAILED: Little 8 % ***"));
    CHECK_THAT(line_with(to_text(result), "checks"), Contains("FAILED: Little 8 %"));
    CHECK_THAT(to_text(sample_result()), !Contains("FAILED") && !Contains("***"));
}

TEST_CASE("a partial run says so and why on its second line") {
    RunResult result = sample_result();
    result.run.partial = true;
    result.run.stop_reason = StopReason::interrupted;
    CHECK_THAT(lines_of(to_text(result))[1],
               Catch::StartsWith("PARTIAL") && Contains("interrupted"));
    result.run.stop_reason = StopReason::limit;
    result.run.stop_detail = "600 s were not enough";
    CHECK(lines_of(to_text(result))[2] == "         600 s were not enough");
}

TEST_CASE("a run that verified nothing does not look verified") {
    RunResult result = sample_result();
    result.integrity = {};
    CHECK_THAT(line_with(to_text(result), "checks"), Contains("NO READ WAS VERIFIED"));
    for (LoadResult& load : result.loads) load.reads = false;
    CHECK_THAT(line_with(to_text(result), "checks"), Contains("writes only: no reads to verify"));
}

TEST_CASE("failed I/Os, a scaled run, the real world and an idle system are named") {
    RunResult result = sample_result();
    result.loads[0].write.errors = 1200;
    result.run.scale = 64;
    result.bottleneck = {};
    std::string text = to_text(result);
    CHECK_THAT(line_with(text, "errors"), Contains("mixed: 1 200 I/Os FAILED"));
    CHECK_THAT(text, Contains("sizes 1/64"));
    CHECK_THAT(line_with(text, "binds"), Contains("nothing is near its limit"));
    result.bottleneck.then = {{"main/lock", 0.75}, {"users/threads", 0.72}};
    CHECK(line_with(to_text(result), "binds") ==
          "binds   no station is full: more I/Os in flight would raise the rate   "
          "nearest  main/lock  75 %");
    for (LoadResult& l : result.loads) l.loop = Loop::open;
    CHECK(line_with(to_text(result), "binds") ==
          "binds   no station is full   nearest  main/lock  75 %   users/threads  72 %");
    result.run.world = "real";
    result.run.trace_hash.clear();
    text = to_text(result);
    CHECK_THAT(text, Contains("the speeds are this machine's") && !Contains("simulated"));
    CHECK(line_with(text, "again") == "again   " + result.run.command);
}

TEST_CASE("phases are told from the event that caused them by their distance to it") {
    RunResult result = sample_result();
    result.timeline = {{Instant::at(Duration::s(60)), "pull", "array/a", ""},
                       {Instant::at(Duration::ms(60'400)), "lease expired", "array/b", "detect"},
                       {Instant::at(Duration::ms(60'900)), "serving", "array/b", "take over"},
                       {Instant::at(Duration::s(180)), "insert", "array/a", ""}};
    const std::string text = to_text(result);
    CHECK_THAT(text, Contains("at 60 s") && Contains("at 180 s"));
    CHECK_THAT(text, Contains("+400 ms     detect: lease expired array/b"));
    CHECK_THAT(text, Contains("+900 ms     take over: serving array/b"));
}

TEST_CASE("what a load had between events is told with its worst, and with a silence") {
    RunResult result = sample_result();
    const std::string text = to_text(result);
    CHECK(line_with(text, "phases") ==
          "phases  until pull storage/ssd/3  mixed     40k IOPS    mean 98.1 us  p99 90 us    "
          "max 900 us");
    CHECK_THAT(line_with(text, "        then"),
               Contains("50 IOPS") && Contains("p99 -") && Contains("max 90 us"));
    CHECK_THAT(text, !Contains("nothing for"));
    result.phases[0].longest_gap = Duration::ms(60);
    CHECK_THAT(line_with(to_text(result), "phases"), Contains("  nothing for 60 ms"));
    result.phases[1].flow = {};
    result.phases[1].flow.errors = 3;
    CHECK_THAT(line_with(to_text(result), "        then"), Contains("nothing ended  3 FAILED"));
}

TEST_CASE("I/Os older at the end than any that ended are told") {
    RunResult result = sample_result();
    result.loads[1].in_flight_at_end = 1200;
    result.loads[1].oldest_at_end = Duration::us(899);
    CHECK_THAT(to_text(result), !Contains("waiting"));
    result.loads[1].oldest_at_end = Duration::s(2);
    CHECK(line_with(to_text(result), "waiting") ==
          "waiting probe: 1 200 I/Os had not ended, the oldest after 2 s");
}

TEST_CASE("assumptions that move the answer most come first, fitted ones are counted") {
    RunResult result = sample_result();
    result.assumptions = {{"a", "1", "assumed", "", {}},
                          {"b", "2", "assumed", "", 0.02},
                          {"c", "3", "assumed", "", -0.10},
                          {"d", "4", "datasheet", "", 0.5},
                          {"e", "5", "fitted", "rows", 0.03}};
    CHECK(line_with(to_text(result), "assumed") ==
          "assumed c 3 (moves IOPS by 10 %) · b 2 (moves IOPS by 2 %) · a 1 · 1 fitted");
}
