#include "sim/scenario/schema.hpp"
#include "sim/base/random.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/build.hpp"
#include "sim/scenario/timeline_targets.hpp"
#include <algorithm>
#include <cstdio>

namespace storlab {

namespace {
template <class T> const T* by_name(const std::vector<T>& all, std::string_view name) {
    for (const T& t : all)
        if (t.name == name) return &t;
    return nullptr;
}

std::string hex(uint64_t x) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(x));
    return text;
}

// Where a run ends when the scenario does not say: with a timeline, at its end.
void default_until(Scenario& s, bool given) {
    if (!given && !s.timeline.empty()) s.run.until = Until::timeline;
    if (!given && s.run.duration > Duration{}) s.run.until = Until::duration;
}

// Events after the end of the run are wishes that nobody fulfils.
void note_late_events(Scenario& s) {
    if (s.run.duration <= Duration{}) return;
    if (s.run.until != Until::duration && s.run.until != Until::timeline) return;
    const Duration end = s.run.warm_up.value_or(Duration{}) + s.run.duration;
    for (const TimelineEvent& e : s.timeline)
        if (e.at >= end)
            s.notes.push_back(to_string(e.place) + ": the run ends at " + format_duration(end) +
                              ", before this event; make run/duration longer");
}

Scenario read(Node root, const std::string& name, const ScenarioOptions& o) {
    const ComplaintsPtr complaints = root.complaints();
    Scenario s;
    s.file = name;
    // A scenario without a run section can still be given its values.
    if (root.is_map() && !root.map().has("run")) apply_override(root, "run", "{}");
    for (const std::string& setting : o.settings) apply_override(root, setting);
    Fields top = root.map();
    top.required("storlab").as_count({1, 1});
    s.title = top.optional("title").as_text(name);
    s.about = top.optional("about").as_text();
    const Catalogue catalogue(o.parts_folder, complaints, o.scaled);
    const Node run = top.optional("run");
    read_run(run, s);
    read_machines(top.required("machines"), catalogue, s);
    read_network_switches(top.optional("switches"), catalogue, s);
    read_cables(top.optional("cables"), s);
    read_arrays(top.optional("arrays"), catalogue, s);
    read_loads(top.required("loads"), catalogue, s);
    if (const Node timeline = top.optional("timeline")) s.timeline = read_timeline(timeline);
    top.finish();
    default_until(s, run.is_map() && run.map().has("until"));
    if (s.run.until == Until::timeline && s.timeline.empty())
        run.complain("'until: timeline' needs a timeline");
    if (s.run.until == Until::duration && s.run.duration <= Duration{} &&
        !(run.is_map() && run.map().has("duration")))
        run.complain("'until: duration' needs a duration, such as 200ms");
    check_timeline(s, *complaints);
    note_late_events(s);
    check_values(s);
    s.hash = hex(mix(hash_name(root.canonical()) + s.files_hash));
    complaints->throw_if_any();
    return s;
}
} // namespace

int64_t LoadSchema::in_flight() const {
    int64_t n = 0;
    for (const fio::Job& j : jobs) n += fio::effective_depth(j).total;
    return n * static_cast<int64_t>(from.size());
}

const MachineSchema* Scenario::machine(std::string_view n) const { return by_name(machines, n); }
const ArraySchema* Scenario::array(std::string_view n) const { return by_name(arrays, n); }
const DriveSchema* Scenario::drive(std::string_view path) const {
    for (const MachineSchema& m : machines)
        for (const DriveSchema& d : m.drives)
            if (d.path == path) return &d;
    return nullptr;
}
std::vector<const Part*> Scenario::parts() const {
    std::vector<const Part*> all;
    for (const MachineSchema& m : machines) {
        for (const Part* p : {&m.server, &m.cpu, &m.host})
            if (*p) all.push_back(p);
        for (const SwitchSchema& w : m.switches)
            if (w.part) all.push_back(&w.part);
        for (const CardSchema& c : m.cards)
            if (c.part) all.push_back(&c.part);
        const std::string* last = nullptr; // the drives of a group share their part
        for (const DriveSchema& d : m.drives) {
            if (d.part && (!last || *last != d.part.name())) all.push_back(&d.part);
            if (d.part) last = &d.part.name();
        }
    }
    for (const NetworkSwitchSchema& w : switches)
        if (w.part) all.push_back(&w.part);
    for (const ArraySchema& a : arrays) {
        if (a.engine) all.push_back(&a.engine);
        if (a.exported && a.exported->stack) all.push_back(&a.exported->stack);
    }
    for (const LoadSchema& l : loads)
        if (l.paths && l.paths->part) all.push_back(&l.paths->part);
    return all;
}

Scenario load_scenario(const std::string& file, const ScenarioOptions& options) {
    return read(load_file(file, new_complaints()), file, options);
}
Scenario read_scenario(std::string_view text, const std::string& name,
                       const ScenarioOptions& options) {
    return read(load_text(text, name, new_complaints()), name, options);
}

void read_run(const Node& node, Scenario& s) {
    if (!node) return;
    Fields f = node.map();
    RunSchema& r = s.run;
    const std::string until =
        f.optional("until").as_one_of({"confident", "duration", "timeline", "load"}, "confident");
    r.until = until == "duration"   ? Until::duration
              : until == "timeline" ? Until::timeline
              : until == "load"     ? Until::load
                                    : Until::confident;
    constexpr Duration longest = Duration::s(86400);
    const std::string too_long =
        "can be at most 1 d: longer timelines are not simulated I/O by I/O";
    const auto positive = [&](const char* key, Duration fallback) {
        const Node n = f.optional(key);
        const Duration d = n.as_duration(n ? Duration::ns(1) : fallback);
        if (n && d <= Duration{}) n.complain(std::string(key) + " must be more than nothing");
        if (d > longest) n.complain(std::string(key) + " " + too_long);
        return d;
    };
    r.duration = positive("duration", r.duration);
    r.settle = positive("settle", r.settle);
    if (const Node n = f.optional("step")) {
        constexpr int64_t most_windows = 1'000'000; // of a series
        r.step = n.as_duration(Duration::ms(1));
        if (r.step < Duration::us(1) || r.duration / most_windows > r.step)
            n.complain("step must be 1us or more, and a millionth of the duration or more");
    }
    if (const Node n = f.optional("warm-up")) {
        r.warm_up = n.as_duration();
        if (*r.warm_up > longest) n.complain("warm-up " + too_long);
    }
    if (const Node n = f.optional("confidence")) {
        r.confidence = n.as_fraction(r.confidence);
        if (r.confidence < 0.0005 || r.confidence > 0.5)
            n.complain("confidence must be between 0.05% and 50%");
    }
    r.scale = static_cast<uint64_t>(f.optional("scale").as_count({1, int64_t{1} << 32}, 0));
    r.seed = static_cast<uint64_t>(f.optional("seed").as_count({0}, 1));
    r.check = f.optional("check").as_bool(true);
    if (const Node n = f.optional("sector")) {
        r.sector = n.as_size(Bytes(4096), "B");
        if (r.sector != Bytes(512) && r.sector != Bytes(4096)) n.complain("sector is 512B or 4KiB");
    }
    f.finish();
}

} // namespace storlab
