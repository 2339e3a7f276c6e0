// Routes, ways that share no link, and cuts, against enumeration on small random graphs.
#include "sim/base/random.hpp"
#include "sim/topology/graph.hpp"
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <set>

using namespace storlab;

namespace {
Rate gbs(double r) { return Rate::bytes_per_second(r * 1e9); }
std::string name(size_t i) { return "n/" + std::to_string(i); }
using Names = std::vector<std::string>;

void add_all(Graph& g, const Names& paths) {
    for (const std::string& p : paths) g.add({p, ThingKind::machine, unlimited, {}});
}
void both_ways(Graph& g, const std::string& a, const std::string& b, Rate rate) {
    g.connect({a + "-" + b, a, b, rate, rate});
}
Names names_of(const Cut& cut) {
    Names names;
    for (const Cut::Limit& l : cut.limits) names.push_back(l.name);
    return names;
}
double gb(const Cut& cut) { return cut.capacity.in_bytes_per_second() / 1e9; }

// A random graph, and the same as plain numbers.
struct Sample {
    struct Edge {
        size_t from, to;
        double there, back;
    };
    Graph graph;
    std::vector<double> limit; // infinite: none
    std::vector<Edge> edges;

    Sample(Random& random, size_t n, size_t links) {
        for (size_t i = 0; i < n; i++) {
            limit.push_back(random.below(3) ? unlimited.in_bytes_per_second()
                                            : static_cast<double>(random.below(12)) * 1e9);
            graph.add({name(i), ThingKind::machine, Rate::bytes_per_second(limit[i]), {}});
        }
        for (size_t i = 0; i < links; i++) {
            const size_t a = random.below(n), b = (a + 1 + random.below(n - 1)) % n;
            const auto rate = [&] {
                return random.below(9) == 0 ? unlimited.in_bytes_per_second()
                                            : static_cast<double>(random.below(10)) * 1e9;
            };
            edges.push_back({a, b, rate(), rate()});
            graph.connect({"link " + std::to_string(i), name(a), name(b),
                           Rate::bytes_per_second(edges.back().there),
                           Rate::bytes_per_second(edges.back().back)});
        }
    }
    // Every thing has two sides, of entry and of exit; each side stands near the sources or not.
    double least_cut(const std::set<size_t>& sources, const std::set<size_t>& sinks) const {
        const size_t n = limit.size();
        double least = unlimited.in_bytes_per_second();
        for (uint64_t side = 0; side < uint64_t{1} << (2 * n); side++) {
            const auto in = [&](size_t i) { return (side >> (2 * i) & 1) != 0; };
            const auto out = [&](size_t i) { return (side >> (2 * i + 1) & 1) != 0; };
            bool valid = true;
            for (const size_t s : sources) valid &= in(s);
            for (const size_t s : sinks) valid &= !out(s);
            if (!valid) continue;
            double across = 0;
            for (size_t i = 0; i < n; i++)
                if (in(i) && !out(i)) across += limit[i];
            for (const Edge& e : edges) {
                if (out(e.from) && !in(e.to)) across += e.there;
                if (out(e.to) && !in(e.from)) across += e.back;
            }
            least = std::min(least, across);
        }
        return least;
    }
    // Every way from one to the other as a set of links.
    void ways(size_t at, size_t to, uint32_t things, uint32_t used,
              std::vector<uint32_t>& found) const {
        if (limit[at] == 0) return;
        if (at == to) return found.push_back(used);
        for (size_t i = 0; i < edges.size(); i++) {
            const Edge& e = edges[i];
            for (const bool forth : {true, false}) {
                if ((forth ? e.from : e.to) != at || (forth ? e.there : e.back) == 0) continue;
                const size_t next = forth ? e.to : e.from;
                if (things >> next & 1) continue;
                ways(next, to, things | 1u << next, used | 1u << i, found);
            }
        }
    }
    static size_t most_disjoint(const std::vector<uint32_t>& all, size_t from, uint32_t used) {
        size_t most = 0;
        for (size_t i = from; i < all.size(); i++)
            if (!(all[i] & used))
                most = std::max(most, 1 + most_disjoint(all, i + 1, used | all[i]));
        return most;
    }
};

// Its links join its things in their order, and each carries something that way.
void check_route(const Sample& s, const Route& r, size_t from, size_t to) {
    REQUIRE(r.things.size() == r.links.size() + 1);
    CHECK(r.things.front() == name(from));
    CHECK(r.things.back() == name(to));
    CHECK(std::set(r.things.begin(), r.things.end()).size() == r.things.size());
    for (size_t i = 0; i < r.links.size(); i++) {
        const auto& all = s.graph.links();
        const auto link = std::find_if(all.begin(), all.end(),
                                       [&](const Link& l) { return l.name == r.links[i]; });
        REQUIRE(link != all.end());
        const bool forth = link->from == r.things[i];
        CHECK((forth ? link->to : link->from) == r.things[i + 1]);
        CHECK((forth ? link->there : link->back) > Rate{});
    }
}
} // namespace

