// The whole command, on a home folder of its own with one small testbed.
#include "sim/base/error.hpp"
#include "sim/scenario/validate.hpp"
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace storlab;
using Catch::Contains;

namespace {
const std::string scenario = R"(storlab: 1
machines:
  host:
    is: dell-r750
    cpu: {is: xeon-8380, sockets: 2}
    drives: {ssd: {is: memblaze-6926-12.8tb, state: filled}}
loads:
  l:
    fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 1}
    to: host/ssd/0
run: {until: duration, duration: 20ms, scale: 4096}
)";
// The fits of the drive, the server and the host name these rows.
const std::string testbed = R"y(storlab-validation: 1
testbed: small
title: One drive
sources: {s: "Review"}
runs:
  deep: {scenario: one.yaml, set: [loads/l/fio/iodepth=64, loads/l/fio/numjobs=4]}
  single: {scenario: one.yaml}
rows:
  - {id: d-4k-rr, workload: w, load: l, metric: iops, value: 1.5M IOPS, source: s, run: deep}
  - {id: d-4k-rw, workload: w, load: l, metric: iops, value: 1.5M IOPS, source: s, run: deep}
  - {id: d-64k-rw, workload: w, load: l, metric: iops, value: 1.5M IOPS, source: s, run: deep}
  - {id: d-1m-sr, workload: w, load: l, metric: iops, value: 1.5M IOPS, source: s, run: deep}
  - {id: d-1m-sw, workload: w, load: l, metric: iops, value: 1.5M IOPS, source: s, run: deep}
  - {id: l-gr-1mw-hi, workload: w, load: l, metric: iops, value: 1.5M IOPS, source: s, run: deep}
  - {id: p-mean, workload: w, load: l, metric: latency, value: 80 us, source: s, run: single}
  - {id: p-cpu, workload: w, load: l, metric: cpu, value: 0 %, source: s, run: single}
  - {id: nic-4kr-h1-iops, workload: w, load: l, metric: iops, value: 1.5M IOPS,
     source: s, run: deep}
  - {id: nic-4kw-h1r-iops, workload: w, load: l, metric: iops, value: 1.5M IOPS,
     source: s, run: deep}
roles:
  calibration: [{rows: "[dl]-*", why: the drive}, {rows: "nic-*", why: the host}]
)y";

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

struct Home {
    fs::path folder;
    Home() {
        char name[] = "/tmp/storlab-validate-XXXXXX";
        folder = mkdtemp(name);
        fs::create_directories(folder / "validation");
        fs::create_directories(folder / "scenarios/testbeds");
        fs::copy("scenarios/parts", folder / "scenarios/parts");
        write(folder / "scenarios/testbeds/one.yaml", scenario);
        write(folder / "validation/small.yaml", testbed);
        setenv("STORLAB_HOME", folder.c_str(), 1);
    }
    ~Home() {
        unsetenv("STORLAB_HOME");
        fs::remove_all(folder);
    }
    Home(const Home&) = delete;
    // Every occurrence; there must be one.
    void replace(const std::string& file, const std::string& old, const std::string& by) const {
        std::string text = text_of(folder / file);
        size_t at = text.find(old);
        REQUIRE(at != std::string::npos);
        for (; at != std::string::npos; at = text.find(old, at + by.size()))
            text.replace(at, old.size(), by);
        write(folder / file, text);
    }
};

struct Outcome {
    int code;
    std::string text;
    nlohmann::json json;
};
Outcome run_validate(const Home& home, ValidateOptions options = {}) {
    const fs::path out = home.folder / "out.txt", json = home.folder / "out.json";
    options.json = json.string();
    std::fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    std::FILE* const file = std::fopen(out.c_str(), "w");
    dup2(fileno(file), STDOUT_FILENO);
    std::fclose(file);
    const auto restore = [&] {
        std::fflush(stdout);
        dup2(before, STDOUT_FILENO);
        close(before);
    };
    int code = -1;
    try {
        code = validate(options);
    } catch (...) {
        restore();
        throw;
    }
    restore();
    return {code, text_of(out), nlohmann::json::parse(text_of(json))};
}
nlohmann::json row(const Outcome& o, const std::string& id) {
    for (const auto& r : o.json.at("rows"))
        if (r.at("id") == id) return r;
    return nullptr;
}
ValidateOptions recording() {
    ValidateOptions o;
    o.record = true;
    return o;
}
} // namespace

TEST_CASE("predictions are held against the record, and a slower part is found as the cause") {
    const Home home;
    const Outcome first = run_validate(home);
    CHECK(first.code == 0);
    CHECK_THAT(first.text, Contains("note: no record of row p-mean"));
    CHECK(row(first, "d-4k-rr").at("predicted").get<double>() == Approx(1.5e6).epsilon(0.05));
    CHECK(row(first, "p-mean").at("predicted").get<double>() == Approx(76).epsilon(0.1));
    CHECK(first.json.at("summary").at("small").at("rows") == 2);

    const Outcome recorded = run_validate(home, recording());
    CHECK(recorded.code == 0);
    CHECK_THAT(recorded.text, Contains("recorded: p-mean"));
    CHECK_THAT(run_validate(home, recording()).text,
               Contains("recorded: no prediction has changed"));

    const Outcome same = run_validate(home);
    CHECK(same.code == 0);
    CHECK(same.json.at("rows") == first.json.at("rows"));

    home.replace("scenarios/parts/memblaze-6926-12.8tb.yaml", "value: 70us", "value: 79us");
    const Outcome slower = run_validate(home);
    CHECK(slower.code == 1);
    CHECK_THAT(slower.text, Contains("GOT WORSE: p-mean") &&
                                Contains("memblaze-6926-12.8tb/t_read was 70us, is 79us"));
    CHECK(slower.json.at("passed") == false);

    const Outcome accepted = run_validate(home, recording());
    CHECK(accepted.code == 0);
    CHECK_THAT(accepted.text, Contains("recorded: p-mean") && Contains(" -> "));
    CHECK(run_validate(home).code == 0);
}

