// Names of things in a testbed are paths with slashes: storage/fc/2/port/1. The same grammar serves
// scenario, cables, timeline, --set, report and Python. A pattern names several: `*` stands for any
// text within one step, `0-3` for a range of numbers, `0,2,5-7` for a list; steps never match
// across a slash. Names hold letters, digits, '-', '_' and '.'. Left out: character classes, "**",
// braces.
#pragma once
#include "sim/base/error.hpp"
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

bool is_name(std::string_view text); // one step of a path
bool is_path(std::string_view text);
std::vector<std::string> path_steps(std::string_view path);
std::string join_path(std::string_view parent,
                      std::string_view child); // an empty side adds no slash

// Numbers inside names compare as numbers: ssd/9 before ssd/10. A total order.
bool natural_less(std::string_view a, std::string_view b);

class PathPattern {
public:
    PathPattern(std::string_view text, SourcePlace place); // InputError if it is no pattern
    bool matches(std::string_view path) const;
    bool plain() const { return plain_; } // names one thing only
    const std::string& text() const { return text_; }
    const SourcePlace& place() const { return place_; }

private:
    std::string text_;
    SourcePlace place_;
    std::vector<std::vector<std::string>> steps_; // alternatives of each step
    bool plain_ = true;
};

// "a b/0-3" is two patterns.
std::vector<PathPattern> parse_patterns(std::string_view text, const SourcePlace& place);

// The names that match, pattern after pattern as written, each pattern's in natural order, none
// twice. A pattern that matches nothing is a complaint which names the nearest of `names`;
// `what` says what was looked for ("drive").
std::vector<std::string> select_names(std::span<const PathPattern> patterns,
                                      std::span<const std::string> names, std::string_view what,
                                      Complaints& complaints);

} // namespace storlab
