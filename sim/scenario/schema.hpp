// A scenario as its author meant it: plain data, checked against itself (every name used exists,
// every count is possible), with the place of each thing for later errors. Reading reports
// everything that is wrong with a file at once.
#pragma once
#include "models/raid/layout.hpp"
#include "models/ssd/ssd.hpp"
#include "models/workload/fio/job_file.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/part.hpp"
#include "sim/scenario/schema_fabric.hpp"
#include "sim/scenario/timeline_text.hpp"
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace storlab {

struct Slot { // "x8 gen4 socket 0"
    int lanes = 0, generation = 0, socket = 0;
    bool names_socket = false;
};

struct SwitchSchema {
    std::string name;
    Part part;
    Slot slot; // of its uplink
    SourcePlace place;
};

struct CardSchema {
    std::string name; // fc, or fc/0 of a group with a count
    Part part;
    Slot slot;
    SourcePlace place;
    std::string behind; // a switch of the machine; empty: on a root port
    CardKind kind = CardKind::raid;
    std::vector<PortSchema> ports;
};

struct DriveSchema {  // one drive; a group of n makes n of them
    std::string path; // storage/ssd/3
    Part part;
    SsdState state = SsdState::fresh;
    Bytes aged_by{4096};
    SourcePlace place;
    std::string behind; // as a card's
    static constexpr uint32_t any_socket = ~0u;
    uint32_t socket = any_socket; // settled by settle_pcie
};

struct MachineSchema {
    std::string name; // storage, or client/0 of a group with a count
    Part server, cpu, host;
    uint32_t sockets = 1;
    std::vector<SwitchSchema> switches;
    std::vector<CardSchema> cards;
    std::vector<DriveSchema> drives;
    SourcePlace place;
    std::vector<int> interrupts; // CPUs that take those of the network, sorted; empty: all

    const SwitchSchema* pcie_switch(std::string_view name) const;
    bool has_ports() const;
};

struct ArraySchema {
    std::string name, machine;
    RaidLevel level = RaidLevel::raid5;
    std::vector<std::string> drives, spares; // paths
    Bytes chunk = Bytes::kib(64);
    std::string card; // empty: software
    Part engine;      // costs of software RAID
    uint32_t stripes = 0;
    bool reads_through_parity = false;
    Consistency consistency = Consistency::none;
    std::string journal; // path of its drive
    SourcePlace journal_place;
    Bytes bitmap_region;       // of a member; 0: no bitmap
    Rate speed_min, speed_max; // of a rebuild, a member

    bool uses(const std::string& drive) const {
        const auto among = [&](const auto& list) {
            return std::find(list.begin(), list.end(), drive) != list.end();
        };
        return drive == journal || among(drives) || among(spares);
    }
    SourcePlace place;
    Bytes capacity;                    // at full size
    std::vector<VolumeSchema> volumes; // in order; empty: the array is one volume of its name
    std::optional<ExportSchema> exported;
};

struct LoadSchema {
    std::string name;
    std::vector<std::string> from;   // machines, each of which runs the jobs
    std::vector<std::string> to;     // arrays, volumes or drives
    bool split = false;              // each machine has a share of them: see share_of
    std::optional<PathSchema> paths; // where a machine reaches them over a fabric
    std::vector<fio::Job> jobs;
    std::vector<std::pair<std::string, std::string>> options; // as written, for the record
    bool open = false;
    SourcePlace place;

    int64_t in_flight() const; // I/Os of all machines together
};

enum class Until : uint8_t { confident, duration, timeline, load };
struct RunSchema {
    Until until = Until::confident;
    Duration duration, settle = Duration::ms(100);
    std::optional<Duration> warm_up; // none: detected
    double confidence = 0.01;        // half width of the 95 % interval, relative
    uint64_t scale = 0;              // 0: chosen, so that the slice fits a laptop
    uint64_t seed = 1;
    Bytes sector{0};   // 0: 4 KiB, or 512 B where a load needs it
    Duration step;     // of the series; zero: chosen
    bool check = true; // contents of every read
};

struct Scenario {
    std::string file, title, about;
    std::vector<MachineSchema> machines;
    std::vector<NetworkSwitchSchema> switches;
    std::vector<CableSchema> cables;
    bool cables_sound = true; // otherwise what they lack to reach something is not told
    std::vector<ArraySchema> arrays;
    std::vector<LoadSchema> loads;
    std::vector<TimelineEvent> timeline;
    RunSchema run;
    std::string hash; // of the content after all settings, job files included
    uint64_t files_hash = 0;
    std::vector<Assumption> assumptions; // made by the reader, not by a part
    std::vector<std::string> notes;      // worth telling: fio keys without effect and the like

    const MachineSchema* machine(std::string_view name) const;
    const ArraySchema* array(std::string_view name) const;
    const DriveSchema* drive(std::string_view path) const;
    const NetworkSwitchSchema* network_switch(std::string_view name) const;
    const PortSchema* port(std::string_view path) const;
    Bytes size_of(std::string_view target) const; // an array's, volume's or drive's, at full size
    // The array of that name or that has the volume; none for a drive.
    const ArraySchema* array_of(std::string_view target) const;
    const std::string& machine_of(std::string_view target) const; // of an array, volume or drive
    std::vector<const Part*> parts() const;
};

struct ScenarioOptions {
    std::vector<std::string> settings; // "path=value"
    std::string parts_folder;          // of the catalogue
    std::optional<ScaledValue> scaled = std::nullopt;
};
// InputError with everything that is wrong.
Scenario load_scenario(const std::string& file, const ScenarioOptions& options);
Scenario read_scenario(std::string_view text, const std::string& name,
                       const ScenarioOptions& options);

// schema_*.cpp, one section each
void read_machines(const Node& node, const Catalogue& catalogue, Scenario& scenario);
void read_arrays(const Node& node, const Catalogue& catalogue, Scenario& scenario);
void read_loads(const Node& node, const Catalogue& catalogue, Scenario& scenario);
void read_run(const Node& node, Scenario& scenario);

// schema_pcie.cpp
Slot parse_slot(std::string_view text, const SourcePlace& place);
// The part a key names; none if the key is missing, which was complained about, or of another kind.
Part find_part(const Catalogue& catalogue, const Node& is, std::string_view kind);
// A slot on a root port; the part's own link if there is none. It must be on a socket there is.
Slot read_slot(const Node& slot, const Part& part, const SourcePlace& place,
               const MachineSchema& machine);
void read_switches(const Node& node, const Catalogue& catalogue, MachineSchema& machine);
// The switch a device is behind; empty if there is none of that name.
std::string read_behind(const Node& behind, const MachineSchema& machine);
// A socket for every drive that names none, and whether there are lanes for all.
void settle_pcie(MachineSchema& machine, const Node& server, Scenario& scenario);

} // namespace storlab