TEST_CASE("a run that cannot go on is a failed row, the others stand") {
    const Home home;
    // 256 writes of 1 MiB in a slice of 200 MB would meet: the run itself refuses.
    home.replace("validation/small.yaml", "single: {scenario: one.yaml}",
                 "single: {scenario: one.yaml, set: [loads/l/fio/rw=randwrite, "
                 "loads/l/fio/bs=1m, loads/l/fio/iodepth=256]}");
    const Outcome o = run_validate(home);
    CHECK(o.code == 1);
    CHECK(row(o, "p-mean").at("predicted").is_null());
    CHECK(row(o, "p-mean").at("error") == 1);
    CHECK_THAT(row(o, "p-mean").at("note"), Contains("of the slice"));
    CHECK(row(o, "d-4k-rr").at("predicted").is_number());
}

TEST_CASE("picked rows run what they need and no more") {
    const Home home;
    ValidateOptions options;
    options.rows = "p-*";
    const Outcome o = run_validate(home, options);
    CHECK(o.json.at("rows").size() == 2);
    CHECK_THAT(o.text, Contains("1 runs in "));
    options.rows = "q-*";
    CHECK_THROWS_WITH(validate(options), "--rows: error: no row matches 'q-*'");
    options = {};
    options.testbed = "smal";
    CHECK_THROWS_WITH(validate(options), Contains("no testbed 'smal'; did you mean 'small'?"));
}

TEST_CASE("a value fitted to a row that is no calibration row stops everything") {
    const Home home;
    home.replace("validation/small.yaml", "rows: \"[dl]-*\"", "rows: [d-1m-*, l-*]");
    ValidateOptions options;
    CHECK_THROWS_WITH(validate(options),
                      Contains("memblaze-6926-12.8tb.yaml:") &&
                          Contains("command_read is fitted to 'd-4k-rr', which is no calibration "
                                   "row but one of role prediction"));
    home.replace("validation/small.yaml", "id: d-4k-rr", "id: d-4k-rx");
    CHECK_THROWS_WITH(validate(options), Contains("'d-4k-rr', which is no published row"));
}

TEST_CASE("wrong files of all testbeds are said before anything runs") {
    const Home home;
    write(home.folder / "validation/other.yaml", "storlab-validation: 1\ntestbed: [\n");
    home.replace("validation/small.yaml", "metric: cpu", "metric: cp");
    try {
        validate({});
        FAIL("nothing was said");
    } catch (const InputError& error) {
        CHECK_THAT(error.what(), Contains("other.yaml:") && Contains("small.yaml:16:") &&
                                     Contains("'cp' is no metric"));
    }
}

TEST_CASE("a run whose settings are wrong names the run and the setting") {
    const Home home;
    home.replace("validation/small.yaml", "iodepth=64", "iodepth=many");
    CHECK_THROWS_WITH(validate({}),
                      Contains("small.yaml:6:3: error: the run 'deep' cannot be set up:") &&
                          Contains("many"));
    home.replace("validation/small.yaml", "loads/l/fio/iodepth=many", "machines/hots/is=x");
    CHECK_THROWS_WITH(validate({}), Contains("no 'hots' in 'machines'; did you mean 'host'?"));
}

TEST_CASE("a row says of which machine or load it is when there are several") {
    const Home home;
    home.replace("scenarios/testbeds/one.yaml", "loads:\n",
                 "loads:\n  m:\n    fio: {rw: randread, bs: 4k, iodepth: 1}\n    to: host/ssd/0\n");
    CHECK_THROWS_WITH(validate({}), Contains("small.yaml:9:5: error: say of which load this is, "
                                             "with 'of': m, l"));
    for (const std::string metric : {"metric: iops", "metric: latency"})
        home.replace("validation/small.yaml", metric, "of: l, " + metric);
    CHECK(run_validate(home).code == 0);
    home.replace("validation/small.yaml", "of: l, metric: latency", "of: n, metric: latency");
    CHECK_THROWS_WITH(validate({}), Contains("no load 'n' in"));
}

TEST_CASE("a row can be of the reads or of the writes of a mix") {
    const Home home;
    home.replace("scenarios/testbeds/one.yaml", "rw: randread", "rw: randrw");
    ValidateOptions options;
    options.rows = "p-mean";
    home.replace("validation/small.yaml", "metric: latency", "of: l/reads, metric: latency");
    CHECK(row(run_validate(home, options), "p-mean").at("predicted").get<double>() > 70);
    home.replace("validation/small.yaml", "of: l/reads", "of: l/writes");
    CHECK(row(run_validate(home, options), "p-mean").at("predicted").get<double>() < 40);
    home.replace("validation/small.yaml", "of: l/writes", "of: l/trims");
    CHECK_THROWS_WITH(validate(options), Contains("no load 'l/trims' in"));
}
