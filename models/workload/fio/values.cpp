#include "models/workload/fio/values.hpp"
#include <algorithm>
#include <set>

namespace storlab::fio {
namespace {

// "name/50": the part behind the slash. Blank and 0 both mean a share of what is left.
struct SharePiece {
    Text front;
    Text back; // empty if there is none
    bool has_slash;
};
SharePiece at_slash(const Text& piece) {
    const size_t slash = piece.text.find('/');
    if (slash == std::string_view::npos) return {piece, piece.sub(piece.text.size()), false};
    return {piece.sub(0, slash), piece.sub(slash + 1), true};
}
// Shares of 100 %; 0 stands for blank, which takes an equal part of what is left.
std::vector<double> resolve(const std::vector<int>& percents, const SourcePlace& where) {
    int sum = 0, blanks = 0;
    for (const int p : percents) sum += p, blanks += p == 0;
    if (sum > 100)
        throw InputError(where,
                         "has shares that add up to " + std::to_string(sum) + " %, above 100");
    std::vector<double> out;
    for (const int p : percents) out.push_back(p > 0 ? p : double(100 - sum) / blanks);
    return out;
}
std::vector<Text> share_list(const Text& value) {
    std::vector<Text> pieces = split(value, ':');
    if (pieces.size() > max_shares)
        throw InputError(value.where, "has " + std::to_string(pieces.size()) +
                                          " entries; expected at most " +
                                          std::to_string(max_shares));
    return pieces;
}

std::vector<Zone> percent_zones(const Text& value) {
    std::vector<int> access, space;
    for (const Text& piece : share_list(value)) {
        const SharePiece p = at_slash(piece);
        if (!p.has_slash)
            throw InputError(piece.where,
                             quoted(piece.text) + " is no zone; expected access%/space%");
        access.push_back(parse_percent(p.front.text, p.front.where));
        space.push_back(p.back.text.empty() ? 0 : parse_percent(p.back.text, p.back.where));
    }
    int total = 0;
    for (const int a : access) total += a;
    if (total != 100)
        throw InputError(value.where, "has access shares that add up to " + std::to_string(total) +
                                          " %; expected 100");
    const std::vector<double> spaces = resolve(space, value.where);
    std::vector<Zone> zones;
    for (size_t i = 0; i < access.size(); i++) {
        if (access[i] > 0 && spaces[i] <= 0)
            throw InputError(value.where, "has a zone that is accessed but has no space");
        zones.push_back({double(access[i]), spaces[i], Bytes()});
    }
    return zones;
}
std::vector<Zone> sized_zones(const Text& value, const Context& context) {
    const std::vector<Text> pieces = share_list(value);
    std::vector<Zone> zones;
    int total = 0;
    for (size_t i = 0; i < pieces.size(); i++) {
        const SharePiece p = at_slash(pieces[i]);
        const bool rest = p.has_slash && p.back.text.empty() && i + 1 == pieces.size();
        if (!p.has_slash || (p.back.text.empty() && !rest))
            throw InputError(
                pieces[i].where,
                quoted(pieces[i].text) +
                    " is no zone; expected access%/size, with a blank size for the rest "
                    "only in the last zone");
        const int access = parse_percent(p.front.text, p.front.where);
        const Bytes space(rest ? 0 : number_within(p.back, context, 1, INT64_MAX));
        zones.push_back({double(access), 0, space});
        total += access;
    }
    if (total != 100)
        throw InputError(value.where, "has access shares that add up to " + std::to_string(total) +
                                          " %; expected 100");
    return zones;
}

} // namespace

Text Text::sub(size_t from, size_t count) const {
    Text out{text.substr(from, count), where, as_written};
    if (as_written) out.where.column += static_cast<int>(from);
    return out;
}
std::vector<Text> split(const Text& list, char separator) {
    std::vector<Text> pieces;
    size_t from = 0;
    for (size_t at; (at = list.text.find(separator, from)) != std::string_view::npos; from = at + 1)
        pieces.push_back(list.sub(from, at - from));
    pieces.push_back(list.sub(from));
    return pieces;
}
void Context::note(const SourcePlace& where, std::string text) const {
    if (notes) notes->push_back({where, key, std::move(text)});
}

int64_t number(const Text& value, const Context& context) {
    Number read = parse_number(value.text, value.where, context.base);
    if (!read.note.empty()) context.note(value.where, std::move(read.note));
    return read.value;
}
int64_t number_within(const Text& value, const Context& context, int64_t low, int64_t high) {
    const int64_t n = number(value, context);
    if (n < low || n > high)
        throw InputError(value.where, quoted(value.text) + " is out of range; expected " +
                                          std::to_string(low) + " to " + std::to_string(high));
    return n;
}
Bytes block_size(const Text& value, const Context& context) {
    return Bytes(number_within(value, context, 1, max_block));
}
Extent extent(const Text& value, const Context& context) {
    if (!value.text.empty() && value.text.back() == '%') {
        const Text digits = value.sub(0, value.text.size() - 1);
        return {Bytes(), parse_percent(digits.text, digits.where)};
    }
    if (!value.text.empty() && (value.text.back() | 0x20) == 'z')
        throw InputError(value.where,
                         quoted(value.text) + " counts zones, which storlab does not model");
    return {Bytes(number(value, context)), std::nullopt};
}
std::pair<Bytes, Bytes> block_range(const Text& value, const Context& context) {
    size_t middle = value.text.find('-');
    if (middle == std::string_view::npos) middle = value.text.find(':');
    if (middle == std::string_view::npos)
        throw InputError(value.where, quoted(value.text) + " is no range; expected low-high");
    const Bytes a = block_size(value.sub(0, middle), context);
    const Bytes b = block_size(value.sub(middle + 1), context);
    return std::minmax(a, b); // fio swaps them
}
std::vector<SizeShare> size_shares(const Text& value, const Context& context) {
    std::vector<Bytes> sizes;
    std::vector<int> percents;
    bool zero_written = false;
    for (const Text& piece : share_list(value)) {
        const SharePiece p = at_slash(piece);
        sizes.push_back(block_size(p.front, context));
        percents.push_back(p.back.text.empty() ? 0 : parse_percent(p.back.text, p.back.where));
        zero_written |= !p.back.text.empty() && percents.back() == 0;
    }
    std::vector<double> shares = resolve(percents, value.where);
    double total = 0;
    for (const double s : shares) total += s;
    if (total < 99.999) { // no blank entry to take the rest
        context.note(value.where,
                     "shares add up to less than 100 %; as in fio the last size gets the "
                     "rest");
        shares.back() += 100 - total;
    } else if (zero_written && std::count(percents.begin(), percents.end(), 100) == 0) {
        context.note(value.where, "a share of 0 is blank to fio: it gets a part of the rest");
    }
    std::vector<SizeShare> out;
    for (size_t i = 0; i < sizes.size(); i++)
        if (shares[i] > 0) out.push_back({sizes[i], shares[i]});
    return out;
}

namespace {
// Parameter and centre of zipf, pareto and normal.
void curve(Distribution& d, const std::vector<Text>& parts, const Text& value) {
    if (parts.size() > 3)
        throw InputError(parts[3].where, "has too many parts; expected kind:parameter:centre");
    if (parts.size() > 1) d.parameter = parse_real(parts[1].text, parts[1].where);
    const double p = d.parameter;
    const SourcePlace& where = parts.size() > 1 ? parts[1].where : value.where;
    constexpr double steepest = 100; // above it every draw is the first block
    if (d.kind == Spread::zipf && (p <= 0 || p == 1 || p > steepest))
        throw InputError(where,
                         "zipf theta is out of range; expected above 0 and not 1 (fio refuses "
                         "1; 0.999 is close)");
    if (d.kind == Spread::pareto && (p <= 0 || p >= 1))
        throw InputError(where, "pareto input is out of range; expected between 0 and 1");
    if (d.kind == Spread::normal && (p <= 0 || p >= 100))
        throw InputError(where, "normal deviation is out of range; expected above 0 and below 100 "
                                "percent");
    if (parts.size() < 3) return;
    d.center = parse_real(parts[2].text, parts[2].where);
    if (*d.center < 0 || *d.center > 1)
        throw InputError(parts[2].where, "centre is out of range; expected 0 to 1");
}
} // namespace

Distribution distribution(const Text& value, const Context& context) {
    static const std::vector<std::string> kinds = {"random", "zipf",  "pareto",
                                                   "normal", "zoned", "zoned_abs"};
    const std::string name(value.text.substr(0, value.text.find_first_of(":=")));
    Distribution d;
    if (name == "random") {
        if (value.text != name) throw InputError(value.where, "'random' takes no parameter");
        return d;
    }
    const auto found = std::find(kinds.begin(), kinds.end(), name);
    if (found == kinds.end())
        throw InputError(value.where,
                         quoted(name) +
                             " is no distribution storlab models; expected random, zipf, "
                             "pareto, normal, zoned or zoned_abs" +
                             did_you_mean(name, kinds));
    d.kind = static_cast<Spread>(found - kinds.begin());
    if (d.kind == Spread::zoned || d.kind == Spread::zoned_abs) {
        // The manual writes zoned_abs= in one place; the program takes only the colon.
        if (value.text.size() <= name.size() + 1 || value.text[name.size()] != ':')
            throw InputError(value.where,
                             "'" + name + "' needs zones; expected " + name + ":access%/space:...");
        const auto zones = [&](const Text& list) {
            return d.kind == Spread::zoned ? percent_zones(list) : sized_zones(list, context);
        };
        by_direction(
            value.sub(name.size() + 1),
            [&](bool write, const Text& list) { d.zones.of(write) = zones(list); },
            [&](const Text& list) { zones(list); });
        return d;
    }
    // fio's own defaults for a bare name; normal has none that is of use.
    d.parameter = d.kind == Spread::zipf ? 1.1 : d.kind == Spread::pareto ? 0.2 : 0;
    curve(d, split(value, ':'), value);
    return d;
}

std::vector<int> cpu_list(const Text& value) {
    std::set<int> cpus;
    const auto one = [](const Text& t) {
        return static_cast<int>(number_within(t, Context{}, 0, max_cpu));
    };
    for (const Text& piece : split(value, ',')) {
        const size_t dash = piece.text.find('-', 1);
        const int first = one(dash == std::string_view::npos ? piece : piece.sub(0, dash));
        const int last = dash == std::string_view::npos ? first : one(piece.sub(dash + 1));
        if (last < first)
            throw InputError(piece.where,
                             quoted(piece.text) + " runs backwards; expected low-high");
        for (int cpu = first; cpu <= last; cpu++) cpus.insert(cpu);
    }
    return {cpus.begin(), cpus.end()};
}
std::vector<std::string> file_list(const Text& value) {
    std::vector<std::string> names(1);
    for (size_t i = 0; i < value.text.size(); i++) {
        const bool escaped = value.text[i] == '\\' && i + 1 < value.text.size() &&
                             (value.text[i + 1] == ':' || value.text[i + 1] == '\\');
        if (escaped) names.back() += value.text[++i];
        else if (value.text[i] == ':') names.emplace_back();
        else names.back() += value.text[i];
    }
    for (const std::string& name : names)
        if (name.empty()) throw InputError(value.where, "has an empty file name between colons");
    return names;
}

} // namespace storlab::fio
