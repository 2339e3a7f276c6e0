#include "sim/scenario/validate_runs.hpp"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace storlab {

namespace {
using Json = nlohmann::json;
using Wall = std::chrono::steady_clock;

std::optional<double> maybe(const Json& j) {
    return j.is_null() ? std::nullopt : std::optional<double>(j.get<double>());
}
Json maybe(const std::optional<double>& x) { return x ? Json(*x) : Json(); }

LoadFigures figures_of(const LoadResult& l) {
    const FlowResult all = total(l);
    const auto percentile = [&](double p) {
        const auto d = all.latency.percentile(p);
        return d ? std::optional<double>(d->in_seconds()) : std::nullopt;
    };
    LoadFigures f;
    f.iops = iops(l);
    f.bytes_per_second = bandwidth_bytes(l);
    f.mean_s = all.latency.empty() ? 0 : all.latency.mean_ns() * 1e-9;
    f.p50_s = percentile(0.5), f.p95_s = percentile(0.95);
    f.p99_s = percentile(0.99), f.p999_s = percentile(0.999);
    f.iops_ci95 = l.iops_ci95;
    return f;
}
} // namespace

RunAnswer answer_of(const RunResult& r) {
    RunAnswer a;
    for (const LoadResult& l : r.loads) {
        const FlowResult all = total(l);
        a.loads[l.name] = figures_of(l);
        if (!l.read.latency.empty() && !l.write.latency.empty()) {
            LoadResult half = l;
            half.write = {}, half.iops_ci95 = {};
            a.loads[l.name + "/reads"] = figures_of(half);
            half.write = l.write, half.read = {};
            a.loads[l.name + "/writes"] = figures_of(half);
        }
        if (all.latency.empty()) a.failure = "load " + l.name + " finished no I/O";
        if (all.errors) a.failure = fmt::format("load {}: {} I/Os failed", l.name, all.errors);
    }
    for (const CpuResult& c : r.cpu) a.cpu[c.where] = c.busy * 100;
    const BottleneckResult& b = r.bottleneck;
    if (!b.name.empty()) a.binds = fmt::format("{} {:.0f} %", b.name, b.utilisation * 100);
    a.trace_hash = r.run.trace_hash;
    a.partial = r.run.partial;
    if (r.integrity.mismatches || r.integrity.scrub_mismatches) a.failure = "data differs";
    for (const CheckResult& c : r.checks)
        if (!c.ok) a.failure = "check failed: " + c.text;
    return a;
}

