#include "sim/report/score.hpp"
#include "sim/base/text.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace storlab {

namespace {
constexpr double least_cpu = 20; // points

struct Unit {
    std::string_view text, name; // as written, as reported
    double size;
};
std::span<const Unit> units_of(Metric m) {
    static constexpr Unit rates[] = {{"IOPS", "IOPS", 1}};
    static constexpr Unit bandwidths[] = {{"GB/s", "GB/s", 1e9},
                                          {"MB/s", "MB/s", 1e6},
                                          {"GiB/s", "GiB/s", 1024.0 * 1024 * 1024},
                                          {"MiB/s", "MiB/s", 1024.0 * 1024}};
    static constexpr Unit shares[] = {{"%", "percent", 1}, {"percent", "percent", 1}};
    static constexpr Unit times[] = {{"us", "us", 1e-6}, {"ms", "ms", 1e-3}, {"s", "s", 1}};
    switch (m) {
    case Metric::iops: return rates;
    case Metric::bandwidth: return bandwidths;
    case Metric::cpu: return shares;
    default: return times;
    }
}
std::string example_of(Metric m) {
    switch (m) {
    case Metric::iops: return "376k IOPS";
    case Metric::bandwidth: return "12.1 GB/s";
    case Metric::cpu: return "7 %";
    default: return "2.6 ms";
    }
}

// Digits with at most one point, perhaps k or M behind; the half unit is that of the last digit.
struct Number {
    double value = 0, half_unit = 0;
};
std::optional<Number> take_number(std::string_view& text) {
    size_t n = 0, digits = 0;
    bool point = false;
    double scale = 1, value = 0;
    for (; n < text.size(); n++) {
        if (text[n] == '.' && !point && digits > 0) {
            point = true;
            continue;
        }
        if (text[n] < '0' || text[n] > '9') break;
        if (point) scale *= 10;
        value = value * 10 + (text[n] - '0');
        digits++;
    }
    if (digits == 0 || digits > 15 || text[n - 1] == '.') return std::nullopt;
    text.remove_prefix(n);
    double prefix = 1;
    if (!text.empty() && (text[0] == 'k' || text[0] == 'M')) {
        prefix = text[0] == 'k' ? 1e3 : 1e6;
        text.remove_prefix(1);
    }
    return Number{value * prefix / scale, prefix / scale / 2};
}
bool take(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
}
} // namespace

std::string to_string(Role role) { return std::string(role_names[static_cast<size_t>(role)]); }
std::string to_string(Metric m) { return std::string(metric_names[static_cast<size_t>(m)]); }

bool scored(Role role) {
    return role == Role::prediction || role == Role::floor || role == Role::ceiling ||
           role == Role::group;
}

double band(Metric metric) {
    switch (metric) {
    case Metric::iops:
    case Metric::bandwidth: return 0.10;
    case Metric::latency: return 0.15;
    case Metric::p99:
    case Metric::cpu: return 0.25;
    case Metric::pause:
    case Metric::recovery: return 0.20;
    }
    STORLAB_ENSURE(false);
}

Published parse_published(std::string_view text, Metric metric, const SourcePlace& place) {
    const auto wrong = [&](const std::string& why) {
        return InputError(place, in_quotes(text) + " is no " + to_string(metric) + why +
                                     "; write " + example_of(metric));
    };
    std::string_view rest = text;
    const auto low = take_number(rest);
    if (!low) throw wrong("");
    auto high = low;
    if (take(rest, " to ")) high = take_number(rest);
    if (!high) throw wrong("");
    take(rest, " ");
    for (const Unit& u : units_of(metric)) {
        if (rest != u.text) continue;
        Published p{low->value * u.size,
                    high->value * u.size,
                    std::max(low->half_unit, high->half_unit) * u.size,
                    std::string(text),
                    std::string(u.name),
                    u.size};
        if (p.high < p.low) throw wrong(": the range ends below its start");
        if (p.low <= 0 && metric != Metric::cpu) throw wrong(" above zero");
        return p;
    }
    throw wrong("");
}

double error_of(Metric metric, Role role, const Published& p, double predicted) {
    STORLAB_ENSURE(std::isfinite(predicted));
    const auto reference = [&](double published) {
        return metric == Metric::cpu ? std::max(published, least_cpu) : published;
    };
    const double low = p.low;
    double high = p.high;
    if (role == Role::floor) high += band(metric) * reference(high);
    if (role == Role::ceiling && predicted <= high) return 0;
    if (predicted >= low - p.rounding && predicted <= high + p.rounding) return 0;
    const double end = predicted < low ? low : high;
    return (predicted - end) / reference(end);
}

double combine(const GroupRule& rule, std::span<const double> values) {
    STORLAB_ENSURE(!values.empty() && rule.over > 0);
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    const auto n = static_cast<double>(values.size());
    return (rule.by == Combine::mean ? sum / n : sum) / rule.over;
}

Published combine(const GroupRule& rule, std::span<const Published> values) {
    STORLAB_ENSURE(!values.empty());
    const auto of = [&](double Published::*member) {
        std::vector<double> all;
        for (const Published& p : values) all.push_back(p.*member);
        return combine(rule, all);
    };
    Published p = values[0]; // unit
    p.low = of(&Published::low);
    p.high = of(&Published::high);
    p.rounding = of(&Published::rounding);
    p.printed.clear();
    return p;
}

double quantile(std::vector<double> values, double p) {
    STORLAB_ENSURE(!values.empty() && p >= 0 && p <= 1);
    std::sort(values.begin(), values.end());
    const double place = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

Summary summarise(std::span<const RowError> rows) {
    Summary s;
    s.rows = rows.size();
    if (rows.empty()) return s;
    std::vector<double> absolute;
    double sum = 0;
    for (const RowError& r : rows) {
        absolute.push_back(std::abs(r.error));
        sum += r.error;
        s.in_band += std::abs(r.error) <= r.band;
    }
    s.median = quantile(absolute, 0.5);
    s.p90 = quantile(absolute, 0.9);
    s.bias = sum / static_cast<double>(rows.size());
    s.worst.assign(rows.begin(), rows.end());
    std::stable_sort(s.worst.begin(), s.worst.end(), [](const RowError& a, const RowError& b) {
        return std::abs(a.error) > std::abs(b.error);
    });
    constexpr size_t shown = 3;
    if (s.worst.size() > shown) s.worst.resize(shown);
    return s;
}

} // namespace storlab
