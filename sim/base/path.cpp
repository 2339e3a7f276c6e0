#include "sim/base/path.hpp"
#include "sim/base/text.hpp"
#include <algorithm>
#include <set>

namespace storlab {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}
bool all_digits(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> pieces;
    for (size_t from = 0;;) {
        const size_t to = text.find(at, from);
        pieces.push_back(text.substr(from, to - from));
        if (to == std::string_view::npos) return pieces;
        from = to + 1;
    }
}

// The number at the head of a text, without its leading zeros; advances past it.
std::string_view take_number(std::string_view& text) {
    size_t n = 0;
    while (n < text.size() && is_digit(text[n])) n++;
    std::string_view number = text.substr(0, n);
    text.remove_prefix(n);
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}
int compare_numbers(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
}

struct Range {
    std::string_view from, to; // digits
};
bool as_range(std::string_view text, Range& range) {
    const size_t dash = text.find('-');
    if (dash == std::string_view::npos) return false;
    range = {text.substr(0, dash), text.substr(dash + 1)};
    return all_digits(range.from) && all_digits(range.to);
}
int compare_digits(std::string_view a, std::string_view b) {
    return compare_numbers(take_number(a), take_number(b));
}

// `*` for any run of characters. Backtracks to the last star only, which suffices.
bool glob(std::string_view pattern, std::string_view text) {
    size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++, resume = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            p++, t++;
        } else if (star != std::string_view::npos) {
            p = star + 1, t = ++resume;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}
bool matches_step(const std::string& alternative, std::string_view step) {
    Range r;
    if (!as_range(alternative, r)) return glob(alternative, step);
    return all_digits(step) && compare_digits(r.from, step) <= 0 && compare_digits(step, r.to) <= 0;
}

} // namespace

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_name_char);
}
bool is_path(std::string_view text) {
    const auto steps = split(text, '/');
    return std::all_of(steps.begin(), steps.end(), is_name);
}
std::vector<std::string> path_steps(std::string_view path) {
    if (path.empty()) return {};
    const auto steps = split(path, '/');
    return {steps.begin(), steps.end()};
}
std::string join_path(std::string_view parent, std::string_view child) {
    std::string path(parent);
    if (!parent.empty() && !child.empty()) path += '/';
    return path += child;
}

bool natural_less(std::string_view a, std::string_view b) {
    std::string_view x = a, y = b;
    while (!x.empty() && !y.empty()) {
        if (is_digit(x[0]) && is_digit(y[0])) {
            if (const int c = compare_numbers(take_number(x), take_number(y))) return c < 0;
            continue;
        }
        if (x[0] != y[0]) {
            if (x[0] == '/' || y[0] == '/') return x[0] == '/'; // a step that ends comes first
            return static_cast<unsigned char>(x[0]) < static_cast<unsigned char>(y[0]);
        }
        x.remove_prefix(1), y.remove_prefix(1);
    }
    if (x.empty() != y.empty()) return x.empty();
    return a < b; // they differ in leading zeros only
}

PathPattern::PathPattern(std::string_view text, SourcePlace place)
    : text_(text), place_(std::move(place)) {
    for (const std::string_view step : split(text, '/')) {
        std::vector<std::string> alternatives;
        for (const std::string_view word : split(step, ',')) {
            const auto wrong = std::find_if(word.begin(), word.end(),
                                            [](char c) { return c != '*' && !is_name_char(c); });
            if (word.empty())
                throw InputError(place_, in_quotes(text) + " is no path: a step between slashes or "
                                                           "commas is empty");
            if (wrong != word.end())
                throw InputError(place_, in_quotes(text) +
                                             " is no path: a name holds letters, digits, "
                                             "'-', '_' and '.', not " +
                                             in_quotes(std::string_view(&*wrong, 1)));
            Range r;
            const bool range = as_range(word, r);
            if (range && compare_digits(r.from, r.to) > 0)
                throw InputError(place_, in_quotes(text) + ": the range " + in_quotes(word) +
                                             " runs backwards");
            plain_ = plain_ && !range && word.find('*') == std::string_view::npos;
            alternatives.emplace_back(word);
        }
        plain_ = plain_ && alternatives.size() == 1;
        steps_.push_back(std::move(alternatives));
    }
}

bool PathPattern::matches(std::string_view path) const {
    const auto steps = split(path, '/');
    if (steps.size() != steps_.size()) return false;
    for (size_t i = 0; i < steps.size(); i++) {
        const auto fits = [&](const std::string& word) { return matches_step(word, steps[i]); };
        if (std::none_of(steps_[i].begin(), steps_[i].end(), fits)) return false;
    }
    return true;
}

std::vector<PathPattern> parse_patterns(std::string_view text, const SourcePlace& place) {
    std::vector<PathPattern> patterns;
    for (const std::string_view word : split(text, ' '))
        if (!word.empty()) patterns.emplace_back(word, place);
    if (patterns.empty()) throw InputError(place, "a path or a range of paths is missing");
    return patterns;
}

std::vector<std::string> select_names(std::span<const PathPattern> patterns,
                                      std::span<const std::string> names, std::string_view what,
                                      Complaints& complaints) {
    std::vector<std::string> ordered(names.begin(), names.end());
    std::sort(ordered.begin(), ordered.end(), natural_less);
    std::vector<std::string> selected;
    std::set<std::string_view> taken;
    for (const PathPattern& pattern : patterns) {
        bool any = false;
        for (const std::string& name : ordered) {
            if (!pattern.matches(name)) continue;
            any = true;
            if (taken.insert(name).second) selected.push_back(name);
        }
        if (any) continue;
        std::string message = "no " + std::string(what) + " " + in_quotes(pattern.text());
        const std::string near = did_you_mean(pattern.text(), names);
        constexpr size_t easily_listed = 8;
        if (near.empty() && !ordered.empty() && ordered.size() <= easily_listed) {
            message += "; there is ";
            for (const std::string& name : ordered)
                message += (&name == &ordered.front() ? "" : ", ") + name;
        }
        complaints.add(pattern.place(), message + near);
    }
    return selected;
}

} // namespace storlab
