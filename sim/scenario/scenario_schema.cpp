#include "sim/base/error.hpp"
#include "sim/scenario/catalogue_text.hpp"
#include "sim/scenario/install.hpp"
#include <fstream>
#include <sstream>

namespace storlab {

// Kept as a file, so that an editor can be pointed at it without the program.
std::string scenario_schema() {
    const std::string file = installed_folder("docs/schemas") + "/scenario.schema.json";
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in || text.str().empty()) throw InputError({file, 0, 0}, "cannot be read");
    return text.str();
}

} // namespace storlab
