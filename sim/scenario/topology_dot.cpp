// The wiring as a drawing, in the language of Graphviz. Machines are frames with their cards (ports
// are cells of a card), groups of equal drives and their arrays; network switches and cables lie
// between them. Colours go from white, or grey of a line, to red as a station is busy. The same
// scenario gives the same text.
#include "sim/scenario/build_fabric.hpp"
#include "sim/scenario/findings.hpp"
#include "sim/scenario/text_lines.hpp"
#include "sim/scenario/topology.hpp"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace storlab {

namespace {
// As text of a label: nothing in it is Graphviz's own. Cells of records have more of that.
std::string escaped(std::string_view text, bool in_record = false) {
    std::string out;
    for (const char c : text) {
        if (c == '&') out += "&amp;";
        else if (c == '\n') out += "\\n";
        else if (static_cast<unsigned char>(c) < ' ' || c == 127) out += ' '; // no XML holds them
        else {
            const bool special =
                c == '"' || c == '\\' ||
                (in_record && std::string_view("{}|<> ").find(c) != std::string_view::npos);
            if (special) out += '\\';
            out += c;
        }
    }
    return out;
}
std::string quoted(std::string_view text) { return '"' + escaped(text) + '"'; }

std::string blend(int red, int green, int blue, int other_red, double share) {
    const double u = std::clamp(share, 0.0, 1.0);
    const auto mix = [&](int from, int to) {
        return static_cast<int>(from + (to - from) * u + 0.5);
    };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(red, other_red), mix(green, 32), mix(blue, 32));
}
std::string fill_of(double share) { return blend(255, 255, 255, 255, share); }
std::string line_of(double share) { return blend(128, 128, 128, 224, share); }

std::string rates(Rate there, Rate back) {
    const std::string a = rate_text(there), b = rate_text(back);
    return a == b ? a : a + " / " + b;
}
// Words in lines of about so many letters.
std::string wrapped(const std::string& text) {
    constexpr size_t width = 30;
    std::string out;
    size_t used = 0;
    for (const std::string& word : words(text)) {
        if (used > 0) out += used + word.size() > width ? '\n' : ' ';
        used = used + word.size() > width ? word.size() : used + word.size() + 1;
        out += word;
    }
    return out;
}
std::string steps_after(const std::string& path, const std::string& machine) {
    return path.substr(machine.size() + 1);
}

class Drawing {
public:
    Drawing(const Scenario& s, const Graph& g, const UseMap& use)
        : s_(s), g_(g), use_(use), titles_(titles_of(s)) {
        for (auto& [path, title] : titles_) title = wrapped(title);
        for (const Link& l : g.links()) links_[l.name] = &l;
        for (const ArraySchema& a : s.arrays)
            if (a.exported) serving_.insert(a.exported->ports.begin(), a.exported->ports.end());
    }
    std::string text() {
        out_ = "graph testbed {\n";
        out_ += "  graph [rankdir=LR, labelloc=t, fontname=\"Helvetica\", ranksep=1, label=" +
                quoted(s_.title) +
                "]\n"
                "  node [shape=box, style=filled, fillcolor=\"#ffffff\", fontname=\"Helvetica\", "
                "fontsize=10]\n"
                "  edge [color=\"#808080\", fontname=\"Helvetica\", fontsize=9]\n";
        for (const MachineSchema& m : s_.machines) machine(m);
        for (const NetworkSwitchSchema& w : s_.switches)
            node(w.name, w.name + "\n" + titles_.at(w.name), "style=\"filled,rounded\"");
        for (const CableSchema& c : s_.cables) cable(c);
        return out_ + "}\n";
    }

private:
    const Scenario& s_;
    const Graph& g_;
    const UseMap& use_;
    std::map<std::string, std::string> titles_;
    std::map<std::string, const Link*> links_;
    std::set<std::string> serving_;                     // ports
    std::map<std::string, std::string> group_of_drive_; // path of the first like it
    std::string out_;

