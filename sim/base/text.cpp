#include "sim/base/text.hpp"
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <span>

namespace storlab {
namespace {

using Wide = unsigned __int128;

struct Unit {
    std::string_view name;
    uint64_t factor; // in the smallest unit of its kind
};
constexpr uint64_t k10 = 1000, m10 = 1000'000, g10 = 1000'000'000, t10 = 1000 * g10;

constexpr std::array sizes = {Unit{"B", 1},
                              Unit{"kB", k10},
                              Unit{"KB", k10},
                              Unit{"MB", m10},
                              Unit{"GB", g10},
                              Unit{"TB", t10},
                              Unit{"PB", k10* t10},
                              Unit{"EB", m10* t10},
                              Unit{"KiB", 1ull << 10},
                              Unit{"MiB", 1ull << 20},
                              Unit{"GiB", 1ull << 30},
                              Unit{"TiB", 1ull << 40},
                              Unit{"PiB", 1ull << 50},
                              Unit{"EiB", 1ull << 60}};
constexpr uint64_t second = t10; // in picoseconds
constexpr std::array durations = {Unit{"ps", 1},
                                  Unit{"ns", k10},
                                  Unit{"us", m10},
                                  Unit{"\u00b5s", m10},
                                  Unit{"\u03bcs", m10},
                                  Unit{"ms", g10},
                                  Unit{"s", second},
                                  Unit{"min", 60 * second},
                                  Unit{"h", 3600 * second},
                                  Unit{"d", 86400 * second}};
constexpr std::array bits = {Unit{"bit", 1},    Unit{"kbit", k10}, Unit{"Kbit", k10},
                             Unit{"Mbit", m10}, Unit{"Gbit", g10}, Unit{"Tbit", t10}};
constexpr std::array frequencies = {Unit{"Hz", 1}, Unit{"kHz", k10}, Unit{"MHz", m10},
                                    Unit{"GHz", g10}};
constexpr std::array operations = {Unit{"iops", 1}, Unit{"IOPS", 1}};
constexpr std::array cycles = {Unit{"cycles", 1}, Unit{"cycle", 1}};

// What a text of one kind should have been.
struct Kind {
    std::string_view noun;     // "a size"
    std::string_view smallest; // "bytes"
    std::string_view units[2]; // shown in the advice
};
constexpr Kind size_kind{"a size", "bytes", {"GB", "GiB"}};
constexpr Kind duration_kind{"a duration", "picoseconds", {"us", "ms"}};
constexpr Kind rate_kind{"a rate", "", {" GB/s", " Gbit/s"}};
constexpr Kind iops_kind{"a rate of I/Os", "", {" iops", ""}};
constexpr Kind frequency_kind{"a frequency", "", {"GHz", "MHz"}};
constexpr Kind cycles_kind{"a number of cycles", "cycles", {" cycles", ""}};
constexpr Kind cost_kind{"a cost", "", {" cycles", "us"}};
constexpr Kind fraction_kind{"a fraction", "", {"", "%"}};
constexpr Kind factor_kind{"a number", "", {"", ""}};
constexpr Kind count_kind{"a whole number", "", {"", ""}};

// digits / 10^scale, then blanks, then whatever follows.
struct Amount {
    uint64_t digits = 0;
    unsigned scale = 0;
    std::string_view written; // the number as it stands
    std::string_view unit;
};
constexpr unsigned most_digits = 18; // 10^18 x the largest factor (2^60) stays below 2^128

bool is_digit(char c) { return c >= '0' && c <= '9'; }

enum class Fault { none, no_number, too_long };
struct Parsed {
    Fault fault = Fault::none;
    Amount amount;
};
Parsed parse_amount(std::string_view text) {
    size_t i = 0;
    while (i < text.size() && is_digit(text[i])) i++;
    const size_t whole = i;
    size_t end = i;
    if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1])) {
        for (end = ++i; i < text.size() && is_digit(text[i]);) end = ++i;
    }
    if (whole == 0) return {Fault::no_number, {}};
    Amount a;
    a.written = text.substr(0, end);
    const size_t last = end > whole ? a.written.find_last_not_of('0') : end - 1;
    unsigned significant = 0;
    for (size_t j = 0; j <= last && j < end; j++) {
        if (j == whole) continue; // the point
        if (significant > 0 || text[j] != '0') significant++;
        if (j > whole) a.scale++;
        if (significant > most_digits || a.scale > most_digits) return {Fault::too_long, a};
        a.digits = a.digits * 10 + static_cast<uint64_t>(text[j] - '0');
    }
    while (end < text.size() && text[end] == ' ') end++;
    a.unit = text.substr(end);
    return {Fault::none, a};
}

