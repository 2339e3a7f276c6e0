#include "sim/scenario/validate.hpp"
#include "sim/base/text.hpp"
#include "sim/report/write_file.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/run.hpp"
#include "sim/scenario/validate_file.hpp"
#include "sim/scenario/validate_record.hpp"
#include "sim/scenario/validate_report.hpp"
#include "sim/scenario/validate_runs.hpp"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace storlab {

namespace {
namespace fs = std::filesystem;

// One planned run of one testbed, ready to go.
struct Job {
    const TestbedFile* testbed;
    const PlannedRun* run;
    Scenario scenario;
    PartValues parts;
    RunAnswer answer;
};

class Validation {
public:
    explicit Validation(const ValidateOptions& options) : options_(options) {}
    int go();

private:
    const ValidateOptions& options_;
    std::vector<TestbedFile> all_; // every testbed: a fit may name a row of any
    std::vector<const TestbedFile*> chosen_;
    std::vector<Job> jobs_;
    PartValues parts_;
    ValidationReport report_;

    void load_testbeds();
    bool wanted(const TestbedFile& t, const PublishedRow& r) const;
    void prepare_jobs();
    void check_targets(const Job& job, Complaints& complaints) const;
    void check_fits(const Job& job, Complaints& complaints) const;
    void run_jobs();
    const Job* job_of(const TestbedFile& t, const std::string& run) const;
    void add_rows(const TestbedFile& t);
    void add_group(const TestbedFile& t, const PublishedGroup& g);
    ReportRow row_of(const TestbedFile& t, const PublishedRow& r) const;
    void add_assumed(const TestbedFile& t);
    void add_fitted();
    Present present() const;
};

void Validation::load_testbeds() {
    const fs::path folder = installed_folder("validation");
    std::vector<std::string> files, names;
    for (const fs::directory_entry& e : fs::directory_iterator(folder))
        if (e.path().extension() == ".yaml" && e.path().filename() != "recorded.yaml")
            files.push_back(e.path().string());
    std::sort(files.begin(), files.end());
    Complaints complaints;
    for (const std::string& f : files) {
        try {
            all_.push_back(load_testbed(f));
            names.push_back(all_.back().name);
        } catch (const InputError& error) { complaints.add(error); }
    }
    complaints.throw_if_any();
    for (const TestbedFile& t : all_)
        if (options_.testbed.empty() || options_.testbed == t.name) chosen_.push_back(&t);
    if (chosen_.empty())
        throw InputError({"validate", 0, 0}, "no testbed " + in_quotes(options_.testbed) +
                                                 did_you_mean(options_.testbed, names) +
                                                 "; there " + "are " + joined(names, ", "));
}

bool Validation::wanted(const TestbedFile& t, const PublishedRow& r) const {
    if (options_.rows.empty() || matches_id(options_.rows, r.id)) return true;
    if (r.group.empty()) return false;
    if (matches_id(options_.rows, r.group)) return true;
    return std::any_of(t.rows.begin(), t.rows.end(), [&](const PublishedRow& other) {
        return other.group == r.group && matches_id(options_.rows, other.id);
    });
}

// A row names a load or a machine of its scenario, or there is only one.
void Validation::check_targets(const Job& job, Complaints& complaints) const {
    std::vector<std::string> loads, machines;
    for (const LoadSchema& l : job.scenario.loads) loads.push_back(l.name);
    for (const MachineSchema& m : job.scenario.machines) machines.push_back(m.name);
    const auto whole = [](std::string of) { // h1 of h1/reads: half of a mix
        for (const std::string_view half : {"/reads", "/writes"})
            if (of.ends_with(half)) return of.substr(0, of.size() - half.size());
        return of;
    };
    for (const PublishedRow& r : job.testbed->rows) {
        if (r.run != job.run->name) continue;
        const auto& names = r.metric == Metric::cpu ? machines : loads;
        const char* what = r.metric == Metric::cpu ? "machine" : "load";
        const std::string of = r.metric == Metric::cpu ? r.of : whole(r.of);
        if (of.empty() ? names.size() == 1 : std::count(names.begin(), names.end(), of) == 1)
            continue;
        complaints.add(r.place, r.of.empty() ? fmt::format("say of which {} this is, with 'of': {}",
                                                           what, joined(names, ", "))
                                             : fmt::format("no {} {} in {}", what, in_quotes(r.of),
                                                           job.scenario.file));
    }
}

// What is fitted is fitted to calibration rows.
void Validation::check_fits(const Job& job, Complaints& complaints) const {
    for (const Part* p : job.scenario.parts())
        for (const auto& [name, v] : p->values()) {
            if (v.from != "fitted") continue;
            for (const std::string& id : v.rows) {
                const PublishedRow* row = nullptr;
                for (const TestbedFile& t : all_)
                    if (const PublishedRow* r = t.row(id)) row = r;
                if (row && row->role == Role::calibration) continue;
                complaints.add(
                    v.place,
                    fmt::format("{} is fitted to {}, which is {}", name, in_quotes(id),
                                row ? "no calibration row but one of role " + to_string(row->role)
                                    : "no published row"));
            }
        }
}

void Validation::prepare_jobs() {
    const std::string folder = installed_folder("scenarios/testbeds");
    Complaints complaints;
    for (const TestbedFile* t : chosen_)
        for (const PlannedRun& run : t->runs) {
            const bool needed = std::any_of(t->rows.begin(), t->rows.end(), [&](const auto& r) {
                return r.run == run.name && wanted(*t, r);
            });
            if (!needed) continue;
            try {
                Job job{t, &run, {}, {}, {}};
                job.scenario =
                    load_scenario(folder + "/" + run.scenario, {run.settings, parts_folder()});
                check_targets(job, complaints);
                check_fits(job, complaints);
                for (const Part* p : job.scenario.parts()) add_values(job.parts, *p);
                parts_.insert(job.parts.begin(), job.parts.end());
                jobs_.push_back(std::move(job));
            } catch (const InputError& error) {
                complaints.add(run.place, "the run " + in_quotes(run.name) + " cannot be set up:");
                complaints.add(error);
            }
        }
    complaints.throw_if_any();
    const bool any = std::any_of(chosen_.begin(), chosen_.end(), [&](const TestbedFile* t) {
        return std::any_of(t->rows.begin(), t->rows.end(),
                           [&](const PublishedRow& r) { return wanted(*t, r); });
    });
    if (!any) throw InputError({"--rows", 0, 0}, "no row matches " + in_quotes(options_.rows));
}

void Validation::run_jobs() {
    std::vector<std::function<RunAnswer()>> work;
    for (const Job& j : jobs_)
        work.push_back([&j] { return answer_of(run(j.scenario, RunControl{})); });
    ProcessOptions po;
    po.at_once = processes_at_once();
    const bool show = isatty(STDERR_FILENO);
    po.told = [&](size_t done) {
        if (show) std::fprintf(stderr, "\r%zu of %zu runs", done, work.size());
    };
    const auto from = std::chrono::steady_clock::now();
    std::vector<RunAnswer> answers = run_in_processes(work, po);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - from;
    if (show) std::fprintf(stderr, "\r%-20s\r", "");
    for (size_t i = 0; i < jobs_.size(); i++) jobs_[i].answer = std::move(answers[i]);
    report_.again =
        fmt::format("{} runs in {:.0f} s, {} at a time", jobs_.size(), wall.count(), po.at_once);
}

const Job* Validation::job_of(const TestbedFile& t, const std::string& run) const {
    for (const Job& j : jobs_)
        if (j.testbed == &t && j.run->name == run) return &j;
    return nullptr;
}

// In base units; none if the run does not tell.
std::optional<double> predicted(const RunAnswer& a, const PublishedRow& r) {
    if (r.metric == Metric::cpu) {
        const auto cpu = r.of.empty() ? a.cpu.begin() : a.cpu.find(r.of);
        return cpu == a.cpu.end() ? std::nullopt : std::optional(cpu->second);
    }
    const auto load = r.of.empty() ? a.loads.begin() : a.loads.find(r.of);
    if (load == a.loads.end()) return std::nullopt;
    switch (r.metric) {
    case Metric::iops: return load->second.iops;
    case Metric::bandwidth: return load->second.bytes_per_second;
    case Metric::latency: return load->second.mean_s;
    case Metric::p99: return load->second.p99_s;
    default: return std::nullopt;
    }
}

ReportRow Validation::row_of(const TestbedFile& t, const PublishedRow& r) const {
    ReportRow row;
    row.testbed = t.name;
    row.id = r.id;
    row.role = r.role;
    row.metric = r.metric;
    row.published = r.published;
    row.run = r.run;
    const RunAnswer& a = job_of(t, r.run)->answer;
    row.binds = a.binds.empty() ? "nothing" : a.binds;
    if (a.failure.empty()) row.predicted = predicted(a, r);
    if (!row.predicted) {
        row.error = failed_error;
        row.note =
            a.failure.empty() ? "the run does not give its " + to_string(r.metric) : a.failure;
        return row;
    }
    row.error = error_of(r.metric, r.role, r.published, *row.predicted);
    if (a.partial) row.note = "not confident";
    if (r.metric == Metric::iops || r.metric == Metric::bandwidth) {
        const auto load = r.of.empty() ? a.loads.begin() : a.loads.find(r.of);
        row.ci95 = load->second.iops_ci95;
    }
    return row;
}

void Validation::add_group(const TestbedFile& t, const PublishedGroup& g) {
    ReportRow row;
    row.testbed = t.name;
    row.id = g.name;
    row.role = Role::group;
    row.metric = t.rows[g.members[0]].metric;
    std::vector<Published> published;
    std::vector<double> values;
    for (const size_t i : g.members) {
        const ReportRow member = row_of(t, t.rows[i]);
        published.push_back(member.published);
        if (member.predicted) values.push_back(*member.predicted);
        else row.note = member.id + ": " + member.note;
        row.members += (row.members.empty() ? "" : " ") + member.id;
        row.run = member.run;
        row.binds = member.binds;
    }
    row.published = combine(g.rule, published);
    if (values.size() == g.members.size()) {
        row.predicted = combine(g.rule, values);
        row.error = error_of(row.metric, row.role, row.published, *row.predicted);
    } else row.error = failed_error;
    report_.rows.push_back(std::move(row));
}

void Validation::add_rows(const TestbedFile& t) {
    for (const PublishedRow& r : t.rows)
        if (r.group.empty() && !r.run.empty() && wanted(t, r)) report_.rows.push_back(row_of(t, r));
    for (const PublishedGroup& g : t.groups)
        if (const PublishedRow& first = t.rows[g.members[0]];
            !first.run.empty() && wanted(t, first))
            add_group(t, g);
    for (const NotModelled& n : t.not_modelled)
        for (const size_t i : n.rows)
            if (const PublishedRow& r = t.rows[i]; wanted(t, r))
                report_.absent.push_back({t.name, r.id, n.why, r.role, r.metric, r.published});
    for (const auto& [id, text] : t.causes) report_.causes.emplace_back(t.name + "/" + id, text);
}

void Validation::add_assumed(const TestbedFile& t) {
    for (const SettingGroup& g : t.settings) {
        const bool used = std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& j) {
            return j.testbed == &t &&
                   std::count(j.run->groups.begin(), j.run->groups.end(), g.name);
        });
        if (!g.assumed.empty() && used)
            report_.assumed.push_back(
                {t.name, g.name, joined(g.settings, " "), g.assumed, g.influence});
    }
}

