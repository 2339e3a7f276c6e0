// Rows of words in columns: the first column to the left, the others to the right.
#pragma once
#include <string>
#include <vector>

namespace storlab {

std::string text_table(const std::vector<std::vector<std::string>>& rows);

} // namespace storlab
