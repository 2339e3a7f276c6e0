#include "sim/scenario/knee.hpp"
#include "sim/base/text.hpp"
#include "sim/report/write_file.hpp"
#include "sim/scenario/build.hpp"
#include "sim/scenario/observer.hpp"
#include "sim/scenario/run.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace storlab {

namespace {
constexpr double confidence = 0.02; // of each point
constexpr double open_shares[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
constexpr int refinements = 2; // rounds of two points each between those around a target
constexpr int64_t least_up_to = 256;
constexpr double most_in_flight = 65536;

} // namespace

LatencyTarget parse_target(const std::string& text) {
    const size_t equals = text.find('=');
    LatencyTarget t;
    if (equals != std::string::npos) t.statistic = text.substr(0, equals);
    const std::vector<std::string> known{"mean", "p50", "p95", "p99", "p99.9"};
    if (!std::count(known.begin(), known.end(), t.statistic))
        throw InputError({"--target", 0, 0}, in_quotes(t.statistic) + " is not " +
                                                 joined(known, ", ") +
                                                 "; write, for example, p99=1ms");
    if (std::count(known.begin(), known.end(), text))
        throw InputError({"--target", 0, 0},
                         in_quotes(text) + " of how much; write, for example, " + text + "=1ms");
    const std::string value = equals == std::string::npos ? text : text.substr(equals + 1);
    t.at_most = parse_duration(value, {"--target", 0, 0});
    if (t.at_most <= Duration{})
        throw InputError({"--target", 0, 0}, "a latency target is above zero, not " + value);
    return t;
}

std::vector<CurvePoint> curve_of(const KneeReport& report) {
    const std::string statistic = report.target ? report.target->statistic : "mean";
    std::vector<CurvePoint> curve;
    for (const KneePoint& p : report.points) {
        if (!p.answer.failure.empty()) continue;
        const LoadFigures& f = p.answer.loads.at(report.load);
        curve.push_back({p.load, f.iops, f.mean_s,
                         statistic == "mean"  ? std::optional<double>(f.mean_s)
                         : statistic == "p50" ? f.p50_s
                         : statistic == "p95" ? f.p95_s
                         : statistic == "p99" ? f.p99_s
                                              : f.p999_s});
    }
    return curve;
}

namespace {
bool can_be_deeper(fio::Job j) { // an engine without queue, or thinking between I/Os, cannot
    const int64_t now = fio::effective_depth(j).per_clone;
    j.iodepth = 2 * now;
    return fio::effective_depth(j).per_clone > now;
}
// So many I/Os in flight, spread over the jobs as they are now: fewer clones where there are not
// enough for all, then more depth.
void set_depth(LoadSchema& l, double amount) {
    const double now = static_cast<double>(l.in_flight());
    for (fio::Job& j : l.jobs) { // of one machine
        const double share = static_cast<double>(fio::effective_depth(j).total) / now;
        const auto wanted = std::max<int64_t>(1, std::llround(amount * share));
        const bool deep = can_be_deeper(j);
        const int64_t clones = deep ? std::min(j.numjobs, wanted) : wanted;
        j.numjobs = std::min(clones, fio::max_clones);
        if (deep) j.iodepth = std::max<int64_t>(1, (wanted + clones / 2) / clones);
    }
}
void set_arrivals(LoadSchema& l, double per_second) {
    int64_t clones = 0;
    for (const fio::Job& j : l.jobs) clones += j.numjobs * std::ssize(l.from);
    const Iops each(per_second / static_cast<double>(clones));
    if (!l.open)
        for (fio::Job& j : l.jobs) j.rate_process = fio::RateProcess::poisson;
    l.open = true;
    for (fio::Job& j : l.jobs) { // what a job does not do takes no share
        const double reads = !j.writes() ? 1 : !j.reads() ? 0 : j.rwmixread / 100.0;
        j.rate_iops = {Iops(each.per_second() * reads), Iops(each.per_second() * (1 - reads))};
    }
}
void set_closed(LoadSchema& l) {
    l.open = false;
    for (fio::Job& j : l.jobs) j.rate_iops = {}, j.rate = {};
}
} // namespace

Scenario with_load(const Scenario& scenario, const std::string& load, bool open, double amount) {
    Scenario s = scenario;
    for (LoadSchema& l : s.loads) {
        if (l.name != load) continue;
        if (open) set_arrivals(l, amount);
        else {
            set_closed(l);
            set_depth(l, amount);
        }
    }
    s.timeline.clear();
    if (s.run.until != Until::duration) {
        s.run.until = Until::confident;
        s.run.confidence = std::max(s.run.confidence, confidence);
    }
    return s;
}

namespace {
class Sweep {
public:
    Sweep(const Scenario& s, const KneeOptions& o) : s_(s), o_(o) {}
    KneeReport go();

private:
    const Scenario& s_;
    const KneeOptions& o_;
    KneeReport report_;

