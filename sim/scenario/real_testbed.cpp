#include "sim/real/file_device.hpp"
#include "sim/real/real_world.hpp"
#include "sim/scenario/testbed.hpp"
#include <filesystem>

namespace storlab {

namespace {
class RealTestbed final : public Testbed {
public:
    RealTestbed(const Scenario& s, const Slice& slice, RealWorld& world, const std::string& folder)
        : Testbed(s, slice), world_(world), cpu_(world) {
        for (const MachineSchema& m : s.machines)
            for (const DriveSchema& d : m.drives) {
                std::string name = d.path;
                for (char& c : name)
                    if (c == '/') c = '.';
                const std::string path = (std::filesystem::path(folder) / name).string();
                std::filesystem::remove(
                    path); // contents of an earlier run are not this run's start
                files_[d.path] = std::make_unique<FileDevice>(
                    world, FileOptions{path, slice_blocks(d, slice), slice.sector});
                drives_[d.path] = files_[d.path].get();
            }
        for (const ArraySchema& a : s.arrays) build_array(a, world, cpu_, nullptr);
        build_models(ModelDisk::Start::zeros);
    }
    Clock& clock() override { return world_; }
    Cpu& new_thread(const std::string&, const std::string&) override { return cpu_; }
    void seal() override {}
    void fail_drive(const std::string& path) override { files_.at(path)->fail(); }
    std::vector<StationDescription> stations() const override { return {}; }
    std::vector<CpuUse> cpus() const override { return {}; }
    ScrubReport scrub_now(const std::string& name) override {
        struct Done {
            ScrubReport report;
            RealWorld& world;
        } done{{}, world_};
        Raid& raid = *array(name);
        if (raid.degraded()) return {};
        raid.scrub(0, raid.lines(), false)
            .detach(&done,
                    [](void* c, ScrubReport r) {
                        auto& d = *static_cast<Done*>(c);
                        d.report = r;
                        d.world.stop();
                        return nothing();
                    })
            .resume();
        world_.run();
        return done.report;
    }

private:
    RealWorld& world_;
    FreeCpu cpu_;
    std::map<std::string, std::unique_ptr<FileDevice>> files_;
};
} // namespace

std::unique_ptr<Testbed> real_testbed(const Scenario& s, RealWorld& world,
                                      const std::string& folder) {
    const Slice slice = slice_of(s, static_cast<uint32_t>(s.run.sector.count()));
    return std::make_unique<RealTestbed>(s, slice, world, folder);
}

} // namespace storlab
