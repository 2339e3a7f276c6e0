// What the hosts of a fabric find out about their paths, as marks of the timeline.
#include "sim/base/text.hpp"
#include "sim/scenario/host_paths.hpp"
#include <algorithm>
#include <set>

namespace storlab {

void HostPaths::note(PathPhase phase, const Session& s, Loss why) {
    constexpr size_t most = 100'000; // of a fabric that flaps all day
    if (!given_up_ && notes_.size() < most) notes_.push_back({clock_.now(), phase, why, &s});
}

// A session that is live again before its paths were given up was never out of use.
void HostPaths::watch(Session& s, SessionState state) {
    if (state == SessionState::live) {
        s.live = true;
        if (s.initiator->counters().losses > 0 && s.unused == 0) note(PathPhase::back, s);
    } else if (std::exchange(s.live, false)) {
        note(PathPhase::detect, s, s.initiator->last_loss());
    }
}

// A session is out of use, or back, when that is true for all volumes.
void HostPaths::paths_changed(const Ways& w, const Multipath& device, uint64_t before) {
    const uint64_t now = device.in_use();
    for (size_t i = 0; i < w.sessions.size(); i++) {
        Session& s = *w.sessions[i];
        const bool was = before >> i & 1, is = now >> i & 1;
        if (was && !is && ++s.unused == s.paths.size())
            note(now ? PathPhase::switched : PathPhase::none_left, s);
        if (!was && is && s.unused-- == s.paths.size()) note(PathPhase::back, s);
    }
}

// One path by its ends; of several, what they have in common, and whose they are.
std::string HostPaths::where_of(std::span<const PathNote> notes) {
    const auto common = [&](auto&& of) {
        const std::string first = of(*notes.front().session);
        const bool all = std::all_of(notes.begin(), notes.end(),
                                     [&](const PathNote& n) { return of(*n.session) == first; });
        return all ? first : std::string();
    };
    const std::string from = common([](const Session&s) { return s.port; }),
                      to = common([](const Session&s) { return s.target_port; });
    if (!from.empty() && !to.empty()) return from + " to " + to;
    const std::string paths = std::to_string(notes.size()) + " paths of ";
    if (!from.empty()) return paths + from;
    std::set<std::string> hosts;
    for (const PathNote& n : notes) hosts.insert(n.session->machine);
    constexpr size_t easily_listed = 3;
    const std::string whose = hosts.size() <= easily_listed
                                  ? joined(std::vector(hosts.begin(), hosts.end()))
                                  : std::to_string(hosts.size()) + " hosts";
    return paths + whose + (to.empty() ? "" : " to " + to);
}

TimelineMark HostPaths::mark_of(std::span<const PathNote> notes) {
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
std::vector<TimelineMark> HostPaths::marks() const {
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
