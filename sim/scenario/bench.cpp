#include "sim/scenario/bench.hpp"
#include "sim/base/random.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/report/write_file.hpp"
#include "sim/scenario/bench_text.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/run.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace storlab {

namespace {
constexpr const char* calendar_case = "calendar";
constexpr const char* reference_case = "reference_loop";

// What the design promises, per second of CPU time, contents verified.
const std::map<std::string, double, std::less<>> floors = {{"one_drive_randread", 1.5e6},
                                                           {"raid5_randread", 1.0e6},
                                                           {"raid5_randrw", 0.5e6},
                                                           {"remote_randread", 0.5e6},
                                                           {calendar_case, 15e6}};

double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// What a child process tells its parent, through a pipe.
struct Answer {
    BenchFigures figures;
    uint64_t hash = 0;      // of what was simulated
    char failure[400] = {}; // why not
};
void fail(Answer& a, const std::string& why) {
    std::snprintf(a.failure, sizeof a.failure, "%s", why.empty() ? "no reason given" : why.c_str());
}

// The hold model: take the earliest event, put it back an exponential time later.
Answer hold() {
    constexpr size_t pending = 1024, increments = 1 << 14; // drawn ahead: the calendar is measured
    constexpr uint64_t events = 20'000'000;
    constexpr double mean_ps = 100e6;
    std::vector<Duration> ahead(increments);
    Random random(1, "bench/calendar");
    for (Duration& d : ahead)
        d = Duration::ps(1 + static_cast<int64_t>(-mean_ps * std::log(1 - random.uniform())));
    Calendar calendar;
    std::vector<Event> all(pending);
    for (size_t i = 0; i < pending; i++) calendar.schedule(all[i], Instant() + ahead[i]);
    Answer a;
    const double from = cpu_seconds();
    for (uint64_t i = 0; i < events; i++) {
        Event* const e = calendar.pop(Instant::never());
        a.hash += static_cast<uint64_t>(e->at.since_start().count_ps());
        calendar.schedule(*e, e->at + ahead[i % increments]);
    }
    a.figures.cpu_seconds = cpu_seconds() - from;
    a.figures.events = events;
    return a;
}

// Fixed work that has nothing to do with storlab: a step mixes a number and touches 64 MiB at
// random.
Answer reference_loop() {
    constexpr uint64_t steps = 20'000'000;
    std::vector<uint64_t> memory((64 << 20) / sizeof(uint64_t), 1);
    Answer a;
    const double from = cpu_seconds();
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t& word = memory[mix(a.hash + i) % memory.size()];
        word += i;
        a.hash ^= word;
    }
    a.figures.cpu_seconds = cpu_seconds() - from;
    a.figures.events = steps;
    return a;
}

Answer run_scenario(const std::string& file, bool check) {
    ScenarioOptions o;
    o.parts_folder = parts_folder();
    if (!check) o.settings.push_back("run/check=false");
    const Scenario scenario = load_scenario(file, o);
    RunCost cost;
    const RunResult result = run(scenario, {}, &cost);
    Answer a;
    if (failed(result)) {
        for (const CheckResult& c : result.checks)
            if (!c.ok) fail(a, c.text);
        if (!a.failure[0]) fail(a, "contents differed");
        return a;
    }
    a.figures = {cost.cpu_seconds, cost.ios, cost.events, cost.frame_bytes, 0, 0};
    for (const LoadSchema& l : scenario.loads)
        for (const fio::Job& j : l.jobs)
            a.figures.outstanding += static_cast<uint64_t>(fio::effective_depth(j).total);
    a.hash = hash_name(result.run.trace_hash);
    return a;
}

Answer read_answer(int from) {
    Answer a;
    size_t have = 0;
    while (have < sizeof a) {
        const ssize_t n = read(from, reinterpret_cast<char*>(&a) + have, sizeof a - have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += static_cast<size_t>(n);
    }
    if (have < sizeof a) {
        a = {};
        fail(a, "the process of the run ended without an answer");
    }
    return a;
}

// In a process of its own: memory and coroutine frames of one run do not help or burden the next.
Answer in_child(const std::function<Answer()>& work) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe for a bench run");
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process for a bench run");
    if (child == 0) {
        close(ends[0]);
        Answer a;
        try {
            a = work();
        } catch (const std::exception& error) { fail(a, error.what()); }
        const bool told = write(ends[1], &a, sizeof a) == static_cast<ssize_t>(sizeof a);
        _exit(told ? 0 : 1);
    }
    close(ends[1]);
    Answer a = read_answer(ends[0]);
    close(ends[0]);
    rusage usage{};
    int status = 0;
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {}
    a.figures.peak_rss = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
    return a;
}

std::vector<std::string> case_names(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder))
        if (file.path().extension() == ".yaml") names.push_back(file.path().stem().string());
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
        const bool ga = a.starts_with("growth"), gb = b.starts_with("growth");
        return ga != gb ? gb : natural_less(a, b);
    });
    names.emplace_back(calendar_case);
    names.emplace_back(reference_case);
    return names;
}

std::vector<std::string> chosen(const std::vector<std::string>& known,
                                const std::vector<std::string>& asked) {
    Complaints complaints;
    for (const std::string& name : asked)
        if (std::find(known.begin(), known.end(), name) == known.end())
            complaints.add({"storlab bench", 0, 0},
                           "no case '" + name + "'" + did_you_mean(name, known));
    complaints.throw_if_any();
    return asked.empty() ? known : asked;
}

void tell(const std::string& what) {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r%-60s\r", what.c_str());
}

// A case's runs must all simulate the same thing.
void add_run(BenchCase& c, const Answer& a, uint64_t& hash) {
    if (a.failure[0]) c.failure = a.failure;
    else if (!c.runs.empty() && a.hash != hash)
        c.failure = "two runs of the same scenario and seed differ";
    else {
        hash = a.hash;
        c.runs.push_back(a.figures);
    }
}
} // namespace

// Rounds over all cases, so that a busy minute of the machine spoils one run of each, not one case.
int bench(const BenchOptions& options) {
    const std::string folder = installed_folder("scenarios/bench");
    BenchReport report;
    std::map<std::string, uint64_t> hashes;
    for (const std::string& name : chosen(case_names(folder), options.names)) {
        if (name == reference_case || report.find(name)) continue;
        BenchCase& c = report.cases.emplace_back();
        c.name = name;
        if (const auto floor = floors.find(name); floor != floors.end()) c.floor = floor->second;
    }
    const auto file = [&](const BenchCase& c) { return folder + "/" + c.name + ".yaml"; };
    for (int round = 1; round <= options.repeat; round++) {
        for (BenchCase& c : report.cases) {
            if (!c.failure.empty()) continue;
            tell(c.name + ", run " + std::to_string(round) + " of " +
                 std::to_string(options.repeat));
            const bool built_in = c.name == calendar_case;
            add_run(c, in_child([&] { return built_in ? hold() : run_scenario(file(c), true); }),
                    hashes[c.name]);
        }
        report.reference_loop.push_back(in_child(reference_loop).figures.rate());
    }
    for (BenchCase& c : report.cases) {
        if (!c.failure.empty() || c.name == calendar_case) continue;
        tell(c.name + ", unverified");
        const Answer a = in_child([&] { return run_scenario(file(c), false); });
        if (a.failure[0]) c.failure = std::string("unverified: ") + a.failure;
        else c.unverified = a.figures;
    }
    tell("");
    std::fputs(bench_text(report).c_str(), stdout);
    if (!options.json.empty()) write_whole_file(options.json, bench_json(report));
    return report.failed() ? 1 : 0;
}

} // namespace storlab
