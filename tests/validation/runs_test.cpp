#include "sim/scenario/validate_runs.hpp"
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace storlab;
using Jobs = std::vector<std::function<RunAnswer()>>;

namespace {
RunAnswer answer(double iops) {
    RunAnswer a;
    a.loads["l"] = {iops, iops * 4096, 1e-4, 1e-4, 1.5e-4, 2e-4, std::nullopt, 0.01};
    a.cpu["host"] = 12.5;
    a.binds = "host/lock 99 %";
    a.trace_hash = "00ff";
    return a;
}
void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
} // namespace

TEST_CASE("an answer passes through JSON unchanged, doubles to the last bit") {
    RunAnswer a = answer(1.0 / 3 * 1e6);
    a.loads["second"] = {1, 2, 3, {}, {}, {}, {}, {}};
    a.partial = true;
    const RunAnswer b = answer_from_json(to_json(a));
    CHECK(b.failure.empty());
    REQUIRE(b.loads.size() == 2);
    CHECK(b.loads.at("l").iops == a.loads.at("l").iops);
    CHECK(b.loads.at("l").p99_s == a.loads.at("l").p99_s);
    CHECK(b.loads.at("l").p50_s == a.loads.at("l").p50_s);
    CHECK(b.loads.at("l").p95_s == a.loads.at("l").p95_s);
    CHECK_FALSE(b.loads.at("l").p999_s);
    CHECK(b.loads.at("l").iops_ci95 == a.loads.at("l").iops_ci95);
    CHECK_FALSE(b.loads.at("second").p99_s);
    CHECK_FALSE(b.loads.at("second").iops_ci95);
    CHECK(b.cpu == a.cpu);
    CHECK(b.binds == a.binds);
    CHECK(b.trace_hash == "00ff");
    CHECK(b.partial);
    for (const char* text : {"", "{", "[]", "{\"failure\": 3}", "{\"failure\": \"\"}"})
        CHECK(answer_from_json(text).failure == "the run gave no answer");
}

TEST_CASE("answers come back in the order of the jobs, whichever ends first") {
    for (const size_t at_once : {1, 2, 5}) {
        Jobs jobs;
        for (int i = 0; i < 5; i++)
            jobs.push_back([i] {
                nap((5 - i) * 20);
                return answer(i);
            });
        std::vector<size_t> told;
        ProcessOptions o;
        o.at_once = at_once;
        o.told = [&](size_t done) { told.push_back(done); };
        const auto answers = run_in_processes(jobs, o);
        REQUIRE(answers.size() == 5);
        for (int i = 0; i < 5; i++) CHECK(answers[size_t(i)].loads.at("l").iops == i);
        CHECK(told == std::vector<size_t>{1, 2, 3, 4, 5});
    }
}

TEST_CASE("jobs run in processes of their own, no more at once than asked") {
    // Each job holds a lock file's byte range of its own in time: counts who is inside.
    const std::string name = "/tmp/storlab-at-once-" + std::to_string(getpid());
    const auto job = [&] {
        const int f = open(name.c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
        RunAnswer a = answer(getpid());
        a.failure = f < 0 || write(f, "+", 1) != 1 ? "no file" : "";
        nap(60);
        if (write(f, "-", 1) != 1) a.failure = "no file";
        return a;
    };
    ProcessOptions o;
    o.at_once = 2;
    const auto answers = run_in_processes(Jobs(6, job), o);
    std::map<double, int> processes;
    for (const RunAnswer& a : answers) {
        CHECK(a.failure.empty());
        processes[a.loads.at("l").iops]++;
    }
    CHECK(processes.size() == 6);
    CHECK_FALSE(processes.count(getpid()));
    char text[64];
    const int f = open(name.c_str(), O_RDONLY);
    const ssize_t n = read(f, text, sizeof text);
    close(f);
    unlink(name.c_str());
    REQUIRE(n == 12);
    int inside = 0, most = 0;
    for (ssize_t i = 0; i < n; i++) most = std::max(most, inside += text[i] == '+' ? 1 : -1);
    CHECK(most == 2);
}

TEST_CASE("a job that crashes, throws, ends early or never ends is one missing answer") {
    const Jobs jobs{[] { return answer(1); },
                    []() -> RunAnswer {
                        raise(SIGKILL);
                        return {};
                    },
                    []() -> RunAnswer { throw std::runtime_error("no such drive"); },
                    []() -> RunAnswer { _exit(0); },
                    []() -> RunAnswer {
                        for (;;) pause();
                    },
                    []() -> RunAnswer { throw std::bad_alloc(); },
                    [] { return answer(7); }};
    ProcessOptions o;
    o.at_once = 3;
    o.limit = Duration::ms(300);
    const auto answers = run_in_processes(jobs, o);
    CHECK(answers[0].failure.empty());
    CHECK(answers[1].failure == "crashed: signal 9 (Killed)");
    CHECK(answers[2].failure == "no such drive");
    CHECK(answers[3].failure == "the run gave no answer");
    CHECK(answers[4].failure == "took too long and was ended");
    CHECK(answers[5].failure == "out of memory");
    CHECK(answers[6].loads.at("l").iops == 7);
    CHECK(waitpid(-1, nullptr, WNOHANG) == -1); // nobody is left
}

TEST_CASE("an answer longer than a pipe holds arrives whole") {
    const auto job = [] {
        RunAnswer a = answer(1);
        for (int i = 0; i < 5000; i++) a.cpu["machine-" + std::to_string(i)] = i * 0.1;
        return a;
    };
    const auto answers = run_in_processes(Jobs(3, job), ProcessOptions{});
    for (const RunAnswer& a : answers) CHECK(a.cpu.size() == 5001);
    CHECK(answers[2].cpu.at("machine-4999") == 4999 * 0.1);
}

TEST_CASE("no jobs, no answers") {
    CHECK(run_in_processes({}, {}).empty());
    CHECK(processes_at_once() >= 1);
}

TEST_CASE("a run whose data differ, whose check fails or whose load did nothing is no answer") {
    RunResult r;
    LoadResult l;
    l.name = "l";
    l.measured = Duration::ms(10);
    for (int i = 0; i < 1000; i++) l.read.latency.record(Duration::us(100));
    l.read.bytes = 1000 * 4096;
    r.loads.push_back(l);
    r.cpu.push_back({"host", 0.25, {}});
    r.bottleneck = {"host/lock", 0.994, "lock", {}};
    const RunAnswer fine = answer_of(r);
    CHECK(fine.failure.empty());
    CHECK(fine.loads.at("l").iops == Approx(100e3));
    CHECK(fine.loads.at("l").bytes_per_second == Approx(409.6e6));
    CHECK(fine.loads.at("l").mean_s == Approx(100e-6));
    CHECK(fine.cpu.at("host") == Approx(25));
    CHECK(fine.binds == "host/lock 99 %");

    RunResult differs = r;
    differs.integrity.mismatches = 1;
    CHECK(answer_of(differs).failure == "data differs");
    RunResult unscrubbed = r;
    unscrubbed.integrity.scrub_mismatches = 1;
    CHECK(answer_of(unscrubbed).failure == "data differs");
    RunResult checked = r;
    checked.checks.push_back({"little", false, 0.2, 0.01, "Little 20 %"});
    CHECK(answer_of(checked).failure == "check failed: Little 20 %");
    RunResult errors = r;
    errors.loads[0].write.errors = 3;
    CHECK(answer_of(errors).failure == "load l: 3 I/Os failed");
    RunResult idle = r;
    idle.loads[0].read.latency = {};
    CHECK(answer_of(idle).failure == "load l finished no I/O");
}
