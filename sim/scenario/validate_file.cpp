#include "sim/scenario/validate_file.hpp"
#include <algorithm>
#include <fnmatch.h>
#include <set>

namespace storlab {

bool matches_id(const std::string& pattern, const std::string& id) {
    return fnmatch(pattern.c_str(), id.c_str(), FNM_NOESCAPE) == 0;
}

const PublishedRow* TestbedFile::row(std::string_view id) const {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](auto& r) { return r.id == id; });
    return found == rows.end() ? nullptr : &*found;
}
const PlannedRun* TestbedFile::run(std::string_view run_name) const {
    const auto found =
        std::find_if(runs.begin(), runs.end(), [&](auto& r) { return r.name == run_name; });
    return found == runs.end() ? nullptr : &*found;
}

namespace {
class Reader {
public:
    explicit Reader(TestbedFile& out) : out_(out) {}
    void read(const Node& root);

private:
    TestbedFile& out_;
    std::map<std::string, std::string> sources_;
    std::set<std::string> used_groups_, used_runs_;
    std::vector<bool> has_role_, not_modelled_;

    void read_settings(const Node& node);
    void read_runs(const Node& node);
    void read_rows(const Node& node);
    void read_row(const Node& node);
    void read_roles(const Node& node);
    void read_groups(const Node& node);
    void read_not_modelled(const Node& node);
    void every_row_has_a_fate(Complaints& complaints) const;
    void read_causes(const Node& node);
    void check_runs(Complaints& complaints) const;
    std::vector<size_t> select(const Node& pattern) const;
    std::string reason(Fields& f) const;
    std::vector<std::string> ids() const;
};

std::vector<std::string> names_of(const auto& all) {
    std::vector<std::string> names;
    for (const auto& one : all) names.push_back(one.name);
    return names;
}

std::vector<std::string> Reader::ids() const {
    std::vector<std::string> all;
    for (const PublishedRow& r : out_.rows) all.push_back(r.id);
    return all;
}

// Rows by a pattern or a list of patterns; one that names no row is a slip.
std::vector<size_t> Reader::select(const Node& node) const {
    std::vector<size_t> found;
    for (const Node& item : node.items()) {
        const std::string pattern = item.as_text();
        const size_t before = found.size();
        for (size_t i = 0; i < out_.rows.size(); i++)
            if (matches_id(pattern, out_.rows[i].id)) found.push_back(i);
        if (found.size() == before && item)
            item.complain("no row " + in_quotes(pattern) + did_you_mean(pattern, ids()));
    }
    return found;
}

std::string Reader::reason(Fields& f) const {
    const Node why = f.required("why");
    const std::string text = why.as_text();
    if (why && text.empty()) why.complain("say why");
    return text;
}

void Reader::read_settings(const Node& node) {
    if (!node) return;
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        SettingGroup g;
        g.name = e.key;
        g.place = e.key_place;
        g.assumed = f.optional("assumed").as_text();
        g.influence = f.optional("influence").as_text();
        if (!g.assumed.empty() && g.influence.empty())
            e.value.complain("an assumption needs its influence: what another choice would do");
        for (const Node& item : f.required("set").items()) {
            g.settings.push_back(item.as_text());
            if (g.settings.back().find('=') == std::string::npos)
                item.complain(in_quotes(g.settings.back()) + " sets nothing; write path=value");
        }
        f.finish();
        out_.settings.push_back(std::move(g));
    }
}

void Reader::read_runs(const Node& node) {
    if (!node) return;
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        PlannedRun r;
        r.name = e.key;
        r.place = e.key_place;
        r.scenario = f.required("scenario").as_text();
        for (const Node& item : f.optional("with").items()) {
            const std::string name = item.as_text();
            const auto g = std::find_if(out_.settings.begin(), out_.settings.end(),
                                        [&](auto& s) { return s.name == name; });
            r.groups.push_back(name);
            used_groups_.insert(name);
            if (g != out_.settings.end())
                r.settings.insert(r.settings.end(), g->settings.begin(), g->settings.end());
            else
                item.complain("no settings " + in_quotes(name) +
                              did_you_mean(name, names_of(out_.settings)));
        }
        for (const Node& item : f.optional("set").items()) r.settings.push_back(item.as_text());
        f.finish();
        out_.runs.push_back(std::move(r));
    }
}

void Reader::read_row(const Node& node) {
    Fields f = node.map();
    PublishedRow r;
    r.place = node.place();
    const Node id = f.required("id");
    r.id = id.as_text();
    if (id && (!is_name(r.id) || out_.row(r.id)))
        id.complain(is_name(r.id) ? "a second row " + in_quotes(r.id)
                                  : in_quotes(r.id) + " is no name");
    r.where = f.optional("where").as_text();
    r.system = f.optional("system").as_text();
    r.workload = f.required("workload").as_text();
    r.point = f.required("load").as_text();
    const std::vector<std::string> metrics(metric_names.begin(), metric_names.end());
    const Node metric = f.required("metric");
    const std::string metric_name = metric.as_one_of(metrics, metrics[0]);
    r.metric = static_cast<Metric>(std::find(metrics.begin(), metrics.end(), metric_name) -
                                   metrics.begin());
    if (const Node value = f.required("value")) {
        try {
            r.published = parse_published(value.as_text(), r.metric, value.place());
        } catch (const InputError& error) { node.complaints()->add(error); }
    }
    const Node source = f.required("source");
    const auto found = sources_.find(source.as_text());
    if (found != sources_.end()) r.source = found->second;
    else if (source) source.complain("no source " + in_quotes(source.as_text()));
    r.note = f.optional("note").as_text();
    r.of = f.optional("of").as_text();
    if (const Node run = f.optional("run")) {
        r.run = run.as_text();
        used_runs_.insert(r.run);
        if (!out_.run(r.run))
            run.complain("no run " + in_quotes(r.run) + did_you_mean(r.run, names_of(out_.runs)));
        if (r.metric == Metric::pause || r.metric == Metric::recovery)
            run.complain("no run gives a " + to_string(r.metric) +
                         " yet; list the row under not-modelled");
    }
    f.finish();
    out_.rows.push_back(std::move(r));
}

