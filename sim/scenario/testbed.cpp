#include "sim/scenario/testbed.hpp"
#include <algorithm>

namespace storlab {

Testbed::~Testbed() = default;

ModelDisk* Testbed::model(const std::string& name) {
    const auto m = models_.find(name);
    return m == models_.end() ? nullptr : m->second.get();
}
Raid* Testbed::array(const std::string& name) {
    const auto a = arrays_.find(name);
    return a == arrays_.end() ? nullptr : a->second.get();
}
void Testbed::build_array(const ArraySchema& a, Clock& clock, Cpu& engine, SpinLock* lock) {
    members_[a.name] = a.drives;
    std::vector<BlockDevice*> members;
    for (const std::string& d : a.drives) members.push_back(drives_.at(d));
    RaidOptions o = raid_options(a, scenario_, slice_);
    o.lock = lock;
    if (!a.journal.empty()) o.journal = drives_.at(a.journal);
    targets_[a.name] =
        (arrays_[a.name] = std::make_unique<Raid>(clock, engine, std::move(members), o)).get();
}

void Testbed::build_models(ModelDisk::Start start) {
    for (const auto& [path, drive] : drives_) targets_.emplace(path, drive);
    if (!scenario_.run.check) return;
    for (const LoadSchema& l : scenario_.loads)
        for (const std::string& name : l.to) {
            const Geometry g = target(name).geometry();
            if (!models_.contains(name))
                models_[name] = std::make_unique<ModelDisk>(g.blocks, g.payload, start);
        }
}

} // namespace storlab
