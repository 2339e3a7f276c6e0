// What `storlab check`, `storlab parts` and `storlab schema` print.
#pragma once
#include "sim/scenario/schema.hpp"
#include <string>

namespace storlab {

std::string describe(const Scenario& scenario);      // one screen: machines, arrays, loads, run
std::string describe_parts(const std::string& name); // the list, or one part's values with sources
std::string scenario_schema(); // JSON Schema (draft 2020-12) of a scenario file

} // namespace storlab
