// storlab validate: runs the scenarios of the reviewed testbeds and holds the predictions against
// the published measurements, by the protocol in validation/README.md.
#pragma once
#include <string>

namespace storlab {

struct ValidateOptions {
    std::string testbed; // empty: all
    std::string json;
    std::string rows; // only ids matching this pattern
    bool record = false;
};
int validate(const ValidateOptions& options); // an exit code

} // namespace storlab
