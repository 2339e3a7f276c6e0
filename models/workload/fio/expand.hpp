// ${VAR}, $pagesize, $mb_memory and $ncpus in values, with the sums fio lets one do on the latter.
// Inside the job file reader only.
#pragma once
#include "models/workload/fio/job_file.hpp"

namespace storlab::fio {

struct Expanded {
    std::string text;
    bool changed = false;
    std::string unset; // a variable that was not set, if any
};
Expanded expand(std::string_view value, const SourcePlace& where, const Surroundings& around);

// An integer sum such as 8*(4096-1): + - * / and parentheses.
int64_t evaluate(std::string_view sum, const SourcePlace& where);

} // namespace storlab::fio
