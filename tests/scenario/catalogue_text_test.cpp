#include "models/workload/fio/options.hpp"
#include "sim/base/error.hpp"
#include "sim/scenario/catalogue_text.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/part_values.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

using namespace storlab;
using Json = nlohmann::json;

namespace {
bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
std::string line_with(const std::string& text, const std::string& part) {
    const size_t at = text.find(part);
    if (at == std::string::npos) return {};
    const size_t from = text.rfind('\n', at) + 1;
    return text.substr(from, text.find('\n', at) - from);
}
size_t columns_of(const std::string& line) { // UTF-8 continuation bytes take no room
    return static_cast<size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}
void check_widths(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at);
        INFO(text.substr(at, end - at));
        CHECK(columns_of(text.substr(at, end - at)) <= 110);
        CHECK((end == at || text[end - 1] != ' '));
        at = end + 1;
    }
}
Scenario read(const std::string& text) {
    return read_scenario(text, "mine.yaml", {{}, parts_folder()});
}

constexpr auto raid = R"(storlab: 1
title: Nine drives
machines:
  node:
    is: dell-r750
    cpu: {is: xeon-8380, sockets: 2, clock: 2GHz}
    host: {is: linux-host}
    cards: {gpu: {is: graid-sr1010, slot: x8 gen4 socket 1}}
    drives:
      ssd: {is: memblaze-6926-12.8tb, count: 9, state: steady}
      log: {is: bench-device-read}
arrays:
  main: {raid: {level: 5, drives: ssd/0-7, spares: ssd/8, chunk: 128KiB, engine: gpu}}
loads:
  users:
    fio: {rw: randrw, rwmixread: 75, bs: 4k, ioengine: psync, iodepth: 32, numjobs: 6}
    to: main
  logs: {fio: {rw: write, bs: 64k}, to: node/log/0}
timeline: [at 2 s: fail node/ssd/3]
run: {settle: 3s, seed: 7, scale: 4096}
)";
} // namespace

TEST_CASE("check shows machines, drives by group, arrays, loads, run and timeline on one screen") {
    const std::string text = describe(read(raid));
    CHECK(has(text, "Nine drives\n"));
    CHECK_FALSE(has(text, "node/ssd/state")); // it is given
    CHECK(has(line_with(text, "threads at"), "160 threads at 2 GHz"));
    CHECK(has(line_with(text, "graid-sr1010)"), "x8 gen4 socket 1"));
    CHECK(has(text, "node/ssd/0-8: "));
    CHECK(has(text, "9 x 12.8TB"));
    CHECK(has(text, "node/log/0: "));
    CHECK(has(line_with(text, "main: RAID 5"), "over node/ssd/0-7"));
    CHECK(has(line_with(text, "main: RAID 5"), "chunk 128KiB"));
    CHECK(has(text, "holds 89.6TB")); // 7 x 12.8TB; its chunks divide evenly
    CHECK(has(text, "by card node/gpu"));
    CHECK(has(text, "spare node/ssd/8"));
    CHECK(has(line_with(text, "users: randrw"), "75% reads 4KiB"));
    CHECK(has(text, "until 3 s after the last event"));
    CHECK(has(text, "seed 7"));
    CHECK(has(text, "at 2 s: fail node/ssd/3"));
    CHECK(has(text, "1/4096 of every drive"));
    CHECK(has(line_with(text, "xeon-8380: "), "clock 2GHz here"));
    CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
    check_widths(text);
}

TEST_CASE("check says how many I/Os a job really keeps in flight, and why") {
    const std::string text = describe(read(raid));
    CHECK(has(line_with(text, "users: randrw"), "6 in flight = 6 clones x 1"));
    CHECK(has(text, "not 32 each: a synchronous ioengine has one I/O in flight"));
}

