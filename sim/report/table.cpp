#include "sim/report/table.hpp"
#include <algorithm>
#include <fmt/format.h>

namespace storlab {

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows) {
        std::string line = row.empty() ? "" : fmt::format("{:<{}}", row[0], widths[0]);
        for (size_t i = 1; i < row.size(); i++) line += fmt::format("  {:>{}}", row[i], widths[i]);
        out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return out;
}

} // namespace storlab
