#include "sim/scenario/timeline_text.hpp"
#include <algorithm>
#include <array>

namespace storlab {
namespace {

constexpr std::array<std::string_view, 9> verb_names = {
    "fail", "pull", "scrub", "unplug", "plug", "silence", "restore", "power-off", "power-on"};
constexpr std::string_view example = "write e.g. 'at 60 s: pull storage/ssd/0'";
// What a verb acts on is named as in its own scenario.
std::string example_of(Verb verb) {
    const std::string_view object = verb == Verb::scrub                                 ? "main"
                                    : verb == Verb::power_off || verb == Verb::power_on ? "storage"
                                    : verb == Verb::fail || verb == Verb::pull ? "storage/ssd/0"
                                                                               : "host/fc/port/0";
    return "write e.g. 'at 60 s: " + to_string(verb) + " " + std::string(object) + "'";
}

std::string_view trimmed(std::string_view text) {
    const size_t from = text.find_first_not_of(' ');
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(' ') - from + 1);
}
// The text before the first blank; what follows stays in `text`.
std::string_view take_word(std::string_view& text) {
    text = trimmed(text);
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    text = trimmed(text.substr(blank));
    return word;
}

Duration parse_when(std::string_view text, const SourcePlace& place) {
    if (take_word(text) != "at" || text.empty())
        throw InputError(place,
                         "a line of the timeline begins with its time; " + std::string(example));
    return parse_duration(text, place);
}
Verb parse_verb(std::string_view word, const SourcePlace& place) {
    const auto found = std::find(verb_names.begin(), verb_names.end(), word);
    if (found != verb_names.end()) return static_cast<Verb>(found - verb_names.begin());
    const std::vector<std::string> known(verb_names.begin(), verb_names.end());
    std::string list;
    for (const std::string& v : known) list += (list.empty() ? "" : ", ") + v;
    throw InputError(place, in_quotes(word) + " is nothing the timeline can do; it can " + list +
                                did_you_mean(word, known));
}

struct Written {
    std::string_view when, what;
    SourcePlace when_place, what_place;
};
TimelineEvent parse(const Written& line) {
    const Duration at = parse_when(line.when, line.when_place);
    std::string_view rest = line.what;
    const std::string_view word = take_word(rest);
    if (word.empty())
        throw InputError(line.when_place, "nothing happens at this time; " + std::string(example));
    const Verb verb = parse_verb(word, line.what_place);
    const std::string_view path = take_word(rest);
    if (path.empty())
        throw InputError(line.what_place, in_quotes(word) + " what? " + example_of(verb));
    if (!rest.empty())
        throw InputError(line.what_place, in_quotes(word) + " takes a path and nothing more, not " +
                                              in_quotes(rest));
    return {at, verb, PathPattern(path, line.what_place), line.when_place};
}

} // namespace

std::string to_string(Verb verb) { return std::string(verb_names[static_cast<size_t>(verb)]); }

TimelineEvent parse_timeline_line(std::string_view line, const SourcePlace& place) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos)
        throw InputError(place,
                         in_quotes(line) + " is no line of a timeline; " + std::string(example));
    return parse({trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)), place, place});
}

std::vector<TimelineEvent> read_timeline(const Node& list) {
    std::vector<TimelineEvent> events;
    for (const Node& item : list.items()) {
        try {
            if (!item.is_map()) {
                if (item.is_scalar())
                    events.push_back(parse_timeline_line(item.as_text(), item.place()));
                else
                    item.complain(item.name() + " is no line of a timeline; " +
                                  std::string(example));
                continue;
            }
            for (const Node::Entry& e : item.entries()) {
                const std::string what = e.value.as_text();
                if (e.value.is_scalar())
                    events.push_back(parse({e.key, what, e.key_place, e.value.place()}));
            }
        } catch (const InputError& error) { list.complaints()->add(error); }
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const TimelineEvent& a, const TimelineEvent& b) { return a.at < b.at; });
    return events;
}

} // namespace storlab