TEST_CASE("a route has the fewest links, and none leads to an island") {
    Graph g;
    add_all(g, {"host", "switch", "target", "long/1", "long/2", "island"});
    both_ways(g, "host", "long/1", gbs(1));
    both_ways(g, "long/1", "long/2", gbs(1));
    both_ways(g, "long/2", "target", gbs(1));
    both_ways(g, "host", "switch", gbs(1));
    both_ways(g, "switch", "target", gbs(1));
    CHECK(g.route("host", "target").things == Names{"host", "switch", "target"});
    CHECK(g.route("host", "target").links == Names{"host-switch", "switch-target"});
    CHECK(g.route("target", "host").things == Names{"target", "switch", "host"});
    CHECK(g.route("host", "host").things == Names{"host"});
    CHECK(g.route("host", "island").things.empty());
    CHECK(g.disjoint_paths("host", "target").size() == 2);
    CHECK(g.disjoint_paths("host", "target")[1].links.size() == 3);
    CHECK(g.disjoint_paths("host", "island").empty());
    CHECK(g.disjoint_paths("host", "host").size() == 1);
    CHECK(g.min_cut("host", "island").capacity == Rate{});
    CHECK(g.min_cut("host", "island").limits.empty());
}

TEST_CASE("a link may carry one way only") {
    Graph g;
    add_all(g, {"array", "drive"});
    g.connect({"holds", "array", "drive", unlimited, {}});
    CHECK(g.route("array", "drive").links == Names{"holds"});
    CHECK(g.route("drive", "array").things.empty());
    CHECK(g.min_cut("array", "drive").capacity == unlimited);
    CHECK(g.min_cut("array", "drive").limits.empty());
    CHECK(g.min_cut("drive", "array").capacity == Rate{});
}

TEST_CASE("drives behind one uplink: the uplink is the cut until it is wide enough") {
    for (const double uplink : {10.0, 40.0}) {
        Graph g;
        add_all(g, {"switch", "host"});
        Names drives;
        for (int i = 0; i < 12; i++) {
            drives.push_back("ssd/" + std::to_string(i));
            g.add({drives.back(), ThingKind::drive, gbs(6.5), {}});
            g.connect({drives.back() + "/link", drives.back(), "switch", gbs(2), gbs(3)});
        }
        g.connect({"uplink", "switch", "host", gbs(uplink), gbs(uplink / 2)});
        const Names host{"host"};
        const Cut read = g.min_cut(drives, host), write = g.min_cut(host, drives);
        CHECK(gb(read) == Approx(std::min(uplink, 24.0)));
        CHECK(gb(write) == Approx(std::min(uplink / 2, 36.0)));
        CHECK(names_of(write) == Names{"uplink"});
        if (uplink < 24) CHECK(names_of(read) == Names{"uplink"});
        else {
            CHECK(read.limits.size() == 12);
            CHECK(read.limits[2].name == "ssd/2/link");
            CHECK(read.limits[10].name == "ssd/10/link"); // numbers in order
            CHECK(read.limits[10].rate == gbs(2));
        }
    }
}

TEST_CASE("a thing's own limit counts on the way and at both ends, under its own name") {
    for (const std::string limited : {"a", "b", "c"}) {
        Graph g;
        for (const char* p : {"a", "b", "c"})
            g.add({p, ThingKind::network_switch, p == limited ? gbs(3) : unlimited,
                   p == std::string("b") ? "b/backplane" : ""});
        both_ways(g, "a", "b", gbs(5));
        both_ways(g, "b", "c", gbs(4));
        CHECK(gb(g.min_cut("a", "c")) == 3);
        CHECK(names_of(g.min_cut("a", "c")) == Names{limited == "b" ? "b/backplane" : limited});
        CHECK(g.min_cut(limited, limited).capacity == gbs(3));
    }
}

TEST_CASE("of several least cuts the one nearest the sources is told") {
    Graph g;
    add_all(g, {"a", "b", "c"});
    both_ways(g, "a", "b", gbs(5));
    both_ways(g, "b", "c", gbs(5));
    CHECK(names_of(g.min_cut("a", "c")) == Names{"a-b"});
    CHECK(names_of(g.min_cut("c", "a")) == Names{"b-c"});
}

