#include "sim/scenario/sensitivity.hpp"
#include "sim/base/path.hpp"
#include "sim/base/text.hpp"
#include "sim/report/write_file.hpp"
#include "sim/scenario/build.hpp"
#include "sim/scenario/run.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>

namespace storlab {

namespace {
constexpr double by = 0.2;

struct Total {
    double iops = 0, mean_s = 0;
};
Total total_of(const RunAnswer& a) {
    Total t;
    for (const auto& [name, f] : a.loads) {
        if (name.find('/') != std::string::npos) continue; // a load's reads or writes alone
        t.iops += f.iops;
        t.mean_s += f.iops * f.mean_s;
    }
    if (t.iops > 0) t.mean_s /= t.iops;
    return t;
}

class Study {
public:
    Study(const std::string& file, const ScenarioOptions& scenario, const SensitivityOptions& o)
        : file_(file), scenario_(scenario), o_(o) {}
    SensitivityReport go();

private:
    struct Side {
        size_t value;
        bool more;
    };
    const std::string& file_;
    const ScenarioOptions& scenario_;
    const SensitivityOptions& o_;
    SensitivityReport report_;
    std::vector<std::function<RunAnswer()>> jobs_;
    std::vector<Side> sides_; // of jobs, after the first

    void choose(const Scenario& s);
    void add_side(const Part& part, const std::string& value, bool more);
    void run_all();
};

// Quantities that are assumed or were fitted, of parts that the run reads.
void Study::choose(const Scenario& s) {
    const PathPattern only(o_.only, {"--only", 0, 0});
    std::vector<std::string> seen;
    for (const Part* p : s.parts()) {
        if (std::count(seen.begin(), seen.end(), p->name())) continue;
        seen.push_back(p->name());
        for (const auto& [name, value] : p->values()) {
            const std::string full = p->name() + "/" + name;
            if (!p->was_read(name) || (value.from != "assumed" && value.from != "fitted")) continue;
            if (!only.matches(full)) continue;
            if (!value.value.is_scalar() || !scaled_text(value.value.as_text(), 1)) continue;
            report_.values.push_back({full,
                                      value.value.as_text(),
                                      value.from,
                                      value.source.empty() ? value.note : value.source,
                                      {},
                                      {},
                                      {}});
            add_side(*p, name, false);
            add_side(*p, name, true);
        }
    }
    if (report_.values.empty())
        throw InputError({"--only", 0, 0},
                         "no assumed or fitted value of a part matches " + in_quotes(o_.only));
}

void Study::add_side(const Part& part, const std::string& value, bool more) {
    ScenarioOptions changed = scenario_;
    changed.scaled = ScaledValue{part.name(), value, more ? 1 + by : 1 - by};
    try {
        jobs_.push_back([s = load_scenario(file_, changed)] { return answer_of(run(s, {})); });
        sides_.push_back({report_.values.size() - 1, more});
    } catch (const InputError& error) {
        report_.values.back().why_not = error.complaints().front().what;
    }
}

void Study::run_all() {
    ProcessOptions p;
    p.at_once = processes_at_once();
    const bool terminal = isatty(STDERR_FILENO);
    p.told = [&](size_t done) {
        if (terminal) std::fprintf(stderr, "\r%zu of %zu runs", done, jobs_.size());
    };
    std::vector<RunAnswer> answers = run_in_processes(jobs_, p);
    if (terminal) std::fprintf(stderr, "\r%-30s\r", "");
    report_.base = std::move(answers.front());
    for (size_t i = 0; i < sides_.size(); i++) {
        Influence& v = report_.values[sides_[i].value];
        RunAnswer& a = answers[i + 1];
        if (!a.failure.empty()) v.why_not = a.failure;
        else (sides_[i].more ? v.more : v.less) = std::move(a);
    }
}

SensitivityReport Study::go() {
    const Scenario s = load_scenario(file_, scenario_);
    report_.title = s.title;
    report_.scenario = s.file;
    report_.hash = s.hash;
    report_.seed = s.run.seed;
    report_.by = by;
    jobs_.push_back([&s] { return answer_of(run(s, {})); });
    choose(s);
    run_all();
    std::stable_sort(report_.values.begin(), report_.values.end(),
                     [&](const Influence& a, const Influence& b) {
                         return strength(report_, a) > strength(report_, b);
                     });
    return std::move(report_);
}
} // namespace

std::optional<Move> move_of(const SensitivityReport& report, const std::optional<RunAnswer>& side) {
    const Total base = total_of(report.base);
    if (!side || base.iops <= 0 || base.mean_s <= 0) return std::nullopt;
    const Total t = total_of(*side);
    return Move{t.iops / base.iops - 1, t.mean_s / base.mean_s - 1};
}
double strength(const SensitivityReport& report, const Influence& influence) {
    double most = 0;
    for (const auto* side : {&influence.less, &influence.more})
        if (const auto m = move_of(report, *side))
            most = std::max({most, std::abs(m->iops), std::abs(m->latency)});
    return most;
}

int sensitivity(const std::string& file, const ScenarioOptions& scenario,
                const SensitivityOptions& options) {
    const SensitivityReport report = Study(file, scenario, options).go();
    std::fputs(sensitivity_text(report, options.top).c_str(), stdout);
    if (!options.json.empty()) write_whole_file(options.json, sensitivity_json(report));
    return report.base.failure.empty() ? 0 : 1;
}

} // namespace storlab
