#include "sim/base/error.hpp"
#include "sim/scenario/bench.hpp"
#include "sim/scenario/bench_text.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/schema.hpp"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace storlab;
using Json = nlohmann::ordered_json;

namespace {
BenchFigures figures(double cpu, uint64_t ios, uint64_t events) {
    return {cpu, ios, events, 64'000, 100, 50'000'000};
}
BenchCase bench_case(const std::string& name, std::vector<BenchFigures> runs) {
    return {name, std::move(runs), {}, {}, {}};
}
bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
std::string line_with(const std::string& text, const std::string& part) {
    const size_t at = text.find(part);
    if (at == std::string::npos) return {};
    const size_t from = text.rfind('\n', at) + 1;
    return text.substr(from, text.find('\n', at) - from);
}
} // namespace

TEST_CASE("the median run counts, by rate; of two the slower one") {
    const auto slow = figures(4, 1'000'000, 1), fast = figures(1, 1'000'000, 1),
               middle = figures(2, 1'000'000, 1);
    CHECK(bench_case("x", {slow, fast, middle}).median().rate() == 500'000);
    CHECK(bench_case("x", {fast, slow}).median().rate() == 250'000);
    CHECK(bench_case("x", {fast}).median().rate() == 1'000'000);
}

TEST_CASE("a case without I/Os is measured in events") {
    CHECK(figures(2, 0, 30'000'000).rate() == 15e6);
    BenchReport r;
    r.cases.push_back(bench_case("calendar", {figures(2, 0, 30'000'000)}));
    const Json j = Json::parse(bench_json(r));
    CHECK(j["cases"]["calendar"]["ios_per_cpu_s"].is_null());
    CHECK(j["cases"]["calendar"]["events_per_io"].is_null());
    CHECK(j["cases"]["calendar"]["events_per_cpu_s"] == 15e6);
}

TEST_CASE("a rate at its floor is OK, below it is said so, and neither is a failure") {
    BenchReport r;
    r.cases.push_back(bench_case("at", {figures(1, 1'500'000, 1)}));
    r.cases.push_back(bench_case("under", {figures(1, 1'499'999, 1)}));
    for (BenchCase& c : r.cases) c.floor = 1.5e6;
    const std::string text = bench_text(r);
    CHECK(has(line_with(text, "at "), "OK"));
    CHECK_FALSE(has(line_with(text, "at "), "below"));
    CHECK(has(line_with(text, "under"), "below"));
    CHECK_FALSE(r.failed());
}

TEST_CASE("growth is the cost of an I/O in the large case over that in the small one") {
    BenchReport r;
    r.cases.push_back(bench_case("growth_drives_1", {figures(1, 3'000'000, 1)}));
    CHECK_FALSE(r.growth("growth_drives_1", "growth_drives_1000"));
    r.cases.push_back(bench_case("growth_drives_1000", {figures(1, 1'500'000, 1)}));
    CHECK(r.growth("growth_drives_1", "growth_drives_1000").value() == Approx(2.0));
    CHECK(has(line_with(bench_text(r), "1 to 1000 drives"), "above"));
    CHECK(Json::parse(bench_json(r))["growth"]["drives"] == 2.0);
    r.cases[1].runs[0].ios = 2'500'000;
    CHECK(has(line_with(bench_text(r), "1 to 1000 drives"), "OK"));
}

TEST_CASE("collecting garbage may cost five plain reads, not six") {
    BenchReport r;
    r.cases.push_back(bench_case("one_drive_randread", {figures(1, 2'000'000, 1)}));
    r.cases.push_back(bench_case("one_drive_gc", {figures(1, 500'000, 1)}));
    CHECK(has(line_with(bench_text(r), "garbage"), "4.0 times"));
    CHECK(has(line_with(bench_text(r), "garbage"), "OK"));
    r.cases[1].runs[0].ios = 333'333;
    CHECK(has(line_with(bench_text(r), "garbage"), "above"));
}

TEST_CASE("a failed case is named with its reason and fails the bench") {
    BenchReport r;
    r.cases.push_back(bench_case("good", {figures(1, 10, 1)}));
    r.cases.push_back(bench_case("bad", {}));
    r.cases[1].failure = "contents differed";
    CHECK(r.failed());
    CHECK(r.find("bad") == nullptr);
    CHECK(has(bench_text(r), "bad FAILED: contents differed"));
    CHECK(Json::parse(bench_json(r))["cases"]["bad"]["failure"] == "contents differed");
}

TEST_CASE("frames are given in bytes over the I/Os in flight") {
    BenchReport r;
    r.cases.push_back(bench_case("x", {figures(1, 1000, 6000)})); // 64 000 bytes, 100 in flight
    const Json j = Json::parse(bench_json(r))["cases"]["x"];
    CHECK(j["bytes_per_outstanding_io"] == 640.0);
    CHECK(j["events_per_io"] == 6.0);
    CHECK(has(line_with(bench_text(r), "x "), "640 B"));
}

TEST_CASE("an unknown bench case is refused with the nearest known one") {
    try {
        bench({.names = {"one_drive_randraed"}, .repeat = 1, .json = {}});
        FAIL("not refused");
    } catch (const InputError& error) {
        CHECK(
            has(error.what(), "no case 'one_drive_randraed'; did you mean 'one_drive_randread'?"));
    }
}

TEST_CASE("every bench file is a scenario that measures for a fixed time with contents checked") {
    const ScenarioOptions o{{}, parts_folder()};
    size_t files = 0;
    for (const auto& file :
         std::filesystem::directory_iterator(installed_folder("scenarios/bench"))) {
        INFO(file.path());
        const Scenario s = load_scenario(file.path().string(), o);
        CHECK(s.run.until == Until::duration);
        CHECK(s.run.warm_up);
        CHECK(s.run.check);
        for (const MachineSchema& m : s.machines)
            for (const DriveSchema& d : m.drives) // a fresh drive answers reads without its flash
                CHECK(d.state != SsdState::fresh);
        files++;
    }
    CHECK(files >= 10);
}

TEST_CASE("bench runs a case in a process of its own and writes what it measured") {
    const std::string file = (std::filesystem::temp_directory_path() /
                              ("storlab-bench-" + std::to_string(getpid()) + ".json"))
                                 .string();
    const int code = bench({.names = {"calendar"}, .repeat = 1, .json = file});
    CHECK(code == 0);
    const Json j = Json::parse(std::ifstream(file));
    std::filesystem::remove(file);
    CHECK(j["cases"].size() == 1);
    CHECK(j["cases"]["calendar"]["events_per_cpu_s"].get<double>() > 0);
    CHECK(j["cases"]["calendar"]["peak_rss_bytes"].get<uint64_t>() > 1'000'000);
    CHECK(j["cases"]["calendar"]["runs"].size() == 1);
    CHECK(j["reference_loop"].get<double>() > 0);
}
