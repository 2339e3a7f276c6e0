// Pieces of the result's JSON that have files of their own. For .cpp files of this folder only: it
// is the one header that lets nlohmann-json in (by its forward declarations). Objects keep the
// order in which keys were added, so that the same result is the same text.
#pragma once
#include "sim/base/time.hpp"
#include "sim/report/job_result.hpp"
#include "sim/report/series.hpp"
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace storlab {

nlohmann::ordered_json series_json(const Series& series);
// The array "jobs" as fio writes it.
nlohmann::ordered_json fio_jobs(const std::vector<JobResult>& jobs, bool bins);

// Integer nanoseconds, rounded to the nearest.
constexpr int64_t in_ns(Duration time) { return (time.count_ps() + 500) / 1000; }

} // namespace storlab
