// The timeline of a scenario: what happens to named things and when. A line reads
// "at 60 s: pull storage/ssd/0". YAML turns such a list item into a map of
// one entry; a quoted string is the same. Left out: what a verb means for a thing
// (timeline_targets.hpp, repair_shop.hpp).
#pragma once
#include "sim/scenario/node.hpp"
#include <string>
#include <vector>

namespace storlab {

enum class Verb {
    fail,
    pull,
    scrub,
    unplug, // no light at either end
    plug,
    silence, // light, but nothing comes through: a black hole
    restore,
    power_off, // what ran there is gone without a word
    power_on,
};
std::string to_string(Verb verb);

struct TimelineEvent {
    Duration at; // since the start of the run
    Verb verb = Verb::fail;
    PathPattern target; // one thing or a range of them
    SourcePlace place;
};

// InputError if it is no such line.
TimelineEvent parse_timeline_line(std::string_view line, const SourcePlace& place);
// Complains about each wrong line; sorted by time, equal times in written order.
std::vector<TimelineEvent> read_timeline(const Node& list);

} // namespace storlab
