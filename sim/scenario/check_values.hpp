// Limits that values of parts have whichever part it is; each complains at the value. Shared by
// check_values.cpp and check_fabric.cpp.
#pragma once
#include "sim/scenario/part.hpp"

namespace storlab {

void complain_about(const Part& part, std::string_view value, const std::string& what);
void check_duration(const Part& part, std::string_view value); // of one step of an I/O
void check_cost(const Part& part, std::string_view value, Hertz clock);
void check_rate(const Part& part, std::string_view value);
void check_size(const Part& part, std::string_view value, Bytes unit, Bytes most);
void check_slot(const Part& part, std::string_view value);
bool is_clock(Hertz clock); // of a processor: otherwise costs in cycles are not looked at

} // namespace storlab
