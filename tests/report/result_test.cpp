#include "sim/report/result.hpp"
#include "tests/report/sample_result.hpp"
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex.h> // std::regex sets off false warnings of gcc 12 under the sanitizers

using namespace storlab;
using Json = nlohmann::ordered_json;

namespace {

bool matches(const std::string& text, const std::string& pattern) {
    regex_t compiled;
    REQUIRE(regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0);
    const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
    regfree(&compiled);
    return found;
}

// The part of JSON Schema 2020-12 that docs/schemas uses. An unknown keyword is a complaint, so
// that the schema cannot grow a rule which this test would silently skip.
class Validator {
public:
    explicit Validator(const Json& schema) : root_(schema) {}
    std::vector<std::string> complaints(const Json& value) {
        check(root_, value, "");
        return std::move(complaints_);
    }

private:
    void complain(const std::string& where, const std::string& what) {
        complaints_.push_back(where + ": " + what);
    }
    static bool has_type(const Json& value, const std::string& type) {
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        return type == (value.is_boolean() ? "boolean" : value.type_name());
    }
    void check(const Json& schema, const Json& value, const std::string& where) {
        for (const auto& [keyword, rule] : schema.items()) {
            if (keyword == "$ref") {
                check(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value,
                      where);
            } else if (keyword == "type") {
                const Json types = rule.is_array() ? rule : Json::array({rule});
                bool any = false;
                for (const auto& type : types) any |= has_type(value, type.get<std::string>());
                if (!any) complain(where, "is " + value.dump() + ", not " + rule.dump());
            } else if (keyword == "const") {
                if (value != rule) complain(where, "is not " + rule.dump());
            } else if (keyword == "enum") {
                bool any = false;
                for (const auto& allowed : rule) any |= allowed == value;
                if (!any) complain(where, value.dump() + " is not one of " + rule.dump());
            } else if (keyword == "pattern") {
                if (!matches(value.get<std::string>(), rule.get<std::string>()))
                    complain(where, "does not match " + rule.dump());
            } else {
                check_bounds_and_members(schema, keyword, value, where);
            }
        }
    }
    void check_bounds_and_members(const Json& schema, const std::string& keyword, const Json& value,
                                  const std::string& where) {
        const Json& rule = schema.at(keyword);
        const bool number = value.is_number();
        if (keyword == "minimum") {
            if (number && value < rule) complain(where, "is below " + rule.dump());
        } else if (keyword == "maximum") {
            if (number && value > rule) complain(where, "is above " + rule.dump());
        } else if (keyword == "exclusiveMinimum") {
            if (number && value <= rule) complain(where, "is not above " + rule.dump());
        } else if (keyword == "required") {
            for (const auto& key : rule)
                if (!value.contains(key.get<std::string>())) complain(where, "lacks " + key.dump());
        } else if (keyword == "items") {
            for (size_t i = 0; i < value.size(); ++i)
                check(rule, value[i], where + "/" + std::to_string(i));
        } else if (keyword == "properties" || keyword == "patternProperties" ||
                   keyword == "additionalProperties") {
            if (keyword != "additionalProperties" && schema.contains("additionalProperties"))
                return;
            check_members(schema, value, where);
        } else if (keyword != "$schema" && keyword != "$id" && keyword != "title" &&
                   keyword != "description" && keyword != "$defs") {
            complain(where, "schema keyword '" + keyword + "' is not understood here");
        }
    }
    void check_members(const Json& schema, const Json& value, const std::string& where) {
        const Json none = Json::object();
        const Json& named = schema.contains("properties") ? schema["properties"] : none;
        const Json& patterns =
            schema.contains("patternProperties") ? schema["patternProperties"] : none;
        for (const auto& [key, member] : value.items()) {
            const std::string place = where + "/" + key;
            bool known = named.contains(key);
            if (known) check(named[key], member, place);
            for (const auto& [pattern, rule] : patterns.items()) {
                if (!matches(key, pattern)) continue;
                known = true;
                check(rule, member, place);
            }
            if (known || !schema.contains("additionalProperties")) continue;
            const Json& others = schema["additionalProperties"];
            if (others.is_object()) check(others, member, place);
            else if (!others.get<bool>()) complain(place, "is not in the schema");
        }
    }

    const Json& root_;
    std::vector<std::string> complaints_;
};

const Json& schema() {
    static const Json read = [] {
        std::ifstream file("docs/schemas/run.schema.json");
        REQUIRE(file);
        return Json::parse(file);
    }();
    return read;
}

std::vector<std::string> complaints(const Json& result) {
    return Validator(schema()).complaints(result);
}

} // namespace

TEST_CASE("a full result, one with bins and an empty one fit the published schema") {
    CHECK(complaints(Json::parse(to_json(sample_result()))) == std::vector<std::string>());
    CHECK(complaints(Json::parse(to_json(sample_result(), {.bins = true}))) ==
          std::vector<std::string>());
    CHECK(complaints(Json::parse(to_json(RunResult()))) == std::vector<std::string>());
}

