#include "sim/scenario/repair_shop.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/timeline_targets.hpp"
#include <algorithm>

namespace storlab {

RepairShop::RepairShop(const Scenario& s, Testbed& bed, Stage& stage)
    : s_(s), bed_(bed), stage_(stage) {
    for (const ArraySchema& a : s.arrays) {
        spares_[a.name] = a.spares;
        Raid* const raid = bed.array(a.name);
        if (!raid) continue;
        raid->on_failure([this, &a](uint32_t member) { lost(a, member); });
        raid->on_journal_failure(
            [this, &a] { mark("lost", a.journal, "journal of " + a.name + ": no more writes"); });
    }
}

void RepairShop::mark(const std::string& what, const std::string& where, const std::string& phase) {
    marks_.push_back({bed_.clock().now(), what, where, phase});
    const bool done = phase.starts_with("done");
    if (on_turn_ && (phase.empty() || done))
        on_turn_(what + " " + where + (done ? " is done" : ""));
}

void RepairShop::schedule(Instant from) {
    for (const TimelineEvent& e : s_.timeline)
        for (const std::string& name : nameable(s_, e.verb)) {
            if (!e.target.matches(name) || Instant::at(e.at) < from) continue;
            const std::string what = to_string(e.verb) + " " + name;
            if (bed_.acts_here(e.verb, name))
                stage_.at(Instant::at(e.at), what, [this, &e, name] { act(e, name); });
            else if (on_turn_) stage_.at(Instant::at(e.at), what, [this, what] { on_turn_(what); });
        }
}

void RepairShop::act(const TimelineEvent& e, const std::string& target) {
    if (closed_) return; // the run is over, and only waits for its I/Os
    mark(to_string(e.verb), target, "");
    if (acts_on_fabric(e.verb)) return bed_.act_on_fabric(e.verb, target);
    if (e.verb == Verb::fail || e.verb == Verb::pull) {
        failed_.insert(target);
        return bed_.fail_drive(target);
    }
    if (e.verb != Verb::scrub) return;
    Raid& raid = *bed_.array(target);
    Scrub& scrub = scrubs_.emplace_back(Scrub{this, target, {}});
    raid.scrub(0, raid.lines(), false)
        .detach(&scrub,
                [](void* c, ScrubReport r) {
                    auto& s = *static_cast<Scrub*>(c);
                    s.done = r;
                    s.over = true;
                    const bool all = r.lines == s.shop->bed_.array(s.array)->lines();
                    s.shop->mark("scrub", s.array,
                                 (all ? "done, " : "stopped with the run, ") +
                                     std::to_string(r.mismatches) + " differ");
                    return nothing();
                })
        .resume();
}

// The array has found a member dead: the first spare takes its place.
void RepairShop::lost(const ArraySchema& a, uint32_t member) {
    const std::string path = bed_.member(a.name, member);
    // A rebuild that cannot read what it needs gives its spare up, and says so when it ends. The
    // spare is fine, and another one would fare no better.
    if (!failed_.contains(path) && std::any_of(rebuilds_.begin(), rebuilds_.end(),
                                               [&](auto& r) { return r.spare == path && !r.over; }))
        return;
    mark("lost", path, "detected by " + a.name);
    std::vector<std::string>& spares = spares_[a.name];
    if (spares.empty() || closed_) return;
    Rebuild& r =
        rebuilds_.emplace_back(Rebuild{this, &a, member, spares.front(), bed_.clock().now(), {}});
    spares.erase(spares.begin());
    RebuildOptions o;
    o.speed_min = a.speed_min;
    o.speed_max = a.speed_max;
    mark("rebuild", r.spare, "started");
    bed_.replace_member(a.name, member, r.spare);
    bed_.array(a.name)
        ->rebuild(member, bed_.drive(r.spare), o)
        .detach(&r,
                [](void* c, RebuildReport report) {
                    auto& rebuild = *static_cast<Rebuild*>(c);
                    rebuild.done = report;
                    rebuild.over = true;
                    rebuild.complete = !report.failed && report.lines == rebuild.lines();
                    rebuild.shop->mark("rebuild", rebuild.spare,
                                       report.failed      ? "failed"
                                       : rebuild.complete ? "done"
                                                          : "stopped with the run");
                    return nothing();
                })
        .resume();
}

void RepairShop::close(bool closed) {
    closed_ = closed;
    for (const auto& [name, raid] : bed_.arrays()) raid->stop_repairs(closed);
}
bool RepairShop::idle() const {
    const auto over = [](const auto& r) { return r.over; };
    return std::all_of(rebuilds_.begin(), rebuilds_.end(), over) &&
           std::all_of(scrubs_.begin(), scrubs_.end(), over);
}

FullSize RepairShop::full_size(const Rebuild& r) const {
    const Bytes capacity = s_.drive(r.spare)->part.size("capacity");
    const Bytes block = bed_.drive(r.spare).geometry().block;
    const uint64_t lines =
        r.over ? r.done.lines : bed_.array(r.array->name)->rebuilt_lines(r.member);
    const Duration took = (r.over ? r.done.ended : bed_.clock().now()) - r.began;
    const double rate = static_cast<double>(lines) * static_cast<double>(block.count()) /
                        std::max(1e-12, took.in_seconds());
    FullSize f;
    f.what = "rebuild onto " + r.spare;
    if (rate <= 0) return f;
    f.value = Duration::seconds(static_cast<double>(capacity.count()) / rate);
    f.arithmetic = format_size(capacity) + " / " + format_rate(Rate::bytes_per_second(rate)) +
                   ", the rate over " + format_size(block * static_cast<int64_t>(lines)) +
                   (r.complete ? "" : ", not finished in this run");
    return f;
}

// What paths did after the end was only to get the last I/Os back.
void RepairShop::report(RunResult& r, Instant ended) const {
    bed_.report(r);
    std::erase_if(r.timeline, [&](const TimelineMark& m) { return m.at > ended; });
    r.timeline.insert(r.timeline.begin(), marks_.begin(), marks_.end());
    std::stable_sort(r.timeline.begin(), r.timeline.end(),
                     [](const TimelineMark& a, const TimelineMark& b) { return a.at < b.at; });
    for (const Rebuild& rebuild : rebuilds_)
        if (!rebuild.over || !rebuild.done.failed) r.full_size.push_back(full_size(rebuild));
}

} // namespace storlab
