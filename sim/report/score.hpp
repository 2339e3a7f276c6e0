// How a prediction is held against a published figure: what was printed and how finely, the error
// of a row by its role, the band it should stay in, and what many rows say together. The protocol
// in words is validation/README.md. Left out: where the figures come from (sim/scenario/validate*).
#pragma once
#include "sim/base/error.hpp"
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

enum class Role {
    prediction,  // nothing was fitted to it
    calibration, // parts may be fitted to it
    implied,     // follows from calibration rows by identity
    context,     // a claim or a projection
    check,       // passes or fails
    floor,       // "over X" was published
    ceiling,     // "under X"
    group,       // several rows scored as one
};
constexpr std::array<std::string_view, 8> role_names{
    "prediction", "calibration", "implied", "context", "check", "floor", "ceiling", "group"};
std::string to_string(Role role);
bool scored(Role role); // counts in the summary: by the role alone

enum class Metric { iops, bandwidth, latency, p99, cpu, pause, recovery };
constexpr std::array<std::string_view, 7> metric_names{"iops", "bandwidth", "latency", "p99",
                                                       "cpu",  "pause",     "recovery"};
std::string to_string(Metric metric);
double band(Metric metric); // the error to stay within, as a fraction

// One figure (low == high) or a range, in base units: IOPS, bytes/s, seconds, percent.
struct Published {
    double low = 0, high = 0;
    double rounding = 0;  // half a unit of the last printed digit
    std::string printed;  // "3.0M IOPS"
    std::string unit;     // "IOPS", "GB/s", "us", "percent"
    double unit_size = 1; // base units in one
    double in_unit(double base) const { return base / unit_size; }
};
// "3.0M IOPS", "12.1 GB/s", "7 %", "2.6 ms", "3 to 4 s". Digits count as they are printed: 376k is
// known to half a thousand. InputError if it is none, or not of this metric.
Published parse_published(std::string_view text, Metric metric, const SourcePlace& place);

// Signed, as a fraction. Zero inside the printed rounding, inside a range, and on the right side of
// a floor (up to its band) or a ceiling; otherwise from the nearer end. CPU is relative to the
// published value or 20 points, whichever is more: one point of three is not 33 %.
double error_of(Metric metric, Role role, const Published& published, double predicted);
constexpr double failed_error = 1; // of a row whose scenario fails

enum class Combine { mean, sum };
struct GroupRule {
    Combine by = Combine::mean;
    double over = 1; // the sum is divided by this: reads and writes added, mean over four hosts
};
double combine(const GroupRule& rule, std::span<const double> values);
// Published figures combined; half units add up as the values do.
Published combine(const GroupRule& rule, std::span<const Published> values);

struct RowError {
    std::string name;
    double error = 0;
    double band = 0;
};
struct Summary {
    size_t rows = 0;
    std::optional<double> median, p90; // of |error|; none without rows
    std::optional<double> bias;        // mean of the signed errors
    size_t in_band = 0;
    size_t checks = 0, checks_failed = 0; // for the caller to fill
    std::vector<RowError> worst;          // the three largest |error|, largest first
};
Summary summarise(std::span<const RowError> rows);
// Between order statistics, linearly: the p-quantile of n values is at place p x (n - 1).
double quantile(std::vector<double> values, double p);

} // namespace storlab