    void node(const std::string& path, std::string label, const std::string& more,
              const UseMap::Share& use) {
        if (use.there) label += "\n" + share_text(*use.there);
        if (use.binds) label += " binds";
        out_ += "    " + quoted(path) + " [label=" + quoted(label) + looks(use) +
                (more.empty() ? "" : ", " + more) + "]\n";
    }
    void node(const std::string& path, const std::string& label, const std::string& more = {}) {
        node(path, label, more, use_.thing(path));
    }
    static std::string looks(const UseMap::Share& use) {
        std::string text;
        if (use.there) text += ", fillcolor=\"" + fill_of(*use.there) + "\"";
        if (use.binds) text += ", penwidth=3, color=\"#c00000\"";
        return text;
    }
    // Of a link, or of several alike with their greatest use.
    void edge(const std::string& from, const std::string& to, std::string label,
              const UseMap::Share& use, const std::string& tooltip) {
        std::string look;
        if (const auto most = use.most()) {
            label += "\n" + share_text(*most);
            look = fmt::format(", color=\"{}\", penwidth={:.1f}", line_of(*most),
                               1 + 3 * std::clamp(*most, 0.0, 1.0));
        }
        if (use.binds) label += " binds", look += ", style=bold, fontcolor=\"#c00000\"";
        out_ += "  " + from + " -- " + to + " [label=" + quoted(label) +
                ", tooltip=" + quoted(tooltip) + look + "]\n";
    }

    void machine(const MachineSchema& m) {
        out_ += "  subgraph " + quoted("cluster " + m.name) + " {\n    label=" + quoted(m.name) +
                "\n    style=rounded\n";
        node(m.name, "processors and memory\n" + titles_.at(m.name));
        for (const SwitchSchema& w : m.switches) {
            const std::string path = join_path(m.name, w.name);
            node(path, w.name + "\n" + titles_.at(path), "style=\"filled,rounded\"");
        }
        for (const CardSchema& c : m.cards) card(m, c);
        const auto groups = drive_groups(m);
        for (const auto& g : groups) drives(m, g);
        for (const ArraySchema& a : s_.arrays)
            if (a.machine == m.name) array(a);
        out_ += "  }\n";
        for (const SwitchSchema& w : m.switches)
            pcie(m, join_path(m.name, w.name), "uplink", m.name, true);
        for (const CardSchema& c : m.cards) {
            const bool serves = std::any_of(c.ports.begin(), c.ports.end(), [&](const auto& p) {
                return serving_.contains(p.path);
            });
            pcie(m, join_path(m.name, c.name), "link", join_path(m.name, c.behind), !serves);
        }
        for (const auto& g : groups) drive_links(m, g);
        for (const ArraySchema& a : s_.arrays)
            if (a.machine == m.name) array_links(a);
    }
    void card(const MachineSchema& m, const CardSchema& c) {
        const std::string path = join_path(m.name, c.name);
        UseMap::Share use = use_.thing(path);
        for (const PortSchema& p : c.ports) use.take(use_.thing(p.path)); // its associations
        std::string name = c.name;
        if (use.there) name += " " + share_text(*use.there) + (use.binds ? " binds" : "");
        if (c.ports.empty()) return node(path, c.name + "\n" + titles_.at(path), {}, use);
        std::string cells = escaped(name, true) + "\\n" + escaped(titles_.at(path), true);
        std::string ports;
        for (size_t i = 0; i < c.ports.size(); i++)
            ports += (i > 0 ? "|" : "") + fmt::format("<p{}>", i) +
                     escaped(steps_after(c.ports[i].path, path), true);
        out_ += "    " + quoted(path) + " [shape=record, label=\"" + cells + "|" + ports + "\"" +
                looks(use) + "]\n";
    }
    void pcie(const MachineSchema& m, const std::string& path, const char* name,
              const std::string& above, bool machine_first) {
        const Link& l = *links_.at(join_path(path, name));
        const std::string a = quoted(above.empty() ? m.name : above), b = quoted(path);
        edge(machine_first ? a : b, machine_first ? b : a, rates(l.there, l.back),
             use_.link(l.name), l.name);
    }

