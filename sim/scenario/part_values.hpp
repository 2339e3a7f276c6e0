// Which values a part of each kind has: the one place that says so. A part's file is checked
// against it, whatever a scenario does with the part, and a model can read nothing else.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

class Part;

// None for a kind that no model reads: whoever wants the part says so.
std::vector<std::string> values_known_of(const Part& part);

// Path software names its settings as its own product does; one of them tells which it is.
constexpr std::string_view tells_nvme = "ctrl_loss_tmo", tells_windows = "pdo_remove_period",
                           tells_esxi = "apd_timeout";

} // namespace storlab
