// Lines of `storlab check` and `storlab parts`: a label, then pieces that wrap under the first of
// them.
#pragma once
#include "sim/scenario/schema.hpp"
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

constexpr size_t screen_width = 110;

void put(std::string& out, std::string_view label, const std::vector<std::string>& pieces,
         std::string_view between = " · ");
std::vector<std::string> words(std::string_view text);
std::string counted(size_t n, const std::string& noun); // "1 port", "2 ports"
std::string titled(const Part& part);
std::string level_text(RaidLevel level); // "RAID 5"
// storage/ssd/0, storage/ssd/1, storage/ssd/2 -> storage/ssd/0-2
std::string ranges(const std::vector<std::string>& paths);

// fabric_text.cpp
// machine: its name, or those of all machines like it.
std::vector<std::string> card_text(const std::string& machine,
                                   const std::vector<const CardSchema*>& group);
std::string volumes_text(const ArraySchema& array); // empty if it has none
std::vector<std::string> export_text(const ArraySchema& array);
void switches_and_cables_text(std::string& out, const Scenario& scenario);
std::vector<std::string> paths_text(const LoadSchema& load);
// How many ways each machine has, and what none of them goes without.
void redundancy_text(std::string& out, const Scenario& scenario, const LoadSchema& load);

} // namespace storlab
