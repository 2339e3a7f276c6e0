#include "sim/base/text.hpp"
#include "sim/real/file_device.hpp"
#include "sim/real/real_world.hpp"
#include "sim/scenario/real_hosts.hpp"
#include "sim/scenario/testbed.hpp"
#include "sim/scenario/timeline_targets.hpp"
#include <algorithm>
#include <filesystem>

namespace storlab {

namespace {
// Of volumes on a machine elsewhere, for those who only ask how large they are.
class Elsewhere final : public BlockDevice {
public:
    explicit Elsewhere(Geometry g) : geometry_(g) {}
    Geometry geometry() const override { return geometry_; }
    Handle submit(Request&) override {
        STORLAB_ENSURE(!"a volume elsewhere is reached by its paths");
        return nothing();
    }

private:
    Geometry geometry_;
};

class RealTestbed final : public Testbed {
public:
    RealTestbed(const Scenario& s, const Slice& slice, RealWorld& world, const std::string& folder,
                const RealRole& role)
        : Testbed(s, slice), world_(world), cpu_(world), role_(role) {
        check_faults();
        for (const MachineSchema& m : s.machines)
            if (is_here(m.name))
                for (const DriveSchema& d : m.drives) add_file(d, folder);
        for (const ArraySchema& a : s.arrays) {
            if (is_here(a.machine)) build_array(a, world, cpu_, nullptr);
            else if (role.hosts && role.hosts->elsewhere(a.machine)) add_elsewhere(a);
        }
        build_models(ModelDisk::Start::zeros);
        if (role.hosts) role.hosts->begin(world);
    }
    Clock& clock() override { return world_; }
    Cpu& new_thread(const std::string&, const std::string&, const std::vector<uint32_t>&) override {
        return cpu_;
    }
    void seal() override {}
    BlockDevice& reach(const LoadSchema& load, const std::string& machine,
                       const std::string& name) override {
        const bool far = role_.hosts && role_.hosts->elsewhere(scenario_.machine_of(name));
        return far ? role_.hosts->reach(load, machine, name) : target(name);
    }
    bool acts_here(Verb verb, const std::string& name) const override {
        if (acts_on_fabric(verb)) return role_.machine.empty();
        return files_.contains(name) || arrays_.contains(name);
    }
    void act_on_fabric(Verb verb, const std::string& name) override {
        if (role_.hosts) role_.hosts->act(verb, name); // otherwise there is nothing that uses it
    }
    void give_up_paths() override {
        if (role_.hosts) role_.hosts->paths().give_up();
    }
    void report(RunResult& r) override;
    void fail_drive(const std::string& path) override { files_.at(path)->fail(); }
    std::vector<StationDescription> stations() const override { return {}; }
    std::vector<CpuUse> cpus() const override { return {}; }
    ScrubReport scrub_now(const std::string& name) override;

private:
    RealWorld& world_;
    FreeCpu cpu_;
    const RealRole role_;
    std::map<std::string, std::unique_ptr<FileDevice>> files_;
    std::map<std::string, Elsewhere> elsewhere_;

