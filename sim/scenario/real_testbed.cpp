#include "sim/base/text.hpp"
#include "sim/real/file_device.hpp"
#include "sim/real/real_world.hpp"
#include "sim/scenario/testbed.hpp"
#include "sim/scenario/timeline_targets.hpp"
#include <filesystem>

namespace storlab {

namespace {
class RealTestbed final : public Testbed {
public:
    RealTestbed(const Scenario& s, const Slice& slice, RealWorld& world, const std::string& folder)
        : Testbed(s, slice), world_(world), cpu_(world) {
        for (const TimelineEvent& e : s.timeline)
            if (acts_on_fabric(e.verb))
                throw InputError(e.place, "cannot " + to_string(e.verb) + " " +
                                              in_quotes(e.target.text()) +
                                              " in the real world: its machines are files, without "
                                              "cables or power; only the simulated world can");
        for (const MachineSchema& m : s.machines)
            for (const DriveSchema& d : m.drives) {
                std::string name = d.path;
                for (char& c : name)
                    if (c == '/') c = '.';
                const std::string path = (std::filesystem::path(folder) / name).string();
                std::error_code none; // FileDevice says what is wrong
                std::filesystem::remove(
                    path, none); // contents of an earlier run are not this run's start
                files_[d.path] = std::make_unique<FileDevice>(
                    world, FileOptions{path, slice_blocks(d, slice), slice.sector});
                drives_[d.path] = files_[d.path].get();
            }
        for (const ArraySchema& a : s.arrays) build_array(a, world, cpu_, nullptr);
        build_models(ModelDisk::Start::zeros);
    }
    Clock& clock() override { return world_; }
    Cpu& new_thread(const std::string&, const std::string&, const std::vector<uint32_t>&) override {
        return cpu_;
    }
    void seal() override {}
    void fail_drive(const std::string& path) override { files_.at(path)->fail(); }
    std::vector<StationDescription> stations() const override { return {}; }
    std::vector<CpuUse> cpus() const override { return {}; }
    ScrubReport scrub_now(const std::string& name) override {
        Raid& raid = *array(name);
        ScrubReport report;
        if (raid.degraded()) return report;
        for (uint64_t line = 0; line < raid.lines();) { // runs of lines that were written
            uint64_t end = line;
            while (end < raid.lines() && written(name, end)) end++;
            if (end > line) scrub(raid, line, end - line, report);
            line = end + 1;
        }
        return report;
    }

private:
    RealWorld& world_;
    FreeCpu cpu_;
    std::map<std::string, std::unique_ptr<FileDevice>> files_;

    // Whether the run wrote a line. Of few lines, and of an array without parity, all count.
    bool written(const std::string& name, uint64_t line) {
        constexpr uint64_t few = 10'000; // read within a second or two
        const Layout& l = array(name)->layout();
        if (l.parities() == 0 || array(name)->lines() <= few) return true;
        for (uint32_t c = 0; c < l.data_columns(); c++)
            if (model(name)->written(l.lba_of({line}, c).block)) return true;
        return false;
    }
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
} // namespace

std::unique_ptr<Testbed> real_testbed(const Scenario& s, RealWorld& world,
                                      const std::string& folder) {
    const Slice slice = slice_of(s, static_cast<uint32_t>(s.run.sector.count()));
    return std::make_unique<RealTestbed>(s, slice, world, folder);
}

} // namespace storlab