std::optional<uint64_t> factor_of(std::string_view unit, std::span<const Unit> units) {
    const auto u =
        std::find_if(units.begin(), units.end(), [&](const Unit& x) { return x.name == unit; });
    return u == units.end() ? std::nullopt : std::optional(u->factor);
}
std::string advice(const Kind& kind, std::string_view number) {
    std::string first = std::string(number) + std::string(kind.units[0]);
    const std::string other = std::string(number) + std::string(kind.units[1]);
    if (other != first && other != number) first += " or " + other;
    return first;
}
// The same kind, with one unit to be shown.
Kind with_usual(Kind kind, std::string_view usual) {
    if (!usual.empty()) kind.units[0] = kind.units[1] = usual;
    return kind;
}
[[noreturn]] void reject(std::string_view text, const Kind& kind, const SourcePlace& place) {
    if (text.starts_with('-') && parse_amount(text.substr(1)).fault == Fault::none)
        throw InputError(place, in_quotes(text) + " is negative; expected " +
                                    std::string(kind.noun) + " of zero or more");
    const Parsed parsed = parse_amount(text);
    const bool number = parsed.fault == Fault::none;
    if (parsed.fault == Fault::too_long)
        throw InputError(place,
                         in_quotes(text) + " has too many digits for " + std::string(kind.noun));
    Kind shown = kind;
    std::array<std::string, 2> prefixed;
    // "2 TB/s" for a size, "2 TB" for a rate: the advice keeps the prefix that was meant.
    if (number && kind.noun == rate_kind.noun && factor_of(parsed.amount.unit, sizes)) {
        prefixed[0] = std::string(parsed.amount.unit) + "/s";
        shown.units[0] = shown.units[1] = prefixed[0];
    }
    if (number && kind.noun == size_kind.noun && !parsed.amount.unit.empty()) {
        const auto at = std::string_view("kKMGTPEmgtpe").find(parsed.amount.unit[0]);
        if (at != std::string_view::npos) {
            const std::string letter(1, "kkMGTPEMGTPE"[at]);
            prefixed = {letter + "B", (letter == "k" ? "K" : letter) + "iB"};
            shown.units[0] = prefixed[0], shown.units[1] = prefixed[1];
        }
    }
    if (number && kind.noun == duration_kind.noun && parsed.amount.unit == "m")
        shown.units[0] = "min", shown.units[1] = "ms";
    const bool bare = number && parsed.amount.unit.empty() && kind.units[0] != "";
    throw InputError(place, in_quotes(text) +
                                (bare ? " has no unit" : " is not " + std::string(kind.noun)) +
                                "; write " + advice(shown, number ? parsed.amount.written : "2"));
}

Wide ten_to(unsigned n) {
    Wide p = 1;
    while (n-- > 0) p *= 10;
    return p;
}

Amount amount_or_reject(std::string_view text, const Kind& kind, const SourcePlace& place) {
    const Parsed parsed = parse_amount(text);
    if (parsed.fault != Fault::none) reject(text, kind, place);
    return parsed.amount;
}
int64_t whole(std::string_view text, const Kind& kind, std::span<const Unit> units,
              const SourcePlace& place) {
    const Amount a = amount_or_reject(text, kind, place);
    const auto factor = factor_of(a.unit, units);
    if (!factor) reject(text, kind, place);
    const Wide n = Wide(a.digits) * *factor, by = ten_to(a.scale);
    if (n / by > Wide(INT64_MAX))
        throw InputError(place, in_quotes(text) + " is too large for " + std::string(kind.noun));
    if (n % by != 0)
        throw InputError(place, in_quotes(text) + " is not a whole number of " +
                                    std::string(kind.smallest) + "; the next is " +
                                    std::to_string(static_cast<int64_t>(n / by) + 1));
    return static_cast<int64_t>(n / by);
}

