// The wiring as a list: things, then links, equal ones in one line.
#include "sim/scenario/build_fabric.hpp"
#include "sim/scenario/findings.hpp"
#include "sim/scenario/text_lines.hpp"
#include "sim/scenario/topology.hpp"
#include <algorithm>
#include <fmt/format.h>

namespace storlab {

namespace {
using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the last is free.
std::string table(const std::vector<Row>& rows) {
    std::vector<size_t> widths;
    for (const Row& r : rows) {
        widths.resize(std::max(widths.size(), r.size()));
        for (size_t i = 0; i < r.size(); i++) widths[i] = std::max(widths[i], r[i].size());
    }
    std::string out;
    for (const Row& r : rows) {
        std::string line;
        for (size_t i = 0; i < r.size(); i++)
            if (widths[i] > 0) line += fmt::format("{:<{}}  ", r[i], widths[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    return out;
}

std::string use_text(const UseMap::Share& u, const std::optional<double>& of) {
    return of ? share_text(*of) + (u.binds && of == u.most() ? " binds" : "") : "";
}
// Of several under their common name: storage/ssd/*.
std::string named(const std::string& first, size_t n) { return n > 1 ? group_of(first) : first; }
std::string times(size_t n) { return n > 1 ? "x" + std::to_string(n) : ""; }

struct Group {
    std::vector<size_t> members;
    UseMap::Share use;
};
// In order of their first.
class Groups {
public:
    void put(const std::string& key, size_t member, const UseMap::Share& use) {
        const auto [at, fresh] = index_.emplace(key, all_.size());
        if (fresh) all_.emplace_back();
        all_[at->second].members.push_back(member);
        all_[at->second].use.take(use);
    }
    const std::vector<Group>& all() const { return all_; }

private:
    std::map<std::string, size_t> index_;
    std::vector<Group> all_;
};

std::string things_text(const Scenario& s, const Graph& g, const UseMap& use) {
    const auto titles = titles_of(s);
    const auto title = [&](const Thing& t) {
        const auto found = titles.find(t.path);
        return found == titles.end() ? std::string() : found->second;
    };
    Groups groups;
    for (size_t i = 0; i < g.things().size(); i++) {
        const Thing& t = g.things()[i];
        groups.put(fmt::format("{}\n{}\n{}", to_string(t.kind), group_of(t.path), title(t)), i,
                   use.thing(t.path));
    }
    std::vector<Row> rows;
    for (const Group& group : groups.all()) {
        const Thing& t = g.things()[group.members.front()];
        const size_t n = group.members.size();
        const std::string kind(t.kind == ThingKind::target ? "volume" : to_string(t.kind));
        rows.push_back(
            {kind, named(t.path, n), times(n), use_text(group.use, group.use.there), title(t)});
    }
    return table(rows);
}

std::string links_text(const Scenario& s, const Graph& g, const UseMap& use) {
    std::map<std::string, std::string> cables; // what there is to say of one
    for (const CableSchema& c : s.cables)
        cables[cable_name(c, s)] =
            fmt::format("cable {}, {} {:g} m", c.text, c.speed->name, c.metres);
    Groups groups;
    const auto label = [&](const Link& l, size_t n) {
        const auto cable = cables.find(l.name);
        if (cable != cables.end()) return cable->second;
        return l.there >= unlimited || l.back >= unlimited ? "" : named(l.name, n);
    };
    for (size_t i = 0; i < g.links().size(); i++) {
        const Link& l = g.links()[i];
        groups.put(fmt::format("{}\n{}\n{}\n{}\n{}", group_of(l.from), group_of(l.to),
                               l.there.in_bytes_per_second(), l.back.in_bytes_per_second(),
                               label(l, 2)),
                   i, use.link(l.name));
    }
    std::vector<Row> rows{{"from", "to", "", "there", "", "back", "", ""}};
    for (const Group& group : groups.all()) {
        const Link& l = g.links()[group.members.front()];
        const size_t n = group.members.size();
        const bool logical = l.there >= unlimited || l.back >= unlimited;
        rows.push_back({named(l.from, n), named(l.to, n), times(n), rate_text(l.there),
                        use_text(group.use, group.use.there), logical ? "-" : rate_text(l.back),
                        use_text(group.use, group.use.back), label(l, n)});
    }
    return table(rows);
}
} // namespace

std::string topology_text(const Scenario& s, const Graph& g, const UseMap& use) {
    return s.title + "\n\n" + things_text(s, g, use) + "\n" + links_text(s, g, use);
}

} // namespace storlab
