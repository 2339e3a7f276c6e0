// Turns what was counted in a run into what its answer says: utilisations, what binds, whether the
// books balance.
#pragma once
#include "models/workload/fio/load.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/observer.hpp"
#include "sim/scenario/testbed.hpp"
#include <memory>
#include <string>
#include <vector>

namespace storlab {

void add_stations(RunResult& r, const std::vector<StationDescription>& from,
                  const std::vector<StationDescription>& to, Duration measured);
void add_cpus(RunResult& r, const std::vector<CpuUse>& from, const std::vector<CpuUse>& to,
              Duration measured);
// Stations of one kind in one group (storage/ssd/*) count as one, unless only some of them are
// full. Nothing binds when none is nearly full: then more I/Os in flight would raise the rate.
BottleneckResult find_bottleneck(const RunResult& r);
// Once every I/O is back.
void add_little(RunResult& r, const std::vector<std::unique_ptr<LoadObserver>>& loads);
void add_cpu_accounting(RunResult& r, const std::vector<CpuUse>& whole_run);
void add_accounting(RunResult& r, const std::vector<std::unique_ptr<fio::Load>>& loads);
// Writes to drives that are not in their steady state run faster than they will (SNIA: no figure
// before it without saying so).
void add_state_labels(RunResult& r, const Scenario& s,
                      const std::vector<std::unique_ptr<LoadObserver>>& loads, Testbed& bed);
void add_integrity(RunResult& r, const Scenario& s, Testbed& bed);
std::string hex_text(uint64_t x);
std::string group_of(const std::string& name); // storage/ssd/3/dies -> storage/ssd/*/dies

} // namespace storlab