// digits x factor / (10^scale x divisor). In lowest terms first, so that every spelling of one
// quantity rounds to the same double.
double real(const Amount& a, uint64_t factor, uint64_t divisor = 1) {
    Wide n = Wide(a.digits) * factor, d = ten_to(a.scale) * divisor;
    for (Wide x = n, y = d; x != 0;) {
        if (y % x == 0) {
            n /= x, d /= x;
            break;
        }
        const Wide r = y % x;
        y = x, x = r;
    }
    return static_cast<double>(n) / static_cast<double>(d);
}
double real_unit(std::string_view text, const Kind& kind, std::span<const Unit> units,
                 const SourcePlace& place) {
    const Amount a = amount_or_reject(text, kind, place);
    const auto factor = factor_of(a.unit, units);
    if (!factor) reject(text, kind, place);
    return real(a, *factor);
}

// Three significant digits of a value below 1000, without trailing zeros.
std::string three_digits(double v) {
    char buffer[32];
    const int decimals = v >= 100 ? 0 : v >= 10 ? 1 : 2; // 9.996 becomes 10.00, then 10
    std::snprintf(buffer, sizeof buffer, "%.*f", decimals, v);
    std::string text = buffer;
    if (decimals > 0) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}
struct Step {
    double factor;
    std::string_view unit;
};
// Steps go upwards. 999.6 of one unit is 1 of the next. Above the last, whole digits stay.
std::string scaled(double v, std::span<const Step> steps) {
    size_t i = 0;
    while (i + 1 < steps.size() && v / steps[i].factor >= 999.5) i++;
    if (v > 0 && i == 0 && v < steps[0].factor) { // below the smallest unit
        char buffer[32];
        std::snprintf(buffer, sizeof buffer, "%.3g", v / steps[0].factor);
        return buffer + std::string(steps[0].unit);
    }
    return three_digits(v / steps[i].factor) + std::string(steps[i].unit);
}

} // namespace

std::string in_quotes(std::string_view text) {
    constexpr size_t longest = 60; // what a reader needs to find it in the line
    std::string shown(text.substr(0, longest));
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return "'" + shown + (text.size() > longest ? "...'" : "'");
}

std::string joined(std::span<const std::string> words, std::string_view between) {
    std::string text;
    for (const std::string& w : words) {
        if (&w != words.data()) text += between;
        text += w;
    }
    return text;
}