    using Drives = std::vector<const DriveSchema*>;
    std::vector<Drives> drive_groups(const MachineSchema& m) {
        std::vector<Drives> groups;
        std::map<std::string, size_t> index;
        for (const DriveSchema& d : m.drives) {
            const Link& l = *links_.at(join_path(d.path, "link"));
            std::string user; // drives of one array
            for (const ArraySchema& a : s_.arrays)
                if (a.uses(d.path)) user = a.name;
            const std::string key =
                fmt::format("{}\n{}\n{}\n{}\n{}", group_of(d.path), titles_.at(d.path), d.behind,
                            user, l.there.in_bytes_per_second());
            const auto [at, fresh] = index.emplace(key, groups.size());
            if (fresh) groups.emplace_back();
            groups[at->second].push_back(&d);
            group_of_drive_[d.path] = groups[at->second].front()->path;
        }
        return groups;
    }
    void drives(const MachineSchema& m, const Drives& group) {
        UseMap::Share use;
        std::vector<std::string> names;
        for (const DriveSchema* d : group) {
            use.take(use_.thing(d->path));
            names.push_back(steps_after(d->path, m.name));
        }
        const std::string& path = group.front()->path;
        node(path, times(group.size()) + titles_.at(path) + "\n" + ranges(names), {}, use);
    }
    void drive_links(const MachineSchema& m, const Drives& group) {
        UseMap::Share use;
        for (const DriveSchema* d : group) use.take(use_.link(join_path(d->path, "link")));
        const DriveSchema& d = *group.front();
        const Link& l = *links_.at(join_path(d.path, "link"));
        edge(quoted(join_path(m.name, d.behind)), quoted(d.path),
             times(group.size()) + rates(l.there, l.back), use, l.name);
    }
    static std::string times(size_t n) { return n > 1 ? std::to_string(n) + " x " : ""; }

    void array(const ArraySchema& a) {
        std::string label = a.name + "\n" + titles_.at(a.name);
        if (const std::string volumes = volumes_text(a); !volumes.empty())
            label += "\n" + wrapped(volumes);
        node(a.name, label, "shape=folder");
    }
    void array_links(const ArraySchema& a) {
        const auto line = [&](const std::string& to, const char* style, const char* what) {
            out_ += "  " + quoted(a.name) + " -- " + quoted(to) + " [style=" + style +
                    ", label=" + quoted(what) + "]\n";
        };
        std::set<std::string> drawn;
        for (const std::string& d : a.drives)
            if (const std::string& first = group_of_drive_.at(d); drawn.insert(first).second)
                line(first, "dashed", "");
        for (const std::string& d : a.spares)
            if (const std::string& first = group_of_drive_.at(d); drawn.insert(first).second)
                line(first, "dotted", "spare");
        if (!a.journal.empty()) line(group_of_drive_.at(a.journal), "dashed", "journal");
        if (!a.card.empty()) line(join_path(a.machine, a.card), "dashed", "engine");
    }

    // A cable's end: a cell of a card, or a switch.
    std::string end(const std::string& path) const {
        for (const MachineSchema& m : s_.machines)
            for (const CardSchema& c : m.cards)
                for (size_t i = 0; i < c.ports.size(); i++)
                    if (c.ports[i].path == path)
                        return quoted(join_path(m.name, c.name)) + fmt::format(":p{}", i);
        return quoted(path);
    }
    // Machines that ask stand left of the switches, those that serve on the right.
    void cable(const CableSchema& c) {
        const Link& l = *links_.at(cable_name(c, s_));
        const bool turn = serving_.contains(c.a) ||
                          (s_.network_switch(c.a) && s_.port(c.b) && !serving_.contains(c.b));
        const std::string a = end(c.a), b = end(c.b);
        edge(turn ? b : a, turn ? a : b,
             fmt::format("{} {:g} m\n{}", c.speed->name, c.metres, rates(l.there, l.back)),
             use_.link(l.name), l.name);
    }
};
} // namespace

std::string topology_dot(const Scenario& s, const Graph& g, const UseMap& use) {
    return Drawing(s, g, use).text();
}

} // namespace storlab
