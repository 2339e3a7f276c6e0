// From parts of the catalogue to the options of the models: each value read once, by its name.
#pragma once
#include "models/cpu/thread.hpp"
#include "models/multipath/options.hpp"
#include "models/pcie/tree.hpp"
#include "models/raid/raid.hpp"
#include "sim/scenario/schema.hpp"

namespace storlab {

struct Slice { // what of the real sizes a run holds
    uint64_t scale = 1;
    Bytes sector{4096};
    uint32_t payload = 16; // bytes a sector carries
};
constexpr uint32_t sketch_bytes = 16;

// The scale of a scenario that gives none: the smallest power of two at which its drives fit.
uint64_t choose_scale(const Scenario& scenario);
// The share of its volumes' slice that random writes in flight cover, 0 of other loads. A slice is
// smaller than the real thing: I/Os must not meet in it more often than there.
double covered_by_writes(const LoadSchema& load, const Scenario& scenario, uint64_t scale);
constexpr double most_covered = 0.001;
// The scenario's slice. InputError if its scale leaves too little of a drive, or too much for
// memory.
Slice slice_of(const Scenario& scenario, uint32_t payload);
// Complains about values of parts that no model could work with (check_values.cpp).
void check_values(const Scenario& scenario);
uint64_t slice_blocks(const DriveSchema& drive, const Slice& slice);

SsdOptions ssd_options(const DriveSchema& drive, const MachineSchema& machine, const Slice& slice);
// behind: a switch of the machine; empty: a root port.
PcieOptions pcie_options(const MachineSchema& machine, const Slot& slot,
                         std::string_view behind = {});
PcieOptions uplink_options(const MachineSchema& machine, const SwitchSchema& of);
SocketLinkOptions socket_link_options(const MachineSchema& machine);
ProcessorOptions processor_options(const MachineSchema& machine);
// Of a part of kind multipath (build_paths.cpp). The transport of the paths says which of its
// timers apply: FC-NVMe is NVMe.
enum class PathTransport : uint8_t { fc, iscsi, nvme };
MultipathOptions multipath_options(const Part& part, PathTransport transport);
// What work costs on a machine, with the software RAIDs it runs.
PriceList host_prices(const MachineSchema& machine, const Scenario& scenario);
PriceList card_prices(const CardSchema& card);
uint32_t driver_threads(const ArraySchema& array, const Scenario& scenario); // of its card
// Everything but the lock, which belongs to the world.
RaidOptions raid_options(const ArraySchema& array, const Scenario& scenario, const Slice& slice);
HandOver hand_over(const ArraySchema& array);

// The assumed, derived and fitted values a run rests on.
std::vector<Assumption> assumptions_of(const Scenario& scenario, const Slice& slice);

} // namespace storlab
