// `storlab node`: one storage machine of the real world, started by `storlab run --world real` for
// a scenario with a fabric. Its drives are files; its arrays are the real ones; its volumes are
// offered on a loopback socket for each export port. What the timeline does to its drives and
// arrays it does itself. It talks to the hosts' process over its standard input (node_process.hpp).
#pragma once
#include "sim/scenario/schema.hpp"
#include <string>

namespace storlab {

struct StorageNodeOptions {
    std::string machine, folder;
    bool again =
        false; // on the files of an earlier one, that may have been in the middle of a write
};
// Until it is told to finish, or its standard input ends. The exit code.
int storage_node(const Scenario& scenario, const StorageNodeOptions& options);
// To the hosts' process: why there will be no node.
void say_to_hosts(const std::string& error);

} // namespace storlab
