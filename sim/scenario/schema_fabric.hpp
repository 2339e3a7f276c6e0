// What of a scenario is outside of its machines: ports of cards, switches, the cables between them,
// volumes of arrays and the ports they are exported on, and how a load's requests choose among
// paths. Plain data, as in schema.hpp, which includes this.
//
// Speeds: a Fibre Channel port settles on the fastest speed that both ends have, as FC-FS speed
// negotiation does (HBAs go down two generations). Ethernet over pluggable modules does not
// negotiate: both ends must have the same fastest speed, or the cable says which one they are set
// to. InfiniBand and SAS train down as Fibre Channel does. Left out: zones, VLANs, link
// aggregation.
#pragma once
#include "models/fabric/speed.hpp"
#include "models/multipath/options.hpp"
#include "sim/scenario/part.hpp"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace storlab {

struct ArraySchema;
struct CardSchema;
struct LoadSchema;
struct MachineSchema;
struct Scenario;

enum class CardKind : uint8_t { raid, hba, nic, dpu };
std::string_view to_string(CardKind kind); // as the part's kind: "raid-card"

struct PortSchema {
    std::string path;                     // storage/fc/0/port/1
    std::vector<const LinkSpeed*> speeds; // fastest first; empty only beside a complaint
};

struct NetworkSwitchSchema {
    std::string name;
    Part part;
    uint32_t ports = 0;
    std::vector<const LinkSpeed*> speeds; // of every port
    SourcePlace place;
};

struct CableSchema {
    std::string a, b; // a port or a switch
    std::string text; // as written, which may stand for several
    double metres = 0;
    const LinkSpeed* speed = nullptr;
    SourcePlace place;
};

struct VolumeSchema {   // a slice of its array
    std::string path;   // main/lun/3
    Bytes offset, size; // at full size
    SourcePlace place;
};

enum class Protocol : uint8_t { fcp, fc_nvme, nvme_tcp, nvme_rdma, iscsi, iser };
std::string_view to_string(Protocol protocol); // "fc-nvme"
bool is_nvme(Protocol protocol);               // otherwise SCSI
bool is_rdma(Protocol protocol);

struct ExportSchema {
    Protocol protocol = Protocol::fcp;
    std::vector<std::string> ports; // paths, all of the array's machine
    Part stack;                     // of kind target-stack
    SourcePlace place;
};

struct PathSchema {
    std::optional<PathSelector> policy; // none: the part's own
    std::optional<uint32_t> ios;        // in a row on one path, as above
    Part part;                          // of kind multipath
    SourcePlace place;
};
std::string_view to_string(PathSelector policy); // "queue-length"

// The blocks that are a volume's in an array of so many, at whatever scale: bounds are multiples of
// `unit`, neighbours leave no gap, and equal volumes differ by little.
struct VolumeExtent {
    uint64_t first = 0, blocks = 0;
};
VolumeExtent extent_of(const VolumeSchema& volume, const ArraySchema& array, uint64_t blocks,
                       uint64_t unit);

// schema_fabric.cpp
Part find_card(const Catalogue& catalogue, const Node& is, CardKind& kind);
void add_ports(CardSchema& card, const std::string& machine);
// One for each of the entry's count, the first of which has been read as `first`.
void add_machines(MachineSchema first, const Node& count, const std::string& name,
                  Scenario& scenario);
void read_network_switches(const Node& node, const Catalogue& catalogue, Scenario& scenario);
std::vector<int> read_interrupts(const Node& node, const MachineSchema& machine);
// Names of machines, switches and arrays are steps of paths: no two may be the same.
std::optional<std::string> used_as(const Scenario& scenario, std::string_view name);

// schema_cables.cpp
void read_cables(const Node& node, Scenario& scenario);

// schema_exports.cpp
void read_volumes(const Node& node, ArraySchema& array, const Scenario& scenario);
void read_export(const Node& node, const Catalogue& catalogue, ArraySchema& array,
                 Scenario& scenario);
// Whether a port's technology, and its card, can carry the protocol.
bool carries(const CardSchema& card, const PortSchema& port, Protocol protocol);

// schema_routes.cpp: which of the targets each machine aims at, and whether it can reach them.
void read_sharing(Fields& fields, const Node& from, const Node& to, LoadSchema& load);
void read_paths(Fields& fields, const Node& from, const Node& to, const Catalogue& catalogue,
                LoadSchema& load, Scenario& scenario);
// The targets of the load's machine number n.
std::span<const std::string> share_of(const LoadSchema& load, size_t n);
bool is_cabled(const Scenario& scenario, std::string_view port);
// True if the two ports are joined by a cable, or by cables and switches.
bool has_route(const Scenario& scenario, std::string_view port, std::string_view other);
// Whether a load has volumes, several machines, or targets on another machine than its own.
bool needs_fabric(const LoadSchema& load, const Scenario& scenario);

} // namespace storlab