TEST_CASE("the schema is strict: each key is required, and no other is allowed") {
    const Json good = Json::parse(to_json(sample_result(), {.bins = true}));
    // Any object with a fixed set of keys: without one of them, or with one more, it does not fit.
    int tried = 0;
    for (const char* place : {"",
                              "/run",
                              "/jobs/0",
                              "/jobs/0/read",
                              "/jobs/0/read/lat_ns",
                              "/jobs/0/latency_ms",
                              "/jobs/0/iodepth_level",
                              "/loads/0",
                              "/loads/0/read",
                              "/stations/0",
                              "/cpu/0",
                              "/spans/0",
                              "/bottleneck",
                              "/bound/0",
                              "/bound/0/cut/0",
                              "/integrity",
                              "/checks/0",
                              "/timeline/0",
                              "/series",
                              "/assumptions/0",
                              "/full_size/0"}) {
        const Json::json_pointer at{std::string(place)};
        for (const auto& [key, value] : good.at(at).items()) {
            if (key == "bins" || key == "percentile") continue; // optional, as in fio
            Json without = good;
            without[at].erase(key);
            CHECK(complaints(without).size() == 1);
            ++tried;
        }
        Json with = good;
        with[at]["surplus"] = 1;
        CHECK(complaints(with).size() == 1);
    }
    CHECK(tried > 150);
    Json text_for_number = good;
    text_for_number["loads"][0]["p99_ns"] = "1 ms";
    CHECK(complaints(text_for_number).size() == 1);
}

TEST_CASE("JSON gives times as integer nanoseconds and fractions from 0 to 1") {
    const Json json = Json::parse(to_json(sample_result()));
    CHECK(json["run"]["simulated_ns"] == 500'000'000);
    CHECK(json["timeline"][0]["at_ns"] == 100'000'000);
    CHECK(json["bottleneck"]["utilisation"] == 0.984);
    CHECK(json["full_size"][0]["value_ns"] == 31'220'000'000'000);
    CHECK(json["bound"][0]["write_bytes_per_s"] == 14e9);
    CHECK(json["bound"][0]["cut"].size() == 3);
    CHECK(json["bound"][0]["cut"][2]["direction"] == "write");
    CHECK(json["bound"][1]["read_bytes_per_s"].is_null());
    const Json& mixed = json["loads"][0];
    CHECK(mixed["mean_ns"] ==
          std::llround((20'000 * 98'100.0 + 5'000 * (30e3 * 0.99 + 3e9 * 0.01)) / 25'000));
    CHECK(mixed["max_ns"] == 3'000'000'000);
    CHECK(mixed["iops"].get<double>() == Approx(50'000));
    CHECK(mixed["bandwidth_bytes"].get<double>() == Approx(50'000 * 4096.0));
    CHECK(mixed["iops_ci95"] == 0.006);
    CHECK(mixed["read"]["ios"] == 20'000);
    CHECK(mixed["write"]["iops"].get<double>() == Approx(10'000));
}

TEST_CASE("percentiles without enough I/Os and intervals that are not known are null") {
    const Json probe = Json::parse(to_json(sample_result()))["loads"][1]; // 500 I/Os
    CHECK(probe["p95_ns"].is_number_integer());
    CHECK(probe["p99_ns"].is_null());
    CHECK(probe["p999_ns"].is_null());
    CHECK(probe["iops_ci95"].is_null());
    CHECK(probe["write"]["mean_ns"].is_null());
    CHECK(probe["write"]["max_ns"].is_null());
    CHECK(probe["write"]["ios"] == 0);
}

TEST_CASE("a load's percentile is that of its merged directions, not a mean of two percentiles") {
    const LoadResult load = sample_result().loads[0];
    Histogram together;
    for (const FlowResult* flow : {&load.read, &load.write}) together.merge(flow->latency);
    CHECK(total(load).latency.percentile(0.99) == together.percentile(0.99));
    CHECK(total(load).latency.count() == 25'000);
    CHECK(total(load).bytes == 25'000 * 4096);
}

TEST_CASE("the same result is the same text, and broken UTF-8 does not lose it") {
    CHECK(to_json(sample_result()) == to_json(sample_result()));
    RunResult result = sample_result();
    result.run.title = "caf\xe9";
    CHECK(complaints(Json::parse(to_json(result))).empty());
    CHECK(to_json(result, {.indent = -1}).find('\n') == to_json(result, {.indent = -1}).size() - 1);
}

TEST_CASE(
    "a run fails on a differing block, a differing stripe, a failed check, and nothing else") {
    CHECK_FALSE(failed(sample_result()));
    RunResult a = sample_result(), b = a, c = a, d = a;
    a.integrity.mismatches = 1;
    CHECK(failed(a));
    b.integrity.scrub_mismatches = 1;
    CHECK(failed(b));
    c.checks[1].ok = false;
    CHECK(failed(c));
    d.run.partial = true;
    CHECK_FALSE(failed(d));
}
