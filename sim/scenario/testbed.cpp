#include "sim/scenario/testbed.hpp"
#include <algorithm>

namespace storlab {

Testbed::~Testbed() = default;

void Testbed::act_on_fabric(Verb, const std::string&) { STORLAB_ENSURE(false); }

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

// Volumes begin and end at full stripes, as those of a volume manager told of the stripe do.
void Testbed::build_volumes() {
    for (const ArraySchema& a : scenario_.arrays) {
        if (!arrays_.contains(a.name)) continue; // elsewhere
        const Layout& l = arrays_.at(a.name)->layout();
        const uint64_t stripe = uint64_t{l.chunk_blocks()} * l.data_columns();
        for (const VolumeSchema& v : a.volumes) {
            const VolumeExtent e = extent_of(v, a, l.blocks(), stripe);
            if (e.blocks == 0)
                throw InputError(v.place, "at scale " + std::to_string(slice_.scale) +
                                              " nothing is left of volume '" + v.path +
                                              "'; set a smaller run/scale");
            volumes_[v.path] = std::make_unique<Volume>(target(a.name), Lba{e.first}, e.blocks);
            first_block_[v.path] = e.first;
            targets_[v.path] = volumes_[v.path].get();
        }
    }
}

BlockDevice& Testbed::reach(const LoadSchema&, const std::string&, const std::string& name) {
    return target(name);
}

bool Testbed::is_checked(const ArraySchema& a) {
    return model(a.name) || std::any_of(a.volumes.begin(), a.volumes.end(),
                                        [&](const VolumeSchema& v) { return model(v.path); });
}

void Testbed::build_models(ModelDisk::Start start) {
    for (const auto& [path, drive] : drives_) targets_.emplace(path, drive);
    build_volumes();
    if (!scenario_.run.check) return;
    for (const LoadSchema& l : scenario_.loads)
        for (const std::string& name : l.to) {
            if (!targets_.contains(name)) continue; // elsewhere
            const Geometry g = target(name).geometry();
            if (!models_.contains(name))
                models_[name] =
                    std::make_unique<ModelDisk>(g.blocks, g.payload, start, first_block_[name]);
        }
}

} // namespace storlab
