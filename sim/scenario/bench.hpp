// storlab bench: how fast scenarios run, in I/Os and events per second of CPU time. Its cases are
// files in scenarios/bench, run through the same code as `storlab run`.
#pragma once
#include <string>
#include <vector>

namespace storlab {

struct BenchOptions {
    std::vector<std::string> names; // empty: all cases
    int repeat = 5;
    std::string json;
};
int bench(const BenchOptions& options); // an exit code

} // namespace storlab