    const LoadSchema& the_load() const;
    const LoadSchema& varied(const Scenario& s) const;
    int64_t most_that_fits(int64_t asked);
    void run_at(const std::vector<double>& amounts, bool open);
    std::vector<RunAnswer> answers_of(const std::vector<std::function<RunAnswer()>>& jobs) const;
    void closed();
    void open();
    void refine();
};

const LoadSchema& Sweep::the_load() const {
    std::vector<std::string> names;
    for (const LoadSchema& l : s_.loads) {
        if (l.name == o_.load || (o_.load.empty() && s_.loads.size() == 1)) return l;
        names.push_back(l.name);
    }
    throw InputError({"--load", 0, 0}, (o_.load.empty() ? "say which load to vary"
                                                        : "no load " + in_quotes(o_.load) +
                                                              did_you_mean(o_.load, names)) +
                                           "; there are " + joined(names, ", "));
}

const LoadSchema& Sweep::varied(const Scenario& s) const {
    return *std::find_if(s.loads.begin(), s.loads.end(),
                         [&](const LoadSchema& l) { return l.name == report_.load; });
}

// So many I/Os in flight, or as many as the slice takes: 0 if it takes none.
int64_t Sweep::most_that_fits(int64_t asked) {
    uint64_t scale = 0;
    const auto fits = [&](int64_t n) {
        const Scenario s = with_load(s_, report_.load, false, static_cast<double>(n));
        scale = s.run.scale ? s.run.scale : choose_scale(s);
        return scale == 1 || std::all_of(s.loads.begin(), s.loads.end(), [&](const LoadSchema& l) {
                   return covered_by_writes(l, s, scale) <= most_covered;
               });
    };
    if (fits(asked)) return asked;
    const uint64_t scale_asked = scale;
    int64_t good = 0, bad = asked;
    while (bad - good > 1) {
        const int64_t middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
    }
    if (good > 0)
        report_.notes.push_back(
            fmt::format("at scale {} writes of more than {} I/Os in flight would meet as they do "
                        "not on real drives: not as many as {}",
                        scale_asked, good, asked));
    return good;
}

// What a closed load is run with may be more than was asked for: clones on several machines have
// one I/O in flight each at least.
void Sweep::run_at(const std::vector<double>& amounts, bool open) {
    std::vector<double> loads;
    std::vector<std::function<RunAnswer()>> jobs;
    const auto there = [&](double load) {
        return std::any_of(report_.points.begin(), report_.points.end(),
                           [&](const KneePoint& p) { return p.load == load; }) ||
               std::find(loads.begin(), loads.end(), load) != loads.end();
    };
    for (const double amount : amounts) {
        const Scenario s = with_load(s_, report_.load, open, amount);
        const double load = open ? amount : static_cast<double>(varied(s).in_flight());
        if (there(load)) continue;
        loads.push_back(load);
        jobs.push_back([this, s] {
            RunControl control;
            if (o_.go_on) control.progress = [this](const Progress&) { return o_.go_on(); };
            return answer_of(run(s, control));
        });
    }
    std::vector<RunAnswer> answers = answers_of(jobs);
    for (size_t i = 0; i < loads.size(); i++)
        report_.points.push_back({loads[i], std::move(answers[i])});
    std::sort(report_.points.begin(), report_.points.end(),
              [](const KneePoint& a, const KneePoint& b) { return a.load < b.load; });
}

std::vector<RunAnswer>
Sweep::answers_of(const std::vector<std::function<RunAnswer()>>& jobs) const {
    if (!o_.go_on) {
        ProcessOptions p;
        p.at_once = processes_at_once();
        const bool terminal = isatty(STDERR_FILENO);
        p.told = [&](size_t done) {
            if (terminal) std::fprintf(stderr, "\r%zu of %zu points", done, jobs.size());
        };
        std::vector<RunAnswer> answers = run_in_processes(jobs, p);
        if (terminal) std::fprintf(stderr, "\r%-30s\r", "");
        return answers;
    }
    std::vector<RunAnswer> answers(jobs.size());
    for (size_t i = 0; i < jobs.size(); i++) {
        try {
            if (o_.go_on()) answers[i] = jobs[i]();
            else answers[i].failure = "stopped before it";
        } catch (const std::exception& error) { answers[i].failure = error.what(); }
    }
    return answers;
}

void Sweep::closed() {
    int64_t up_to = o_.up_to.value_or(std::max(least_up_to, 4 * the_load().in_flight()));
    if (const int64_t fits = most_that_fits(up_to)) up_to = fits; // otherwise each point says why
    std::vector<double> amounts;
    for (int64_t n = 1; n < up_to; n *= 2) amounts.push_back(static_cast<double>(n));
    amounts.push_back(static_cast<double>(up_to));
    run_at(amounts, false);
}

// What the load can have at most is what it gets closed, with much in flight.
void Sweep::open() {
    int64_t deep = o_.up_to.value_or(std::max(least_up_to, 4 * the_load().in_flight()));
    if (const int64_t fits = most_that_fits(deep)) deep = fits;
    run_at({static_cast<double>(deep)}, false);
    const RunAnswer full = report_.points.front().answer;
    deep = static_cast<int64_t>(report_.points.front().load);
    report_.points.clear();
    if (!full.failure.empty()) {
        report_.notes.push_back("the load's capacity could not be found: " + full.failure);
        return;
    }
    const double most = full.loads.at(report_.load).iops;
    report_.notes.push_back(fmt::format("closed, with {} I/Os in flight, the load reaches {} IOPS",
                                        deep, format_count(most)));
    std::vector<double> amounts;
    for (const double share : open_shares) amounts.push_back(share * most);
    run_at(amounts, true);
}

// Points between the last that meets the target and the next.
void Sweep::refine() {
    for (int round = 0; round < refinements; round++) {
        const std::vector<CurvePoint> curve = curve_of(report_);
        const auto within = load_within(curve, o_.target->at_most.in_seconds());
        if (!within || within->beyond || within->last + 1 >= curve.size()) return;
        const double from = curve[within->last].load, to = curve[within->last + 1].load;
        std::vector<double> amounts;
        for (const double share : {1.0 / 3, 2.0 / 3}) {
            const double at = from + share * (to - from);
            amounts.push_back(report_.open ? at : std::round(at));
        }
        std::erase_if(amounts, [&](double a) { return a <= from || a >= to; });
        amounts.erase(std::unique(amounts.begin(), amounts.end()), amounts.end());
        if (amounts.empty()) return;
        run_at(amounts, report_.open);
    }
}

KneeReport Sweep::go() {
    const LoadSchema& l = the_load();
    report_.title = s_.title;
    report_.scenario = s_.file;
    report_.hash = s_.hash;
    report_.seed = s_.run.seed;
    report_.load = l.name;
    report_.what = LoadObserver(l, {}).load_result(Duration::s(1)).what;
    report_.open = o_.open || l.open;
    report_.target = o_.target;
    if (!s_.timeline.empty())
        report_.notes.push_back("the timeline was left out: every point is a steady state");
    if (report_.open && !l.open)
        report_.notes.push_back("arrivals are independent of each other (Poisson)");
    if (report_.open) open();
    else closed();
    if (o_.target) refine();
    const std::string own = l.name + "/threads";
    if (std::any_of(report_.points.begin(), report_.points.end(),
                    [&](const KneePoint& p) { return p.answer.binds.starts_with(own); }))
        report_.notes.push_back(
            "where the load's own threads bind, the storage could do more: give "
            "the load more jobs");
    return std::move(report_);
}
} // namespace

KneeReport find_knee(const Scenario& s, const KneeOptions& o) {
    if (o.up_to && (*o.up_to < 1 || static_cast<double>(*o.up_to) > most_in_flight))
        throw InputError({"--up-to", 0, 0}, fmt::format("{} I/Os in flight; expected 1 to {}",
                                                        *o.up_to, most_in_flight));
    return Sweep(s, o).go();
}

int knee(const Scenario& s, const KneeOptions& o) {
    const KneeReport report = find_knee(s, o);
    std::fputs(knee_text(report).c_str(), stdout);
    if (!o.json.empty()) write_whole_file(o.json, knee_json(report));
    return curve_of(report).empty() ? 1 : 0;
}

} // namespace storlab
