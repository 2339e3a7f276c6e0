#include "sim/base/error.hpp"
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

namespace storlab {

std::string to_string(const SourcePlace& place) {
    std::string text = place.file;
    if (place.line > 0) text += ':' + std::to_string(place.line);
    if (place.line > 0 && place.column > 0) text += ':' + std::to_string(place.column);
    return text;
}
std::string to_string(const Complaint& complaint) {
    return to_string(complaint.where) + ": error: " + complaint.what;
}

InputError::InputError(std::vector<Complaint> complaints) : complaints_(std::move(complaints)) {
    for (const Complaint& c : complaints_) {
        if (!text_.empty()) text_ += '\n';
        text_ += to_string(c);
    }
}
InputError::InputError(SourcePlace where, std::string what)
    : InputError(std::vector<Complaint>{{std::move(where), std::move(what)}}) {}

void Complaints::add(SourcePlace where, std::string what) {
    all_.push_back({std::move(where), std::move(what)});
}
void Complaints::add(const InputError& error) {
    all_.insert(all_.end(), error.complaints().begin(), error.complaints().end());
}
void Complaints::throw_if_any() const {
    if (all_.empty()) return;
    std::vector<Complaint> sorted = all_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Complaint& a, const Complaint& b) {
        return std::tie(a.where.file, a.where.line, a.where.column) <
               std::tie(b.where.file, b.where.line, b.where.column);
    });
    std::vector<Complaint> once; // a part that is used twice is read twice
    std::set<std::string> told;
    for (Complaint& c : sorted)
        if (told.insert(to_string(c)).second) once.push_back(std::move(c));
    throw InputError(std::move(once));
}

namespace {
// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment), because a
// swap is the commonest slip of all.
size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
    std::iota(above.begin(), above.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            const size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::move(above);
        above = row;
    }
    return above.back();
}
} // namespace

namespace {
// Capitals and the kind of dash are no difference.
std::string plain(std::string_view word) {
    std::string text(word);
    for (char& c : text)
        c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}
// A word of which something was left out: "max-speed" of "speed-limit-max".
bool has_pieces_of(const std::string& word, const std::string& candidate) {
    constexpr size_t shortest = 3; // of a word that says something
    const auto pieces = [](const std::string& text) {
        std::vector<std::string> all;
        std::istringstream in(text);
        for (std::string piece; std::getline(in, piece, '-');) all.push_back(piece);
        return all;
    };
    const std::vector<std::string> wanted = pieces(word), there = pieces(candidate);
    return word.size() >= shortest && std::all_of(wanted.begin(), wanted.end(), [&](auto& piece) {
               return std::find(there.begin(), there.end(), piece) != there.end();
           });
}
} // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    constexpr size_t longest = 64; // a longer word is no typing slip, and the table is quadratic
    const bool number = word.find_first_not_of("0123456789") == std::string_view::npos;
    if (number || word.size() > longest) return std::nullopt; // numbers are not misspelt
    size_t best = std::max<size_t>(1, word.size() / 3) + 1;
    const std::string written = plain(word);
    std::optional<std::string> found;
    for (const std::string& c : candidates) {
        if (c.size() > longest) continue;
        const size_t d = edit_distance(written, plain(c));
        if (d < best) best = d, found = c;
    }
    if (found) return found;
    for (const std::string& c : candidates)
        if (has_pieces_of(written, plain(c))) return c;
    return std::nullopt;
}
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
    const auto found = nearest(word, candidates);
    return found ? "; did you mean '" + *found + "'?" : "";
}

void broken(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "storlab: internal error: %s does not hold (%s:%d)\n", condition, file,
                 line);
    std::abort();
}

} // namespace storlab