void Validation::add_fitted() {
    std::vector<std::string> seen;
    for (const Job& j : jobs_)
        for (const Part* p : j.scenario.parts()) {
            if (std::count(seen.begin(), seen.end(), p->name())) continue;
            seen.push_back(p->name());
            for (FittedValue& f : fitted_values(*p)) report_.fitted.push_back(std::move(f));
        }
}

Present Validation::present() const {
    Present p;
    p.parts = parts_;
    p.version = STORLAB_VERSION;
    p.every_row = options_.rows.empty();
    for (const Job& j : jobs_)
        p.runs[j.testbed->name][j.run->name] = {j.scenario.hash, hash_of(j.parts),
                                                j.answer.trace_hash};
    return p;
}

int Validation::go() {
    load_testbeds();
    const std::string record_file = installed_folder("validation") + "/recorded.yaml";
    Record record = load_record(record_file);
    prepare_jobs();
    run_jobs();
    for (const TestbedFile* t : chosen_) {
        add_rows(*t);
        add_assumed(*t);
    }
    add_fitted();
    summarise(report_);
    if (options_.record) {
        accept(record, present(), report_);
        write_whole_file(record_file, to_yaml(record));
    } else compare(record, present(), report_);
    std::fputs(to_text(report_).c_str(), stdout);
    if (!options_.json.empty()) write_whole_file(options_.json, to_json(report_));
    return failed(report_) ? 1 : 0;
}
} // namespace

int validate(const ValidateOptions& options) { return Validation(options).go(); }

} // namespace storlab
