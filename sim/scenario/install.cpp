#include "sim/scenario/install.hpp"
#include "sim/base/error.hpp"
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace storlab {

namespace fs = std::filesystem;

std::string installed_folder(const std::string& name) {
    std::vector<fs::path> places;
    if (const char* home = std::getenv("STORLAB_HOME")) places.emplace_back(home);
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    for (fs::path p = program.parent_path(); !error && p.has_relative_path(); p = p.parent_path()) {
        places.push_back(p);
        places.push_back(p / "share" / "storlab");
    }
    places.push_back(fs::current_path(error));
    for (const fs::path& p : places)
        if (fs::is_directory(p / name, error)) return (p / name).string();
    throw InputError({"storlab", 0, 0},
                     "cannot find the folder " + name +
                         " that comes with the program; set STORLAB_HOME to where it is");
}

} // namespace storlab