Bytes parse_size(std::string_view text, const SourcePlace& place, std::string_view usual) {
    return Bytes(whole(text, with_usual(size_kind, usual), sizes, place));
}
Duration parse_duration(std::string_view text, const SourcePlace& place) {
    return Duration::ps(whole(text, duration_kind, durations, place));
}
Rate parse_rate(std::string_view text, const SourcePlace& place, std::string_view usual) {
    const Kind kind = with_usual(rate_kind, usual);
    const Amount a = amount_or_reject(text, kind, place);
    if (!a.unit.ends_with("/s")) reject(text, kind, place);
    const std::string_view what = a.unit.substr(0, a.unit.size() - 2);
    if (const auto bytes = factor_of(what, sizes)) return Rate::bytes_per_second(real(a, *bytes));
    if (const auto n = factor_of(what, bits)) return Rate::bytes_per_second(real(a, *n, 8));
    reject(text, kind, place);
}
Iops parse_iops(std::string_view text, const SourcePlace& place) {
    return Iops(real_unit(text, iops_kind, operations, place));
}
Hertz parse_frequency(std::string_view text, const SourcePlace& place) {
    return {real_unit(text, frequency_kind, frequencies, place)};
}
int64_t parse_cycles(std::string_view text, const SourcePlace& place) {
    return whole(text, cycles_kind, cycles, place);
}
Duration parse_cost(std::string_view text, Hertz clock, const SourcePlace& place) {
    STORLAB_ENSURE(clock.value > 0);
    const Amount a = amount_or_reject(text, cost_kind, place);
    if (factor_of(a.unit, cycles)) {
        const double seconds = static_cast<double>(parse_cycles(text, place)) / clock.value;
        if (seconds > 1e6) throw InputError(place, in_quotes(text) + " is too large for a cost");
        return Duration::seconds(seconds);
    }
    if (!factor_of(a.unit, durations)) reject(text, cost_kind, place);
    return parse_duration(text, place);
}
double parse_fraction(std::string_view text, const SourcePlace& place) {
    const Amount a = amount_or_reject(text, fraction_kind, place);
    if (a.unit != "" && a.unit != "%")
        throw InputError(place, in_quotes(text) + " is not a fraction; write 28% or 0.28");
    const double f = real(a, 1, a.unit == "%" ? 100 : 1);
    if (f > 1)
        throw InputError(place, in_quotes(text) + " is more than the whole; a fraction is 0 to 1");
    return f;
}
double parse_factor(std::string_view text, const SourcePlace& place) {
    const Amount a = amount_or_reject(text, factor_kind, place);
    if (a.unit != "")
        throw InputError(place, in_quotes(text) + " is not a plain number; it takes no unit");
    return real(a, 1);
}
int64_t parse_count(std::string_view text, const SourcePlace& place) {
    const Amount a = amount_or_reject(text, count_kind, place);
    if (a.unit != "" || a.written.find('.') != std::string_view::npos)
        throw InputError(place, in_quotes(text) + " is not a whole number");
    return static_cast<int64_t>(a.digits);
}

std::string format_size(Bytes size) {
    const int64_t n = size.count();
    if (n < 0) return std::string("-").append(format_size(Bytes(n == INT64_MIN ? INT64_MAX : -n)));
    std::string best = std::to_string(n) + "B";
    uint64_t best_factor = 1; // of equally short spellings the larger unit
    for (const Unit& u : sizes) {
        if (u.name == "KB") continue; // the other spelling of kB
        // Exact with up to three decimals?
        const Wide thousandths = Wide(static_cast<uint64_t>(n)) * 1000;
        if (n == 0 || thousandths % u.factor != 0) continue;
        const uint64_t t = static_cast<uint64_t>(thousandths / u.factor);
        std::string text = std::to_string(t / 1000);
        if (t % 1000 != 0) {
            std::string decimals = std::to_string(1000 + t % 1000).substr(1);
            decimals.erase(decimals.find_last_not_of('0') + 1);
            text += "." + decimals;
        }
        text += u.name;
        const bool shorter =
            text.size() < best.size() || (text.size() == best.size() && u.factor > best_factor);
        if (t >= 1000 && shorter) best = text, best_factor = u.factor;
    }
    constexpr size_t easily_read = 9; // "1023.5GiB"
    if (best.size() <= easily_read) return best;
    constexpr std::array<Step, 7> steps = {{{1, "B"},
                                            {1e3, "kB"},
                                            {1e6, "MB"},
                                            {1e9, "GB"},
                                            {1e12, "TB"},
                                            {1e15, "PB"},
                                            {1e18, "EB"}}};
    return scaled(static_cast<double>(n), steps);
}
std::string format_duration(Duration d) {
    constexpr std::array<Step, 5> steps = {
        {{1, " ps"}, {1e3, " ns"}, {1e6, " us"}, {1e9, " ms"}, {1e12, " s"}}};
    const double ps = static_cast<double>(d.count_ps());
    if (ps == 0) return "0 us";
    return std::string(ps < 0 ? "-" : "").append(scaled(std::abs(ps), steps));
}
std::string format_rate(Rate rate) {
    constexpr std::array<Step, 5> steps = {
        {{1, " B/s"}, {1e3, " kB/s"}, {1e6, " MB/s"}, {1e9, " GB/s"}, {1e12, " TB/s"}}};
    return scaled(rate.in_bytes_per_second(), steps);
}
std::string format_count(double n) {
    constexpr std::array<Step, 5> steps = {
        {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}}};
    return std::string(n < 0 ? "-" : "").append(scaled(std::abs(n), steps));
}

} // namespace storlab
