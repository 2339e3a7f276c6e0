// Where the files that come with the program are: beside the source tree it was built in, or under
// share/storlab of an installation.
#pragma once
#include <string>

namespace storlab {

// The folder scenarios/ (or validation/) that belongs to this program. STORLAB_HOME, if set, is
// looked at first, then the folders above the program. InputError when there is none.
std::string installed_folder(const std::string& name);
inline std::string parts_folder() { return installed_folder("scenarios/parts"); }

} // namespace storlab