TEST_CASE("check shows the pace of a job") {
    const auto text = [](const std::string& keys) {
        std::string all = raid;
        const std::string job = "{fio: {rw: write, bs: 64k}";
        return describe(read(all.replace(all.find(job), job.size(), "{fio: {" + keys)));
    };
    CHECK_FALSE(has(text("rw: write}"), "each clone"));
    CHECK(has(text("rw: write, rate_iops: 1500}"), "1.5k writes a second at most for each clone"));
    CHECK(has(text("rw: rw, rate_iops: '300,100'}, arrivals: open"),
              "300 reads a second and 100 writes a second arrive for each clone"));
    CHECK(has(text("rw: read, rate: 20m}"), "21 MB/s of reads at most for each clone"));
}

TEST_CASE("check tells what the reader assumed where the scenario says nothing") {
    const std::string text = describe(read(R"(storlab: 1
machines:
  m: {is: dell-r750, cpu: {is: xeon-8380}, drives: {ssd: {is: bench-device-read, count: 3}}}
arrays: {a: {raid: {level: 5, drives: ssd/*}}}
loads: {l: {fio: {rw: read}, to: a}}
)"));
    CHECK(has(text, "m/host is linux-host: the scenario names none"));
    CHECK(has(text, "a/raid/chunk is 64 KiB"));
    CHECK(has(text, "a/raid/engine is md"));
    CHECK(
        has(text, "m/ssd/state is steady: the scenario gives none; drives write faster while new"));
    CHECK(has(text, "chosen so that the slice fits in memory"));
    CHECK(has(text, "until IOPS are known to ±1 %"));
    check_widths(text);
}

TEST_CASE("drives with gaps between them are not shown as one range") {
    std::string scattered = raid;
    scattered.replace(scattered.find("ssd/0-7,"), 8, "[ssd/0, ssd/2-4, ssd/7],");
    CHECK(has(describe(read(scattered)), "over node/ssd/0 node/ssd/2-4 node/ssd/7 "));
}

TEST_CASE("the list of parts has every part of the catalogue under its kind") {
    const std::string text = describe_parts("");
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue(parts_folder(), complaints);
    for (const std::string& name : catalogue.names()) {
        INFO(name);
        const Part p = catalogue.find(name, {});
        CHECK(has(line_with(text, "  " + name + " "), p.title()));
        const size_t heading = ("\n" + text).find("\n" + p.kind() + "\n");
        CHECK(heading < text.find("  " + name + " "));
    }
}

TEST_CASE("a part's page shows every value with its origin, and what an origin owes the reader") {
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue(parts_folder(), complaints);
    for (const std::string& name : catalogue.names()) {
        INFO(name);
        const Part p = catalogue.find(name, {});
        const std::string text = describe_parts(name);
        CHECK(text.starts_with(name + ": " + p.title() + ", kind " + p.kind() + "\n"));
        for (const auto& [value, v] : p.values()) {
            INFO(value);
            const size_t at = text.find("\n" + value + " ");
            REQUIRE(at != std::string::npos);
            const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
            CHECK(has(line, v.value.as_text()));
            CHECK(has(line, v.from));
            for (const std::string& row : v.rows) CHECK(has(text, row));
        }
        for (const PartFact& f : p.facts()) CHECK(has(text, f.fact + ": " + f.value));
    }
}

TEST_CASE("what a part has of the one it is like is shown as that one's") {
    const std::string text = describe_parts("bench-device-gc");
    const auto origin = [&](const std::string& value) { // to the first line that is not indented
        size_t end = text.find("\n" + value + " ");
        REQUIRE(end != std::string::npos);
        const size_t from = end;
        do end = text.find('\n', end + 1);
        while (end + 1 < text.size() && text[end + 1] == ' ');
        return text.substr(from, end - from);
    };
    CHECK(has(origin("t_read"), "inherited from bench-device-read"));
    CHECK_FALSE(has(origin("capacity"), "inherited"));
    CHECK_FALSE(has(describe_parts("bench-device-read"), "inherited"));
}

TEST_CASE("an unknown part is an error that names the nearest one") {
    try {
        describe_parts("xeon-8830");
        FAIL("not refused");
    } catch (const InputError& error) {
        CHECK(std::string(error.what()) ==
              "storlab parts: error: no part 'xeon-8830'; did you mean 'xeon-8380'?");
    }
}

// The schema is kept by hand; what can be compared with the program is.
TEST_CASE("the schema knows exactly the values that parts of each kind have") {
    const Json schema = Json::parse(scenario_schema());
    const Json& machine = schema["$defs"]["machine"]["properties"];
    const Json& array = schema["$defs"]["array"]["properties"];
    struct Place { // where values of parts of some kinds may stand, beside keys of the language
        const Json& properties;
        std::set<std::string> kinds, keys;
    };
    const std::vector<Place> places = {
        {machine,
         {"server"},
         {"is", "count", "cpu", "host", "switches", "cards", "drives", "interrupts"}},
        {machine["cpu"]["properties"], {"cpu"}, {"is", "sockets"}},
        {machine["host"]["properties"], {"host-stack"}, {"is"}},
        {machine["cards"]["additionalProperties"]["properties"],
         {"raid-card", "hba", "nic", "dpu"},
         {"is", "count", "slot", "behind"}},
        {machine["switches"]["additionalProperties"]["properties"],
         {"pcie-switch"},
         {"is", "slot"}},
        {machine["drives"]["additionalProperties"]["properties"],
         {"ssd"},
         {"is", "count", "state", "aged-by", "socket", "behind"}},
        {array["raid"]["properties"],
         {"raid-engine"},
         {"level", "drives", "spares", "chunk", "engine", "stripe-cache", "reads-through-parity",
          "speed-limit-min", "speed-limit-max", "consistency", "journal", "bitmap"}},
        {array["export"]["properties"], {"target-stack"}, {"is", "protocol", "ports"}},
        {schema["$defs"]["network_switch"]["properties"], {"network-switch"}, {"is"}},
        {schema["$defs"]["load"]["properties"]["paths"]["properties"],
         {"multipath"},
         {"is", "policy", "ios"}}};
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue(parts_folder(), complaints);
    std::map<std::string, std::set<std::string>> values;
    for (const std::string& name : catalogue.names()) {
        const Part p = catalogue.find(name, {});
        REQUIRE(std::any_of(places.begin(), places.end(),
                            [&](const Place& at) { return at.kinds.contains(p.kind()); }));
        for (const auto& [value, v] : p.values()) values[p.kind()].insert(value);
    }
    // The program's own list: what it has, the parts have.
    for (const std::string& name : catalogue.names()) {
        const Part p = catalogue.find(name, {});
        CHECK_FALSE(values_known_of(p).empty());
        for (const std::string& known : values_known_of(p)) {
            INFO(name << ": " << known);
            const bool cards_share = known == "latency"; // of the kinds of card, hba has it
            CHECK((cards_share || values[p.kind()].contains(known)));
        }
    }
    complaints->throw_if_any();
    for (const Place& place : places) {
        INFO(*place.kinds.begin());
        std::set<std::string> in_schema, in_parts;
        for (const auto& [key, rule] : place.properties.items())
            if (!place.keys.contains(key)) in_schema.insert(key);
        for (const std::string& key : place.keys) CHECK(place.properties.contains(key));
        for (const std::string& kind : place.kinds)
            in_parts.insert(values[kind].begin(), values[kind].end());
        CHECK(in_schema == in_parts);
    }
}

TEST_CASE("the fio keys in the schema are those that storlab models") {
    const Json schema = Json::parse(scenario_schema());
    size_t n = 0;
    for (const auto& [key, rule] : schema["$defs"]["fio"]["properties"].items()) {
        if (key == "file") continue;
        INFO(key);
        CHECK(fio::kind_of(key) == fio::KeyKind::modelled);
        n++;
    }
    CHECK(n > 40);
}
