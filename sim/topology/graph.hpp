// The testbed as a graph: things, named by their paths, and the links between them, each of which
// carries so much each way. It answers what a plan of the wiring can: which way from here to there,
// how many ways that share no link (Menger 1927), and how much at most, with what limits it (the
// least cut is the greatest flow: Ford and Fulkerson 1956), computed with Boykov and Kolmogorov's
// algorithm of 2004 in Boost.Graph. Left out: latency and anything that queues.
#pragma once
#include "sim/base/quantity.hpp"
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

// A machine stands for its memory, and for its sockets where those are no things of their own. A
// port is a thing ("storage/fc/0/port/1") with a link to its card, so that it can be what limits.
enum class ThingKind : uint8_t {
    machine,
    socket,
    card,
    drive,
    array,
    port,
    pcie_switch,
    network_switch,
    target
};
std::string_view to_string(ThingKind kind);

constexpr Rate unlimited = Rate::bytes_per_second(std::numeric_limits<double>::infinity());

struct Thing {
    std::string path;
    ThingKind kind = ThingKind::machine;
    // What passes through it at most, all links together; what begins or ends in it counts too.
    Rate limit = unlimited;
    std::string limit_name; // how a cut names that limit; empty: the path
};
struct Link {
    std::string name; // how a cut names it: a cable as written
    std::string from, to;
    Rate there, back; // from -> to and to -> from; zero: one way only
};

// A way along links that carry something: n + 1 things, n links.
struct Route {
    std::vector<std::string> things, links;
};
struct Cut {
    struct Limit {
        std::string name;
        Rate rate;
    };
    Rate capacity;             // bytes per second; unlimited if nothing limits, zero without a way
    std::vector<Limit> limits; // in natural order of names, none twice; empty at both extremes
};

class Graph {
public:
    // Paths, and names of links, are unique; both ends of a link have been added before.
    void add(Thing thing);
    void connect(Link link);

    bool contains(std::string_view path) const { return index_.find(path) != index_.end(); }
    const Thing& thing(std::string_view path) const { return things_[at(path)]; }
    const std::vector<Thing>& things() const { return things_; } // as added
    const std::vector<Link>& links() const { return links_; }

    // The way with the fewest links; of several the one whose links were added first. Without a way
    // it has no things; from a thing to itself it has just that.
    Route route(std::string_view from, std::string_view to) const;
    // As many ways as can be had that share no link (things they may share), shortest first.
    std::vector<Route> disjoint_paths(std::string_view from, std::string_view to) const;
    // The greatest flow from the sources together to the sinks together, and what stops it: of
    // several least cuts the one nearest the sources. A thing that is both lets through its own
    // limit. Rates count in whole bytes per second; from 100 TB/s they are no limit.
    Cut min_cut(std::span<const std::string> sources, std::span<const std::string> sinks) const;
    Cut min_cut(const std::string& source, const std::string& sink) const {
        return min_cut(std::span(&source, 1), std::span(&sink, 1));
    }

private:
    std::vector<Thing> things_;
    std::vector<Link> links_;
    std::map<std::string, size_t, std::less<>> index_, link_index_;
    std::vector<std::vector<size_t>> links_of_; // a thing's links

    size_t at(std::string_view path) const;
};

} // namespace storlab
