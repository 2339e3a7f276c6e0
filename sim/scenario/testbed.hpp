// The objects of a scenario, wired up in one of two worlds. Each part builds itself from its schema
// (build.hpp); a testbed only connects them:
//
//   load clone -> [fabric -> ] [volume -> array -> ] driver -> PCIe link -> drive   (simulated)
//   load clone -> [array -> ] file                                  (real)
#pragma once
#include "models/array/volume.hpp"
#include "models/raid/raid.hpp"
#include "models/workload/model_disk.hpp"
#include "sim/kernel/station.hpp"
#include "sim/scenario/build.hpp"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace storlab {

struct CpuUse {
    std::string where;
    uint32_t logical_cpus = 1;
    Duration busy;
    Ledger by_operation{};
    Duration chance = {}; // busy beyond that
};

class Testbed {
public:
    virtual ~Testbed();
    virtual Clock& clock() = 0;
    // A context for a clone of a load, on these CPUs (empty: any); the load's contexts together are
    // a station of its name.
    virtual Cpu& new_thread(const std::string& machine, const std::string& load,
                            const std::vector<uint32_t>& cpus) = 0;
    virtual void seal() = 0; // all threads exist
    virtual void fail_drive(const std::string& path) = 0;
    // Cables and power; only of a testbed that has a fabric.
    virtual void act_on_fabric(Verb verb, const std::string& name);
    // Whether that is done in this process, and not by a machine that is another.
    virtual bool acts_here(Verb, const std::string&) const { return true; }
    // Marks of what the machines found out by themselves (that paths were lost, that I/O went on
    // without them, that they were used again), and what other processes have to report.
    virtual void report(RunResult&) {}
    // What waits for a path that does not come back ends, with an error.
    virtual void give_up_paths() {}
    // Counts so far; differences of two moments give utilisation.
    virtual std::vector<StationDescription> stations() const = 0;
    virtual std::vector<CpuUse> cpus() const = 0;
    virtual bool cpus_idle() const { return true; } // as far as it knows
    // Recomputes parity or copies of every line of an array without time passing.
    virtual ScrubReport scrub_now(const std::string& array) = 0;

    // An array, a volume or a drive, as it is where it is.
    BlockDevice& target(const std::string& name) { return *targets_.at(name); }
    // The same as a load's machine reaches it, which may be across a fabric.
    virtual BlockDevice& reach(const LoadSchema& load, const std::string& machine,
                               const std::string& name);
    // Whether some load's reads of the array, or of a volume of it, are checked.
    bool is_checked(const ArraySchema& array);
    ModelDisk* model(const std::string& name); // null when contents are not checked
    Raid* array(const std::string& name);      // null: not an array
    const std::map<std::string, std::unique_ptr<Raid>>& arrays() const { return arrays_; }
    BlockDevice& drive(const std::string& path) { return *drives_.at(path); }
    const Slice& slice() const { return slice_; }
    const Scenario& scenario() const { return scenario_; }
    const std::string& member(const std::string& array, uint32_t n) const {
        return members_.at(array)[n];
    }
    // A spare has taken the place of a member.
    void replace_member(const std::string& array, uint32_t member, const std::string& drive) {
        members_.at(array)[member] = drive;
    }

protected:
    Testbed(const Scenario& scenario, const Slice& slice) : scenario_(scenario), slice_(slice) {}
    void build_array(const ArraySchema& a, Clock& clock, Cpu& engine, SpinLock* lock);
    void build_volumes();
    void build_models(ModelDisk::Start start);

    const Scenario& scenario_;
    Slice slice_;
    std::map<std::string, BlockDevice*> drives_, targets_;
    std::map<std::string, std::unique_ptr<Raid>> arrays_;
    std::map<std::string, std::unique_ptr<Volume>> volumes_;
    std::map<std::string, uint64_t> first_block_; // of a volume on its array
    std::map<std::string, std::unique_ptr<ModelDisk>> models_;
    std::map<std::string, std::vector<std::string>> members_; // drives now in each array
};

std::unique_ptr<Testbed> simulated_testbed(const Scenario& scenario, Calendar& calendar);

class RealWorld;
class RealHosts;
struct RealRole {
    std::string machine;        // of a node: only what this machine has; empty: all that is here
    bool again = false;         // a node's second start, on the files of the first
    RealHosts* hosts = nullptr; // of the process that reaches for machines elsewhere
};
// The drives are files of the slice's size in the folder. InputError if that cannot be.
std::unique_ptr<Testbed> real_testbed(const Scenario& scenario, RealWorld& world,
                                      const std::string& folder, const RealRole& role = {});

} // namespace storlab