    bool is_here(const std::string& machine) const {
        if (!role_.machine.empty()) return machine == role_.machine;
        return !role_.hosts || !role_.hosts->elsewhere(machine);
    }
    void check_faults() const;
    void add_file(const DriveSchema& d, const std::string& folder);
    void add_elsewhere(const ArraySchema& a);
    void scrub(Raid& raid, uint64_t first, uint64_t lines, ScrubReport& sum) {
        struct Done {
            ScrubReport* sum;
            RealWorld* world;
            bool over = false;
        } done{&sum, &world_};
        raid.scrub(first, lines, false)
            .detach(&done,
                    [](void* c, ScrubReport r) {
                        auto& d = *static_cast<Done*>(c);
                        d.sum->lines += r.lines;
                        d.sum->mismatches += r.mismatches;
                        d.sum->unreadable += r.unreadable;
                        d.over = true;
                        d.world->stop();
                        return nothing();
                    })
            .resume();
        while (!done.over) world_.run(); // a timer of the run that is over may stop the loop early
    }
};

// What is not kept through a loss of power: which members were out.
void RealTestbed::check_faults() const {
    for (const TimelineEvent& on : scenario_.timeline) {
        if (on.verb != Verb::power_on) continue;
        for (const TimelineEvent& e : scenario_.timeline)
            if ((e.verb == Verb::fail || e.verb == Verb::pull) && e.at <= on.at)
                throw InputError(on.place,
                                 "cannot power-on " + in_quotes(on.target.text()) +
                                     " after drives have failed: files do not remember that in the "
                                     "real world; only the simulated world can");
    }
}

void RealTestbed::add_file(const DriveSchema& d, const std::string& folder) {
    std::string name = d.path;
    for (char& c : name)
        if (c == '/') c = '.';
    const std::string path = (std::filesystem::path(folder) / name).string();
    std::error_code none; // FileDevice says what is wrong
    // Contents of an earlier run are not this run's start.
    if (!role_.again) std::filesystem::remove(path, none);
    files_[d.path] = std::make_unique<FileDevice>(
        world_, FileOptions{path, slice_blocks(d, slice_), slice_.sector});
    drives_[d.path] = files_[d.path].get();
}

void RealTestbed::add_elsewhere(const ArraySchema& a) {
    const auto add = [&](const std::string& name) {
        targets_[name] =
            &elsewhere_.emplace(name, Elsewhere(role_.hosts->geometry(name))).first->second;
    };
    for (const VolumeSchema& v : a.volumes) add(v.path);
    if (a.volumes.empty()) add(a.name);
}

// Lines that the files have data of; of few, all.
ScrubReport RealTestbed::scrub_now(const std::string& name) {
    ScrubReport report;
    const ArraySchema& a = *scenario_.array(name);
    if (!is_here(a.machine)) {
        const auto& reports = role_.hosts->finish();
        const auto node = reports.find(a.machine);
        if (node != reports.end() && node->second.scrubs.contains(name))
            report = node->second.scrubs.at(name);
        return report;
    }
    Raid& raid = *array(name);
    if (raid.degraded()) return report;
    constexpr uint64_t few = 10'000; // read within a second or two
    if (raid.lines() <= few) {
        scrub(raid, 0, raid.lines(), report);
        return report;
    }
    for (uint64_t line = 0; line < raid.lines();) {
        FileDevice::Stretch next{raid.lines(), raid.lines()};
        for (uint32_t m = 0; m < raid.layout().members(); m++) {
            const FileDevice::Stretch s = files_.at(member(name, m))->data_from(line);
            if (s.first < next.first) next = s;
        }
        next.end = std::min(next.end, raid.lines());
        if (next.end > next.first) scrub(raid, next.first, next.end - next.first, report);
        line = std::max(next.end, line + 1);
    }
    return report;
}

void RealTestbed::report(RunResult& r) {
    if (!role_.hosts) return;
    const auto add = [&r](std::vector<TimelineMark> marks) {
        for (TimelineMark& m : marks) r.timeline.push_back(std::move(m));
    };
    add(role_.hosts->paths().marks());
    uint64_t violations = role_.hosts->paths().violations();
    for (const auto& [machine, node] : role_.hosts->finish()) {
        add(node.marks);
        r.full_size.insert(r.full_size.end(), node.full_size.begin(), node.full_size.end());
        violations += node.violations;
        for (const std::string& t : node.troubles) r.checks.push_back({"process", false, 1, 0, t});
    }
    for (const std::string& t : role_.hosts->troubles())
        r.checks.push_back({"process", false, 1, 0, t});
    if (violations)
        r.checks.push_back({"protocol", false, static_cast<double>(violations), 0,
                            std::to_string(violations) + " messages that were not for anybody"});
}
} // namespace

std::unique_ptr<Testbed> real_testbed(const Scenario& s, RealWorld& world,
                                      const std::string& folder, const RealRole& role) {
    const Slice slice = slice_of(s, static_cast<uint32_t>(s.run.sector.count()));
    return std::make_unique<RealTestbed>(s, slice, world, folder, role);
}

} // namespace storlab
