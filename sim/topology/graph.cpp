#include "sim/topology/graph.hpp"
#include "sim/base/error.hpp"
#include "sim/base/path.hpp"
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <cmath>
#include <deque>

namespace storlab {

namespace {
using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Vertex { // what the algorithm keeps of each
    boost::default_color_type color{};
    Traits::edge_descriptor predecessor{};
    int64_t distance = 0;
};
struct Arc {
    int64_t capacity = 0, residual = 0;
    Traits::edge_descriptor reverse{};
};
using Net = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Arc>;

// A flow network. Whole numbers, so that nothing is left of a full arc but zero.
class Flow {
public:
    explicit Flow(size_t vertices) : net_(vertices) {}

    // Two arcs, each the other's way back. Returns the place of the first in all arcs.
    size_t connect(size_t from, size_t to, int64_t there, int64_t back) {
        const auto a = boost::add_edge(from, to, net_).first;
        const auto b = boost::add_edge(to, from, net_).first;
        net_[a] = {there, there, b};
        net_[b] = {back, back, a};
        arcs_.push_back(a);
        return arcs_.size() - 1;
    }
    // The greatest flow. Boost's algorithm asks for a way to exist, and for no vertex next to both
    // terminals.
    void push(size_t source, size_t sink) {
        boost::boykov_kolmogorov_max_flow(
            net_, boost::get(&Arc::capacity, net_), boost::get(&Arc::residual, net_),
            boost::get(&Arc::reverse, net_), boost::get(&Vertex::predecessor, net_),
            boost::get(&Vertex::color, net_), boost::get(&Vertex::distance, net_),
            boost::get(boost::vertex_index, net_), source, sink);
    }
    int64_t flow(size_t arc) const { // negative: the other way
        const Arc& a = net_[arcs_[arc]];
        return a.capacity - a.residual;
    }
    // What can still be reached over arcs with so much left.
    std::vector<bool> reached(size_t from, int64_t left = 1) const {
        std::vector<bool> seen(boost::num_vertices(net_));
        std::deque<size_t> waiting{from};
        seen[from] = true;
        for (; !waiting.empty(); waiting.pop_front())
            for (auto [e, end] = boost::out_edges(waiting.front(), net_); e != end; ++e) {
                const size_t next = boost::target(*e, net_);
                if (seen[next] || net_[*e].residual < left) continue;
                seen[next] = true;
                waiting.push_back(next);
            }
        return seen;
    }

private:
    Net net_;
    std::vector<Traits::edge_descriptor> arcs_;
};

constexpr double no_limit = 1e14;       // bytes per second: 100 TB/s
constexpr int64_t infinite = INT64_MAX; // stands for no limit until the sum of all others is known
int64_t whole(Rate r) {
    const double b = r.in_bytes_per_second();
    if (b >= no_limit) return infinite;
    return b > 0 ? std::max<int64_t>(1, std::llround(b)) : 0;
}
bool carries(Rate r) { return r > Rate{}; }
bool is_rate(Rate r) { return r >= Rate{}; } // and no NaN

struct Hop {
    size_t link, to;
};
// Takes one way through the flow out of `next`, without loops.
Route take_route(size_t from, size_t to, std::vector<std::vector<Hop>>& next,
                 const std::vector<Thing>& things, const std::vector<Link>& links) {
    std::vector<Hop> way{{0, from}};
    while (way.back().to != to) {
        STORLAB_ENSURE(!next[way.back().to].empty());
        const Hop hop = next[way.back().to].back();
        next[way.back().to].pop_back();
        const auto again =
            std::find_if(way.begin(), way.end(), [&](const Hop& h) { return h.to == hop.to; });
        if (again == way.end()) way.push_back(hop);
        else way.erase(again + 1, way.end());
    }
    Route route;
    for (size_t i = 0; i < way.size(); i++) {
        route.things.push_back(things[way[i].to].path);
        if (i > 0) route.links.push_back(links[way[i].link].name);
    }
    return route;
}
} // namespace

std::string_view to_string(ThingKind kind) {
    switch (kind) {
    case ThingKind::machine: return "machine";
    case ThingKind::socket: return "socket";
    case ThingKind::card: return "card";
    case ThingKind::drive: return "drive";
    case ThingKind::array: return "array";
    case ThingKind::port: return "port";
    case ThingKind::pcie_switch: return "PCIe switch";
    case ThingKind::network_switch: return "network switch";
    case ThingKind::target: return "target";
    }
    broken("a kind of thing", __FILE__, __LINE__);
}

size_t Graph::at(std::string_view path) const {
    const auto i = index_.find(path);
    STORLAB_ENSURE(i != index_.end());
    return i->second;
}

void Graph::add(Thing thing) {
    STORLAB_ENSURE(is_path(thing.path) && is_rate(thing.limit));
    STORLAB_ENSURE(index_.emplace(thing.path, things_.size()).second);
    if (thing.limit_name.empty()) thing.limit_name = thing.path;
    things_.push_back(std::move(thing));
    links_of_.emplace_back();
}

void Graph::connect(Link link) {
    STORLAB_ENSURE(!link.name.empty() && is_rate(link.there) && is_rate(link.back));
    const size_t from = at(link.from), to = at(link.to);
    STORLAB_ENSURE(from != to);
    STORLAB_ENSURE(link_index_.emplace(link.name, links_.size()).second);
    links_of_[from].push_back(links_.size());
    links_of_[to].push_back(links_.size());
    links_.push_back(std::move(link));
}

Route Graph::route(std::string_view from, std::string_view to) const {
    const size_t source = at(from), target = at(to);
    constexpr size_t none = SIZE_MAX;
    std::vector<size_t> by(things_.size(), none), before(things_.size(), none);
    std::deque<size_t> waiting;
    if (carries(things_[source].limit)) waiting.push_back(before[source] = source);
    for (; !waiting.empty() && before[target] == none; waiting.pop_front()) {
        const size_t v = waiting.front();
        for (const size_t l : links_of_[v]) {
            const bool forth = links_[l].from == things_[v].path;
            const size_t next = at(forth ? links_[l].to : links_[l].from);
            if (before[next] != none || !carries(forth ? links_[l].there : links_[l].back) ||
                !carries(things_[next].limit))
                continue;
            by[next] = l;
            before[next] = v;
            waiting.push_back(next);
        }
    }
    Route route;
    if (before[target] == none) return route;
    for (size_t v = target; v != source; v = before[v]) {
        route.things.push_back(things_[v].path);
        route.links.push_back(links_[by[v]].name);
    }
    route.things.push_back(things_[source].path);
    std::reverse(route.things.begin(), route.things.end());
    std::reverse(route.links.begin(), route.links.end());
    return route;
}

std::vector<Route> Graph::disjoint_paths(std::string_view from, std::string_view to) const {
    const size_t n = things_.size(), source = at(from), target = at(to);
    Route shortest = route(from, to);
    if (source == target || shortest.things.empty())
        return shortest.things.empty() ? std::vector<Route>{} : std::vector{std::move(shortest)};
    Flow flow(n + 2);
    for (const Link& l : links_) {
        const size_t a = at(l.from), b = at(l.to);
        const bool open = carries(things_[a].limit) && carries(things_[b].limit);
        flow.connect(a, b, open && carries(l.there), open && carries(l.back));
    }
    const auto most = static_cast<int64_t>(links_.size());
    const size_t ways = flow.connect(n, source, most, 0);
    flow.connect(target, n + 1, most, 0);
    flow.push(n, n + 1);
    std::vector<std::vector<Hop>> next(n);
    for (size_t l = 0; l < links_.size(); l++) {
        const size_t a = at(links_[l].from), b = at(links_[l].to);
        if (flow.flow(l) > 0) next[a].push_back({l, b});
        if (flow.flow(l) < 0) next[b].push_back({l, a});
    }
    std::vector<Route> routes;
    for (int64_t i = flow.flow(ways); i > 0; i--)
        routes.push_back(take_route(source, target, next, things_, links_));
    std::stable_sort(routes.begin(), routes.end(), [](const Route& a, const Route& b) {
        return a.links.size() < b.links.size();
    });
    return routes;
}

// Each thing is an arc from where data enters it to where data leaves it.
Cut Graph::min_cut(std::span<const std::string> sources, std::span<const std::string> sinks) const {
    const size_t source = 2 * things_.size(), sink = source + 1;
    const auto entry = [&](std::string_view path) { return 2 * at(path); };
    const auto exit = [&](std::string_view path) { return 2 * at(path) + 1; };
    struct Way {
        size_t from, to;
        Rate rate;
        const std::string* name; // null: no limit of the testbed
    };
    std::vector<Way> ways;
    for (const Thing& t : things_)
        ways.push_back({entry(t.path), exit(t.path), t.limit, &t.limit_name});
    for (const Link& l : links_) {
        ways.push_back({exit(l.from), entry(l.to), l.there, &l.name});
        ways.push_back({exit(l.to), entry(l.from), l.back, &l.name});
    }
    const auto ends = [&](std::span<const std::string> paths, auto&& way) {
        std::vector<size_t> all;
        for (const std::string& p : paths) all.push_back(at(p));
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        for (const size_t i : all) ways.push_back(way(i));
    };
    ends(sources, [&](size_t i) { return Way{source, 2 * i, unlimited, nullptr}; });
    ends(sinks, [&](size_t i) { return Way{2 * i + 1, sink, unlimited, nullptr}; });

    int64_t all = 1; // more than any finite flow
    for (const Way& w : ways)
        if (whole(w.rate) != infinite) all += whole(w.rate);
    Flow flow(sink + 1);
    for (const Way& w : ways) flow.connect(w.from, w.to, std::min(whole(w.rate), all), 0);
    if (!flow.reached(source)[sink]) return {};
    if (flow.reached(source, all)[sink]) return {unlimited, {}};
    flow.push(source, sink);
    const std::vector<bool> near = flow.reached(source);
    STORLAB_ENSURE(!near[sink]);
    Cut cut;
    double capacity = 0;
    std::map<std::string, double, decltype(&natural_less)> limits(&natural_less);
    for (const Way& w : ways) {
        if (!near[w.from] || near[w.to] || !carries(w.rate)) continue;
        capacity += w.rate.in_bytes_per_second();
        limits[*w.name] += w.rate.in_bytes_per_second();
    }
    cut.capacity = Rate::bytes_per_second(capacity);
    for (const auto& [name, rate] : limits)
        cut.limits.push_back({name, Rate::bytes_per_second(rate)});
    return cut;
}

} // namespace storlab
