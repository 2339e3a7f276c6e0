// Faults of a simulated fabric, and what its hosts make of them.
#include "sim/scenario/sim_fabric.hpp"
#include "sim/scenario/timeline_targets.hpp"
#include <algorithm>

namespace storlab {

void SimFabric::add_cables() {
    cable_faults_.resize(scenario_.cables.size());
    for (const CableSchema& c : scenario_.cables) {
        CableOptions o = cable_options(c, scenario_);
        // Several between two switches have names of their own.
        const auto same = std::count_if(scenario_.cables.data(), &c,
                                        [&](auto& d) { return d.a == c.a && d.b == c.b; });
        if (same > 0) o.name += " " + std::to_string(same + 1);
        cable_names_.push_back(o.name);
        network_.cable(c.a, c.b, o);
    }
}

void SimFabric::act(Verb verb, const std::string& name) {
    if (acts_on_power(verb)) {
        network_.set_power(name, verb == Verb::power_on);
        if (verb == Verb::power_on) return;
        for (auto& [array, offer] : offers_) // commands at the devices end as they do
            if (offer.array->machine == name) offer.target->drop_sessions();
        return;
    }
    for (size_t i = 0; i < cable_names_.size(); i++) {
        const CableSchema& c = scenario_.cables[i];
        if (c.a != name && c.b != name) continue;
        CableFaults& f = cable_faults_[i];
        if (verb == Verb::unplug || verb == Verb::plug) f.unplugged = verb == Verb::unplug;
        else f.silent = verb == Verb::silence;
        network_.set_cable(cable_names_[i], f.unplugged ? CableState::down
                                            : f.silent  ? CableState::silent
                                                        : CableState::up);
    }
}

void SimFabric::give_up() {
    given_up_ = true;
    for (auto& [names, w] : ways_) {
        for (auto& [volume, device] : w.devices) device->stop_checks();
        for (const auto& s : w.sessions) s->initiator->stop();
    }
}

void SimFabric::note(PathPhase phase, const Session& s, Loss why) {
    constexpr size_t most = 100'000; // of a fabric that flaps all day
    if (!given_up_ && notes_.size() < most) notes_.push_back({calendar_.now(), phase, why, &s});
}

// A session that is live again before its paths were given up was never out of use.
void SimFabric::watch(Session& s, SessionState state) {
    if (state == SessionState::live) {
        s.live = true;
        if (s.initiator->counters().losses > 0 && s.unused == 0) note(PathPhase::back, s);
    } else if (std::exchange(s.live, false)) {
        note(PathPhase::detect, s, s.initiator->last_loss());
    }
}

// A session is out of use, or back, when that is true for all volumes.
void SimFabric::paths_changed(const Ways& w, const Multipath& device, uint64_t before) {
    const uint64_t now = device.in_use();
    for (size_t i = 0; i < w.sessions.size(); i++) {
        Session& s = *w.sessions[i];
        const bool was = before >> i & 1, is = now >> i & 1;
        if (was && !is && ++s.unused == s.paths.size())
            note(now ? PathPhase::switched : PathPhase::none_left, s);
        if (!was && is && s.unused-- == s.paths.size()) note(PathPhase::back, s);
    }
}

// What the paths have in common: one path, one port, one machine, nothing.
std::string SimFabric::where_of(std::span<const PathNote> notes) {
    const auto common = [&](auto&& of) {
        const std::string first = of(*notes.front().session);
        const bool all = std::all_of(notes.begin(), notes.end(),
                                     [&](const PathNote& n) { return of(*n.session) == first; });
        return all ? first : std::string();
    };
    const std::string from = common([](const Session&s) { return s.port; }),
                      to = common([](const Session&s) { return s.target_port; });
    if (!from.empty() && !to.empty()) return from + " to " + to;
    const std::string paths = std::to_string(notes.size()) + " paths";
    if (!from.empty()) return paths + " of " + from;
    if (!to.empty()) return paths + " to " + to;
    return paths;
}

TimelineMark SimFabric::mark_of(std::span<const PathNote> notes) {
    const PathNote& first = notes.front();
    const std::string where = where_of(notes);
    switch (first.phase) {
    case PathPhase::detect:
        return {first.at,
                first.why == Loss::link_down   ? "link down,"
                : first.why == Loss::peer_gone ? "peer gone,"
                                               : "no answer,",
                where, "detect"};
    case PathPhase::switched: return {first.at, "away from", where, "path switch"};
    case PathPhase::none_left: return {first.at, "away from", where, "no path"};
    case PathPhase::back: break;
    }
    return {first.at, "again", where, "back"};
}

// What happened at one time is told together.
std::vector<TimelineMark> SimFabric::path_marks() const {
    std::vector<TimelineMark> marks;
    std::vector<PathNote> notes = notes_;
    for (auto from = notes.begin(); from != notes.end();) {
        const auto end =
            std::find_if(from, notes.end(), [&](const PathNote& n) { return n.at != from->at; });
        for (auto last = from; last != end; ++last)
            if (last->phase == PathPhase::none_left)
                for (auto n = from; n != last; ++n)
                    if (n->phase == PathPhase::switched &&
                        n->session->machine == last->session->machine)
                        n->phase = PathPhase::none_left;
        while (from != end) {
            const PathNote first = *from;
            const auto others = std::stable_partition(from, end, [&](const PathNote& n) {
                return n.phase == first.phase && n.why == first.why;
            });
            marks.push_back(mark_of({from, others}));
            from = others;
        }
    }
    return marks;
}

} // namespace storlab