std::string to_json(const RunAnswer& a) {
    Json loads = Json::object();
    for (const auto& [name, f] : a.loads)
        loads[name] = {f.iops,         f.bytes_per_second, f.mean_s,        maybe(f.p50_s),
                       maybe(f.p95_s), maybe(f.p99_s),     maybe(f.p999_s), maybe(f.iops_ci95)};
    const Json j{{"failure", a.failure}, {"loads", loads},        {"cpu", a.cpu},
                 {"binds", a.binds},     {"trace", a.trace_hash}, {"partial", a.partial}};
    return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunAnswer answer_from_json(const std::string& text) {
    RunAnswer a;
    try {
        const Json j = Json::parse(text);
        a.failure = j.at("failure");
        for (const auto& [name, f] : j.at("loads").items())
            a.loads[name] = {f.at(0),        f.at(1),        f.at(2),        maybe(f.at(3)),
                             maybe(f.at(4)), maybe(f.at(5)), maybe(f.at(6)), maybe(f.at(7))};
        a.cpu = j.at("cpu");
        a.binds = j.at("binds");
        a.trace_hash = j.at("trace");
        a.partial = j.at("partial");
    } catch (const Json::exception&) {
        a = {};
        a.failure = "the run gave no answer";
    }
    return a;
}

size_t processes_at_once() {
    constexpr int most = 8; // a run may hold 0.4 GB
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 1;
    return static_cast<size_t>(std::clamp(CPU_COUNT(&cpus), 1, most));
}

namespace {
RunAnswer failure(std::string why) {
    RunAnswer a;
    a.failure = std::move(why);
    return a;
}

// One job under way.
struct Child {
    size_t job = 0;
    pid_t pid = 0;
    int pipe = -1;
    std::string text;
    Wall::time_point until;
    bool too_long = false, ended = false;
};

[[noreturn]] void be_child(const std::function<RunAnswer()>& job, int out, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); // it died before that was set
    std::signal(SIGINT, SIG_DFL);
    std::string text;
    try {
        text = to_json(job());
    } catch (const std::bad_alloc&) {
        text = to_json(failure("out of memory"));
    } catch (const std::exception& error) { text = to_json(failure(error.what())); }
    for (size_t at = 0; at < text.size();) {
        const ssize_t n = write(out, text.data() + at, text.size() - at);
        if (n < 0 && errno != EINTR) _exit(1);
        if (n > 0) at += static_cast<size_t>(n);
    }
    _exit(0);
}

std::optional<Child> start(size_t number, const std::function<RunAnswer()>& job, Duration limit) {
    int ends[2];
    if (pipe(ends) != 0) return std::nullopt;
    std::fflush(nullptr); // what waits in our buffers must not be written twice
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_child(job, ends[1], parent);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return std::nullopt;
    }
    const auto ns = std::chrono::nanoseconds(static_cast<int64_t>(limit.in_seconds() * 1e9));
    return Child{number, pid, ends[0], {}, Wall::now() + ns, false, false};
}

// True at its end.
bool read_some(Child& c) {
    char buffer[4096];
    const ssize_t n = read(c.pipe, buffer, sizeof buffer);
    if (n > 0) c.text.append(buffer, static_cast<size_t>(n));
    return n == 0 || (n < 0 && errno != EINTR);
}

RunAnswer finish(Child& c) {
    close(c.pipe);
    int status = 0;
    while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {}
    if (c.too_long) return failure("took too long and was ended");
    if (WIFSIGNALED(status))
        return failure(
            fmt::format("crashed: signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
    return answer_from_json(c.text);
}

// Waits until something happens to a child, at most until the first limit.
void wait_for(std::vector<Child>& children) {
    std::vector<pollfd> ends;
    auto first = Wall::time_point::max();
    for (const Child& c : children) {
        ends.push_back({c.pipe, POLLIN, 0});
        if (!c.too_long) first = std::min(first, c.until);
    }
    int patience = -1; // all have been killed: their ends come
    if (first < Wall::time_point::max()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Wall::now());
        patience = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
    }
    if (poll(ends.data(), ends.size(), patience) < 0) return; // interrupted: look again
    for (size_t i = 0; i < children.size(); i++) {
        Child& c = children[i];
        if (!c.too_long && Wall::now() >= c.until) {
            c.too_long = true;
            kill(c.pid, SIGKILL);
        }
        if (ends[i].revents && read_some(c)) c.ended = true;
    }
}
} // namespace

std::vector<RunAnswer> run_in_processes(const std::vector<std::function<RunAnswer()>>& jobs,
                                        const ProcessOptions& options) {
    std::vector<RunAnswer> answers(jobs.size());
    std::vector<Child> children;
    size_t next = 0, done = 0;
    const auto tell = [&] {
        done++;
        if (options.told) options.told(done);
    };
    while (done < jobs.size()) {
        while (next < jobs.size() && children.size() < std::max<size_t>(options.at_once, 1)) {
            const size_t n = next++;
            if (auto child = start(n, jobs[n], options.limit))
                children.push_back(std::move(*child));
            else answers[n] = failure("no process could be started for it"), tell();
        }
        if (children.empty()) continue;
        wait_for(children);
        for (Child& c : children)
            if (c.ended) answers[c.job] = finish(c), tell();
        std::erase_if(children, [](const Child& c) { return c.ended; });
    }
    return answers;
}

} // namespace storlab
