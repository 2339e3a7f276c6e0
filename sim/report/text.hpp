// The answer on one screen: what a person reads, pastes into a mail, and can repeat by its last
// line. Loads with their IOPS, bandwidth and latencies; what binds; where the time went; checks;
// assumptions. A percentile without enough samples is a dash. A partial run and a mismatch are said
// before anything else. Left out: colour and progress (the command line's business), stations below
// the binding ones (JSON).
#pragma once
#include "sim/base/time.hpp"
#include "sim/report/result.hpp"
#include <string>

namespace storlab {

std::string to_text(const RunResult& result, int width = 110);

// Pieces others print in the same way.
std::string show(Duration time);           // "444 us", "1.23 ms", "20.8 h": three figures
std::string show_count(double count);      // "4.60M", "1.75k", "512": decimal, three figures
std::string show_percent(double fraction); // "98.4 %"

} // namespace storlab
