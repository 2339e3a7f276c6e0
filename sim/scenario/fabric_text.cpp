// What `storlab check` says of ports, switches, cables, volumes and exports: a line for each that
// was written, whatever it stands for.
#include "sim/scenario/redundancy.hpp"
#include "sim/scenario/text_lines.hpp"
#include <algorithm>
#include <fmt/format.h>

namespace storlab {

std::vector<std::string> card_text(const std::string& machine,
                                   const std::vector<const CardSchema*>& group) {
    std::vector<std::string> paths;
    for (const CardSchema* c : group) paths.push_back(machine + "/" + c->name);
    const CardSchema& c = *group.front();
    std::vector<std::string> pieces{ranges(paths) + ": " + titled(c.part)};
    if (!c.ports.empty())
        pieces.push_back(counted(c.ports.size(), "port") + (group.size() > 1 ? " each" : "") +
                         ", up to " + std::string(c.ports.front().speeds.front()->name));
    return pieces;
}

std::string volumes_text(const ArraySchema& a) {
    std::string text;
    for (size_t i = 0; i < a.volumes.size();) {
        std::vector<std::string> paths;
        const VolumeSchema& v = a.volumes[i];
        for (; i < a.volumes.size() && to_string(a.volumes[i].place) == to_string(v.place); i++)
            paths.push_back(a.volumes[i].path);
        text += (text.empty() ? "" : ", ") + ranges(paths) + " of " + format_size(v.size);
        if (paths.size() > 1) text += " each";
    }
    return text;
}

std::vector<std::string> export_text(const ArraySchema& a) {
    std::vector<std::string> cards; // of the ports
    for (const std::string& port : a.exported->ports)
        if (const std::string card = port.substr(0, port.rfind("/port/"));
            cards.empty() || cards.back() != card)
            cards.push_back(card);
    return {fmt::format("{} on {} of {}", to_string(a.exported->protocol),
                        counted(a.exported->ports.size(), "port"), ranges(cards)),
            "by " + titled(a.exported->stack)};
}

void switches_and_cables_text(std::string& out, const Scenario& s) {
    for (const NetworkSwitchSchema& w : s.switches) {
        const auto taken = std::count_if(s.cables.begin(), s.cables.end(), [&](const auto& c) {
            return c.a == w.name || c.b == w.name;
        });
        put(out, "switch",
            {w.name + ": " + titled(w.part),
             fmt::format("{} of {} cabled", taken, counted(w.ports, "port"))});
    }
    for (size_t i = 0; i < s.cables.size();) {
        const CableSchema& c = s.cables[i];
        size_t n = 0;
        for (; i < s.cables.size() && to_string(s.cables[i].place) == to_string(c.place); i++) n++;
        put(out, "cable",
            {c.text, counted(n, "cable"), std::string(c.speed->name),
             fmt::format("{:g} m", c.metres)});
    }
}

std::vector<std::string> paths_text(const LoadSchema& l) {
    const PathSchema& p = *l.paths;
    std::vector<std::string> pieces{titled(p.part)};
    if (p.policy) pieces.emplace_back(to_string(*p.policy));
    if (p.ios) pieces.push_back(counted(*p.ios, "I/O") + " in a row");
    return pieces;
}

void redundancy_text(std::string& out, const Scenario& s, const LoadSchema& l) {
    for (const Redundancy& r : redundancy_of(s, l)) {
        const std::string whose = ranges(r.machines) + " to " + r.array;
        put(out, "  ways",
            {whose + ": " + counted(r.paths, "path") + " to each volume",
             fmt::format("{} disjoint", r.disjoint)});
        if (r.single.empty()) continue;
        std::vector<std::string> pieces = r.single;
        pieces.front() = whose + ": all paths go through " + pieces.front();
        for (size_t i = 0; i + 1 < pieces.size(); i++) pieces[i] += ',';
        put(out, "  warning", pieces, " ");
    }
}

} // namespace storlab
