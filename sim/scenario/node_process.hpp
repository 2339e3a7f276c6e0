// A storage machine of the real world as a process of its own, as the process of the hosts sees it:
// `storlab node`, which has the machine's drives and arrays and offers its volumes on sockets
// (storage_node.hpp). The two talk in lines of JSON over a pair of sockets; when the hosts' process
// is gone the node ends by itself, whatever happened to it.
//
//   node  -> {"ready": {"ports": {port: number}, "volumes": {path: [blocks, block, payload]}}}
//            {"error": text}
//   hosts -> {"begin": ns of the run}      the timeline goes on from there
//            {"finish": true}
//   node  -> {"report": ...}
#pragma once
#include "models/raid/raid.hpp"
#include "sim/report/result.hpp"
#include "sim/seam/block_device.hpp"
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace storlab {

struct NodeCommand {
    std::string program;               // storlab itself
    std::string file, folder;          // the scenario, and where the drives' files go
    std::vector<std::string> settings; // "path=value"
};

struct NodeOffer {                           // what it told when it was ready
    std::map<std::string, uint16_t> ports;   // of TCP, by path of the export port
    std::map<std::string, Geometry> volumes; // by path; of an array without volumes, its own
};

struct NodeReport { // what it tells when it ends
    std::vector<TimelineMark> marks;
    std::vector<FullSize> full_size;
    std::map<std::string, ScrubReport> scrubs; // by array
    uint64_t violations = 0;                   // sessions that misbehaved
    std::vector<std::string> troubles;         // of files
};
std::string to_json(const NodeOffer& offer);
std::string to_json(const NodeReport& report);

class NodeProcess {
public:
    NodeProcess(const NodeCommand& command, std::string machine)
        : command_(command), machine_(std::move(machine)) {}
    ~NodeProcess() { kill(); }
    NodeProcess(const NodeProcess&) = delete;
    NodeProcess& operator=(const NodeProcess&) = delete;

    // again: on the files of an earlier one. InputError if no process can be had.
    void start(bool again);
    void kill(); // as a loss of power does
    bool running() const { return pid_ > 0; }
    // Its offer, once it is ready; waits for at most so long. InputError with what it complains of,
    // or if it ends without a word.
    const NodeOffer* offer(Duration at_most);
    void begin(Instant at);
    // Ends it in order. None if it is not running, ends without a report, or takes over a minute.
    std::optional<NodeReport> finish();

private:
    const NodeCommand command_;
    const std::string machine_;
    pid_t pid_ = -1;
    int channel_ = -1;
    std::string heard_; // up to a line's end
    std::optional<NodeOffer> offer_;

    void say(const std::string& line) const;
    std::optional<std::string> hear(Duration at_most);
    [[noreturn]] void ended() const;
};

} // namespace storlab