TEST_CASE("the cut is the least of all cuts (every partition of random graphs)") {
    Random random(1, "graphs");
    size_t islands = 0, endless = 0, several = 0;
    for (int round = 0; round < 400; round++) {
        const size_t n = 3 + random.below(4);
        const Sample s(random, n, 1 + random.below(2 * n));
        std::set<size_t> sources, sinks;
        Names from, to;
        for (size_t i = 0, k = 1 + random.below(2); i < k; i++) {
            sources.insert(random.below(n));
            sinks.insert(random.below(n));
        }
        for (const size_t i : sources) from.push_back(name(i));
        for (const size_t i : sinks) to.push_back(name(i));
        from.push_back(from.front()); // named twice is no matter
        const double least = s.least_cut(sources, sinks);
        const Cut cut = s.graph.min_cut(from, to);
        INFO("round " << round);
        CHECK(cut.capacity.in_bytes_per_second() == least);
        double sum = 0;
        for (const Cut::Limit& l : cut.limits) sum += l.rate.in_bytes_per_second();
        if (std::isfinite(least)) CHECK(sum == least);
        CHECK(cut.limits.empty() == (least == 0 || !std::isfinite(least)));
        islands += least == 0;
        endless += !std::isfinite(least);
        several += cut.limits.size() > 1;
    }
    CHECK(islands > 20);
    CHECK(endless > 20);
    CHECK(several > 20);
}

TEST_CASE("what a cut names is what stops the flow: without it nothing arrives") {
    Random random(2, "graphs");
    for (int round = 0; round < 300; round++) {
        const size_t n = 4 + random.below(5);
        const Sample s(random, n, 2 * n);
        const Names named = names_of(s.graph.min_cut(name(0), name(1)));
        if (named.empty()) continue;
        const auto hit = [&](const std::string& x) {
            return std::count(named.begin(), named.end(), x) > 0;
        };
        Graph cut;
        for (Thing t : s.graph.things()) {
            if (hit(t.path)) t.limit = {};
            cut.add(t);
        }
        for (Link l : s.graph.links()) {
            if (hit(l.name)) l.there = l.back = {};
            cut.connect(l);
        }
        INFO("round " << round);
        CHECK(cut.min_cut(name(0), name(1)).capacity == Rate{});
    }
}

TEST_CASE("ways that share no link are as many as there can be (all sets of ways)") {
    Random random(3, "graphs");
    size_t most = 0;
    for (int round = 0; round < 400; round++) {
        const size_t n = 3 + random.below(3);
        const Sample s(random, n, 2 + random.below(8));
        std::vector<uint32_t> all;
        s.ways(0, n - 1, 1, 0, all);
        const std::vector<Route> ways = s.graph.disjoint_paths(name(0), name(n - 1));
        INFO("round " << round);
        CHECK(ways.size() == Sample::most_disjoint(all, 0, 0));
        std::set<std::string> links;
        size_t used = 0;
        for (const Route& r : ways) {
            check_route(s, r, 0, n - 1);
            links.insert(r.links.begin(), r.links.end());
            used += r.links.size();
        }
        CHECK(links.size() == used);
        most = std::max(most, ways.size());

        const Route shortest = s.graph.route(name(0), name(n - 1));
        CHECK(shortest.things.empty() == all.empty());
        int fewest = 99;
        for (const uint32_t w : all) fewest = std::min(fewest, std::popcount(w));
        if (!all.empty()) {
            check_route(s, shortest, 0, n - 1);
            CHECK(shortest.links.size() == static_cast<size_t>(fewest));
        }
    }
    CHECK(most >= 4);
}

TEST_CASE("two cables between the same two things are two ways, and carry the sum") {
    Graph g;
    add_all(g, {"a", "b"});
    for (const char* cable : {"cable 1", "cable 2", "cable 3"})
        g.connect({cable, "a", "b", gbs(2), gbs(1)});
    CHECK(g.disjoint_paths("a", "b").size() == 3);
    CHECK(gb(g.min_cut("a", "b")) == 6);
    CHECK(gb(g.min_cut("b", "a")) == 3);
}

TEST_CASE("thousands of drives behind two tiers of switches are a matter of milliseconds") {
    constexpr size_t leaves = 64, drives = 5000;
    Graph g;
    add_all(g, {"host", "spine/0", "spine/1"});
    both_ways(g, "host", "spine/0", gbs(400));
    both_ways(g, "host", "spine/1", gbs(400));
    for (size_t l = 0; l < leaves; l++) {
        const std::string leaf = "leaf/" + std::to_string(l);
        g.add({leaf, ThingKind::network_switch, gbs(l ? 50 : 5), {}});
        both_ways(g, leaf, "spine/0", gbs(8));
        both_ways(g, leaf, "spine/1", gbs(6));
    }
    Names all;
    for (size_t d = 0; d < drives; d++) {
        all.push_back("ssd/" + std::to_string(d));
        g.add({all.back(), ThingKind::drive, gbs(7), {}});
        both_ways(g, all.back(), "leaf/" + std::to_string(d % leaves), gbs(6.5));
    }
    const auto before = std::chrono::steady_clock::now();
    const Cut cut = g.min_cut(all, Names{"host"});
    const auto paths = g.disjoint_paths("leaf/3", "host");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    CHECK(gb(cut) == Approx(std::min(64.0 * 8, 400.0) + 63 * 6.0).epsilon(0.02));
    CHECK(paths.size() == 2);
    CHECK(took.count() < 1); // with sanitizers, on a busy machine; 20 ms otherwise
}
