// storlab sensitivity: which assumed or fitted value of a part moves the answer most? Each is made
// a fifth smaller and a fifth larger, alone, and the scenario is run again with the same seed. A
// value that moves little needs no better source; one that moves much is what to measure first.
//
// Left out: values together, whose effects need not add up, and choices that are no quantity (which
// protocol, which scheduler). A value whose part cannot be that much smaller or larger (page sizes,
// powers of two) is named as not varied.
#pragma once
#include "sim/scenario/schema.hpp"
#include "sim/scenario/validate_runs.hpp"
#include <optional>
#include <string>
#include <vector>

namespace storlab {

struct SensitivityOptions {
    std::string only = "*/*"; // pattern of "part/value"
    std::string json;         // file for the figures
    size_t top = 15;          // rows printed
};

struct Influence { // of one value; a side without an answer could not be run
    std::string value, is, from, source;
    std::optional<RunAnswer> less, more;
    std::string why_not; // of a side without an answer
};
struct SensitivityReport {
    std::string title, scenario, hash;
    uint64_t seed = 0;
    double by = 0.2;
    RunAnswer base;
    std::vector<Influence> values; // the strongest first
};
// Fractions by which a side moves the answer: I/Os a second of all loads, and their mean latency.
struct Move {
    double iops = 0, latency = 0;
};
std::optional<Move> move_of(const SensitivityReport& report, const std::optional<RunAnswer>& side);
// The larger of the two sides' moves of IOPS and latency.
double strength(const SensitivityReport& report, const Influence& influence);

// Prints; the exit code. InputError as load_scenario, or if nothing matches.
int sensitivity(const std::string& file, const ScenarioOptions& scenario,
                const SensitivityOptions& options);
std::string sensitivity_text(const SensitivityReport& report, size_t top);
std::string sensitivity_json(const SensitivityReport& report);

} // namespace storlab