void Reader::read_roles(const Node& node) {
    if (!node) return;
    Fields f = node.map();
    for (const Role role : {Role::calibration, Role::implied, Role::context, Role::check,
                            Role::floor, Role::ceiling}) {
        for (const Node& item : f.optional(to_string(role)).items()) {
            Fields entry = item.map();
            const Node pattern = entry.required("rows");
            reason(entry);
            entry.finish();
            for (const size_t i : select(pattern)) {
                PublishedRow& r = out_.rows[i];
                if (has_role_[i])
                    pattern.complain("row " + in_quotes(r.id) + " already has the role " +
                                     to_string(r.role));
                has_role_[i] = true;
                r.role = role;
            }
        }
    }
    f.finish();
}

void Reader::read_groups(const Node& node) {
    if (!node) return;
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        PublishedGroup g;
        g.name = e.key;
        if (out_.row(g.name)) e.value.complain("there is a row of this name");
        const Node rows = f.required("rows");
        g.members = select(rows);
        g.rule.by = f.required("by").as_one_of({"mean", "sum"}, "mean") == "sum" ? Combine::sum
                                                                                 : Combine::mean;
        g.rule.over = static_cast<double>(f.optional("over").as_count({1, 1000}, 1));
        reason(f);
        f.finish();
        for (const size_t i : g.members) {
            PublishedRow& r = out_.rows[i];
            if (has_role_[i]) rows.complain("row " + in_quotes(r.id) + " already has a role");
            if (r.metric != out_.rows[g.members[0]].metric)
                rows.complain("the rows of a group are of one metric");
            if (not_modelled_[i] != not_modelled_[g.members[0]])
                rows.complain("either all rows of a group are modelled or none");
            has_role_[i] = true;
            r.role = Role::group;
            r.group = g.name;
        }
        if (!g.members.empty()) out_.groups.push_back(std::move(g));
    }
}

void Reader::read_not_modelled(const Node& node) {
    for (const Node& item : node.items()) {
        Fields f = item.map();
        NotModelled n;
        const Node rows = f.required("rows");
        n.rows = select(rows);
        n.why = reason(f);
        f.finish();
        for (const size_t i : n.rows) {
            if (!out_.rows[i].run.empty() || not_modelled_[i])
                rows.complain("row " + in_quotes(out_.rows[i].id) +
                              (not_modelled_[i] ? " is listed twice" : " has a run"));
            not_modelled_[i] = true;
        }
        out_.not_modelled.push_back(std::move(n));
    }
}

void Reader::every_row_has_a_fate(Complaints& complaints) const {
    for (size_t i = 0; i < out_.rows.size(); i++)
        if (const PublishedRow& r = out_.rows[i]; r.run.empty() && !not_modelled_[i])
            complaints.add(r.place, "row " + in_quotes(r.id) +
                                        " has no run and is not listed under not-modelled");
}

void Reader::read_causes(const Node& node) {
    if (!node) return;
    for (const Node::Entry& e : node.named()) {
        std::vector<std::string> known = ids();
        for (const PublishedGroup& g : out_.groups) known.push_back(g.name);
        if (!std::count(known.begin(), known.end(), e.key))
            e.value.complain("no row " + in_quotes(e.key) + did_you_mean(e.key, known));
        out_.causes[e.key] = e.value.as_text();
    }
}

void Reader::check_runs(Complaints& complaints) const {
    for (const PlannedRun& r : out_.runs)
        if (!used_runs_.count(r.name))
            complaints.add(r.place, "no row needs the run " + in_quotes(r.name));
    for (const SettingGroup& g : out_.settings)
        if (!used_groups_.count(g.name))
            complaints.add(g.place, "no run uses the settings " + in_quotes(g.name));
}

void Reader::read(const Node& root) {
    Fields top = root.map();
    top.required("storlab-validation").as_count({1, 1});
    out_.name = top.required("testbed").as_text();
    out_.title = top.required("title").as_text();
    for (const Node::Entry& e : top.required("sources").named())
        sources_[e.key] = e.value.as_text();
    read_settings(top.optional("settings"));
    read_runs(top.optional("runs"));
    for (const Node& row : top.required("rows").items()) read_row(row);
    has_role_.assign(out_.rows.size(), false);
    not_modelled_.assign(out_.rows.size(), false);
    read_not_modelled(top.optional("not-modelled"));
    every_row_has_a_fate(*root.complaints());
    read_roles(top.optional("roles"));
    read_groups(top.optional("groups"));
    read_causes(top.optional("causes"));
    check_runs(*root.complaints());
    top.finish();
}
} // namespace

TestbedFile read_testbed(std::string_view text, const std::string& file) {
    const ComplaintsPtr complaints = new_complaints();
    TestbedFile t;
    t.file = file;
    Reader(t).read(load_text(text, file, complaints));
    complaints->throw_if_any();
    return t;
}

TestbedFile load_testbed(const std::string& file) {
    const ComplaintsPtr complaints = new_complaints();
    TestbedFile t;
    t.file = file;
    Reader(t).read(load_file(file, complaints));
    complaints->throw_if_any();
    return t;
}

} // namespace storlab
