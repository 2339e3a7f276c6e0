// What a host's multipathing can be set to, in the words of no product: Linux dm-multipath and
// native NVMe multipath, Windows MPIO and ESXi NMP are each a set of these. Their defaults are
// parts of the catalogue.
// Sources: multipath.conf(5); Linux Documentation on dm-multipath's selectors and NVMe multipath;
// Microsoft, "MPIO timers"; VMware, "vSphere Storage".
#pragma once
#include "sim/seam/block_device.hpp"
#include "sim/seam/message.hpp"

namespace storlab {

// SCSI's ALUA and NVMe's ANA alike. Standby and unavailable ports are inaccessible ones.
enum class PathAccess : uint8_t { optimized, non_optimized, inaccessible };

// What the transport says of a path.
struct PathState {
    bool up = true;
    Loss why = Loss::link_down; // when it is not up
    bool gone = false;          // the transport has given up: nobody tries to get it back
    PathAccess access = PathAccess::optimized;

    static PathState is_up(PathAccess access = PathAccess::optimized) {
        return {true, Loss::link_down, false, access};
    }
    static PathState is_down(Loss why, PathAccess access = PathAccess::optimized) {
        return {false, why, false, access};
    }
};

enum class PathSelector : uint8_t {
    round_robin,  // so many commands on one path, then the next
    queue_length, // fewest commands under way; ties to the path that waited longest (dm)
    queue_depth,  // ... ties to the first path (NVMe)
    service_time, // least (bytes under way + this command's) / throughput (dm); Windows: least
                  // blocks
    nearest,      // least distance; ties to the first path (NVMe "numa", ESXi "fixed")
    most_recent,  // one path until it cannot be used (ESXi MRU, Windows "fail over only")
};

// Which paths are used together.
enum class PathGrouping : uint8_t {
    by_access,    // those whose access is the same (dm group_by_prio; NVMe; Windows RR with subset)
    by_group,     // those of one controller or target port group (dm group_by_tpg)
    one_group,    // all, whatever their access (dm multibus)
    single_paths, // each for itself (dm failover)
};

// When a better group than the one in use has a usable path again.
enum class Failback : uint8_t {
    immediate,
    manual,     // the group in use stays in use for as long as it has a usable path
    followover, // only when the better group's first path has just come back
    delayed,
};

// What becomes of commands when no path can be used.
enum class NoPath : uint8_t {
    fail,
    wait,   // for so long after the last path was lost; then they fail until a path is back
    remove, // ... then the device is removed
    queue,
};

// What a transport does about a path that is down. Zero: not at all, never.
struct PathTimers {
    // For so long the path keeps its commands, is given new ones, and sends them if it comes back:
    // FC fast_io_fail_tmo, iSCSI replacement_timeout, the device-loss time of ESXi's FC drivers.
    Duration hold = {};
    bool hold_after_timeout = false; // also if it is down because nothing came back in time
    // From then on commands are not kept waiting for this path: NVMe fast_io_fail_tmo.
    Duration give_up = {};
    // The path is lost for good: FC dev_loss_tmo, NVMe ctrl_loss_tmo.
    Duration loss = {};
    Duration reconnect = {};    // between attempts. With these, loss is a number of attempts
    bool loss_is_final = false; // a lost path is not taken back, and with the last the device goes

    uint64_t attempts() const { // all that `loss` allows
        if (reconnect == Duration()) return 0;
        return static_cast<uint64_t>((loss.count_ps() + reconnect.count_ps() - 1) /
                                     reconnect.count_ps());
    }
};

// Checks of our own: one block read over the path. Zero: none.
struct PathChecker {
    Duration interval = {}; // of a path that works: doubles from check to check, up to `longest`
    Duration longest = {};
    Duration failed = {}; // of one that does not
    Duration timeout = Duration::s(30);
    // What the transport says is better is believed after a check; otherwise at once.
    bool believes_checks_only = false;
};

struct MultipathOptions {
    PathSelector selector = PathSelector::round_robin;
    uint32_t round_robin_ios = 1;
    PathGrouping grouping = PathGrouping::by_access;
    Failback failback = Failback::immediate;
    Duration failback_delay = {};
    NoPath no_path = NoPath::fail;
    Duration no_path_wait = {};
    uint32_t retries = 0;         // of one command, on whichever path; 0: as often as it takes
    Duration retry_interval = {}; // zero: at once
    PathChecker checker = {};
    PathTimers timers = {};
};

struct PathOptions {
    BlockDevice* device;
    uint32_t group = 0;      // controller or target port group
    uint32_t throughput = 1; // relative, for service_time
    uint32_t distance = 0;   // from the host's processors, for nearest
    PathAccess access = PathAccess::optimized;
};

struct MultipathCounters {
    uint64_t commands = 0, completed = 0;
    uint64_t requeued = 0; // ended with no_path and sent again
    uint64_t held = 0;     // given to a path that was down, or kept by it
    uint64_t waited = 0;   // for a path, when there was none
    uint64_t failed = 0;   // with no_path or no_device
    uint64_t path_failures = 0, failbacks = 0, checks = 0, attempts = 0;
};

} // namespace storlab
