// The answer on one screen: what a person reads, pastes into a mail, and can repeat by its last
// line. Loads with their IOPS, bandwidth and latencies; what binds; where the time went; checks;
// assumptions. A percentile without enough samples is a dash. A partial run and a mismatch are said
// before anything else. Left out: colour and progress (the command line's business), stations below
// the binding ones (JSON).
#pragma once
#include "sim/report/result.hpp"
#include <string>

namespace storlab {

std::string to_text(const RunResult& result, int width = 110);
// Only what makes the answer worthless; empty if nothing does.
std::string alarms_text(const RunResult& result);

} // namespace storlab
