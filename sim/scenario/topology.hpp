// storlab topology: the wiring of a scenario, as a list of its links and what each carries, or
// drawn by Graphviz. After a run every thing and link has the share of time it was busy, and what
// binds is marked. Left out: where a thing stands in a rack, and anything that changes while a run
// goes on.
#pragma once
#include "sim/report/result.hpp"
#include "sim/scenario/run.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/topology/graph.hpp"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace storlab {

struct StationUse {                                       // of a run
    std::vector<std::pair<std::string, double>> stations; // and how busy they were
    std::string binds;                                    // a station or a group; empty: nothing
    std::string hash;                                     // of the scenario that ran
};
StationUse use_of(const RunResult& result);
StationUse use_from_json(const std::string& text, const std::string& file); // InputError

// The same by what is drawn.
class UseMap {
public:
    struct Share {
        std::optional<double> there, back; // busiest station; of a thing: there
        bool binds = false;
        std::optional<double> most() const {
            return back && (!there || *back > *there) ? back : there;
        }
        void take(const Share& other); // the greater of each
    };
    UseMap() = default; // nothing has run
    UseMap(const Graph& graph, const StationUse& use);
    Share link(const std::string& name) const;
    Share thing(const std::string& path) const;

private:
    std::map<std::string, Share, std::less<>> links_, things_;
};

// What each thing of the graph is, in words.
std::map<std::string, std::string> titles_of(const Scenario& scenario);
std::string rate_text(Rate rate);   // "3.3 GB/s", or "-" if nothing limits
std::string share_text(double use); // "73 %"

std::string topology_text(const Scenario& scenario, const Graph& graph, const UseMap& use);
std::string topology_dot(const Scenario& scenario, const Graph& graph, const UseMap& use);

struct TopologyOptions {
    std::string out;  // .svg, .png or .dot; empty: the list
    std::string json; // a result to colour from
    bool run = false; // or run now
    RunControl control;
};
int topology(const Scenario& scenario, const TopologyOptions& options); // the exit code

} // namespace storlab
