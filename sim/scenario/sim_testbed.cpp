#include "models/cpu/thread.hpp"
#include "models/gpu/card_driver.hpp"
#include "models/gpu/raid_card.hpp"
#include "models/host/nvme_driver.hpp"
#include "models/ssd/ssd.hpp"
#include "sim/scenario/sim_fabric.hpp"
#include "sim/scenario/testbed.hpp"
#include <algorithm>

namespace storlab {

namespace {
class SimTestbed final : public Testbed {
public:
    SimTestbed(const Scenario& scenario, const Slice& slice, Calendar& calendar);
    Clock& clock() override { return calendar_; }
    Cpu& new_thread(const std::string& machine, const std::string& load,
                    const CpuSet& cpus) override {
        Thread& t = machines_.at(machine)->processor.start_thread(cpus);
        threads_[load].push_back(&t);
        return t;
    }
    void seal() override {
        for (auto& [name, m] : machines_) m->processor.seal();
    }
    BlockDevice& reach(const LoadSchema& load, const std::string& machine,
                       const std::string& name) override;
    void fail_drive(const std::string& path) override { ssds_.at(path)->fail(); }
    void act_on_fabric(Verb verb, const std::string& name) override;
    void report(RunResult& r) override {
        if (!fabric_) return;
        for (TimelineMark& m : fabric_->paths().marks()) r.timeline.push_back(std::move(m));
        if (const uint64_t n = fabric_->violations())
            r.checks.push_back({"protocol", false, static_cast<double>(n), 0,
                                std::to_string(n) + " messages that were not for anybody"});
    }
    void give_up_paths() override {
        if (fabric_) fabric_->paths().give_up();
    }
    std::vector<StationDescription> stations() const override;
    std::vector<CpuUse> cpus() const override;
    bool cpus_idle() const override;
    ScrubReport scrub_now(const std::string& array) override;

private:
    struct Machine {
        Processor processor;
        PcieTree pcie;
        std::map<std::string, PcieSwitch*, std::less<>> switches;
        std::map<std::string, std::unique_ptr<RaidCard>> cards;
        Machine(Calendar& c, const MachineSchema& m, const Scenario& s)
            : processor(c, processor_options(m), host_prices(m, s)), pcie(socket_link_options(m)) {
            for (const SwitchSchema& w : m.switches)
                switches[w.name] = &pcie.add_switch(w.name, uplink_options(m, w),
                                                    static_cast<uint32_t>(w.slot.socket));
        }
        PciePlace place(uint32_t socket, std::string_view behind) const {
            if (behind.empty()) return {socket, nullptr};
            PcieSwitch* const s = switches.find(behind)->second;
            return {s->socket, s};
        }
        // The ways from there to the memory of each socket.
        std::vector<const PcieRoute*> to_memory(const PciePlace& from) {
            std::vector<const PcieRoute*> routes;
            for (uint32_t socket = 0; socket < pcie.sockets(); socket++)
                routes.push_back(&pcie.to_memory(from, socket));
            return routes;
        }
    };
    struct Software { // what a software array runs on
        WorkerPool workers;
        SpinLock lock;
        Software(Processor& p, uint32_t n, Duration wake_up, HandOver h)
            : workers(p, n, wake_up), lock(h) {}
    };
    Calendar& calendar_;
    std::map<std::string, std::unique_ptr<Machine>> machines_;
    std::map<std::string, std::unique_ptr<Ssd>> ssds_;
    std::vector<std::unique_ptr<NvmeDriver>> drivers_;
    std::map<std::string, std::unique_ptr<Software>> software_;
    std::vector<std::unique_ptr<CardDriver>> card_drivers_;
    std::map<std::string, std::vector<Thread*>> threads_; // of each load
    std::unique_ptr<SimFabric> fabric_;                   // null: no machine has ports

    void build_drives(const MachineSchema& m);
    void build_fabric();
    void fill_array(const ArraySchema& a);
    std::byte* peek(const ArraySchema& a, uint32_t member, Lba at) {
        return ssds_.at(members_.at(a.name)[member])->peek(at);
    }
};

SimTestbed::SimTestbed(const Scenario& s, const Slice& slice, Calendar& calendar)
    : Testbed(s, slice), calendar_(calendar) {
    for (const MachineSchema& m : s.machines) {
        auto& machine = machines_[m.name] = std::make_unique<Machine>(calendar, m, s);
        for (const CardSchema& c : m.cards) {
            if (c.kind != CardKind::raid) continue;
            const PciePlace place = machine->place(static_cast<uint32_t>(c.slot.socket), c.behind);
            machine->cards[c.name] =
                std::make_unique<RaidCard>(calendar, pcie_options(m, c.slot, c.behind),
                                           card_prices(c), machine->to_memory(place));
        }
        build_drives(m);
    }
    for (const ArraySchema& a : s.arrays) {
        Machine& machine = *machines_.at(a.machine);
        if (!a.card.empty()) {
            build_array(a, calendar, *machine.cards.at(a.card), nullptr);
            card_drivers_.push_back(std::make_unique<CardDriver>(*array(a.name), machine.processor,
                                                                 driver_threads(a, s)));
            targets_[a.name] = card_drivers_.back().get();
            continue;
        }
        auto& sw = software_[a.name] = std::make_unique<Software>(
            machine.processor, static_cast<uint32_t>(a.engine.count("workers", {1, 1024})),
            a.engine.duration("wake_up"), hand_over(a));
        build_array(a, calendar, sw->workers, &sw->lock);
    }
    build_models(ModelDisk::Start::filled);
    for (const ArraySchema& a : s.arrays)
        if (is_checked(a)) fill_array(a);
    build_fabric();
    for (auto& [path, ssd] : ssds_)
        if (model(path))
            for (uint64_t b = 0; b < ssd->geometry().blocks; b++)
                fill_sector(ssd->peek({b}), slice.payload, b, 0);
}

void SimTestbed::build_fabric() {
    const auto exported = [](const ArraySchema& a) { return a.exported.has_value(); };
    const std::vector<ArraySchema>& arrays = scenario_.arrays;
    if (std::none_of(arrays.begin(), arrays.end(), exported)) return;
    fabric_ = std::make_unique<SimFabric>(
        scenario_, calendar_,
        [this](const std::string& m) -> Processor& { return machines_.at(m)->processor; });
    for (const ArraySchema& a : arrays) {
        if (!a.exported) continue;
        std::vector<BlockDevice*> volumes;
        for (const VolumeSchema& v : a.volumes) volumes.push_back(&target(v.path));
        if (volumes.empty()) volumes.push_back(&target(a.name));
        fabric_->offer(a, volumes);
    }
}

// Without an export there are cables, but nothing that uses them.
void SimTestbed::act_on_fabric(Verb verb, const std::string& name) {
    if (fabric_) fabric_->act(verb, name);
}

BlockDevice& SimTestbed::reach(const LoadSchema& load, const std::string& machine,
                               const std::string& name) {
    if (scenario_.machine_of(name) == machine) return target(name);
    const ArraySchema& a = *scenario_.array_of(name);
    size_t volume = 0;
    while (volume < a.volumes.size() && a.volumes[volume].path != name) volume++;
    return fabric_->paths().reach(load, machine, a, a.volumes.empty() ? 0 : volume);
}

// Drives of one kind and state start with one map: what led to it is done once.
void SimTestbed::build_drives(const MachineSchema& m) {
    struct Kind {
        std::shared_ptr<const SsdOptions> options;
        Ftl start;
    };
    std::map<std::string, Kind> kinds;
    Machine& machine = *machines_.at(m.name);
    for (const DriveSchema& d : m.drives) {
        const std::string group = d.path.substr(0, d.path.rfind('/'));
        auto kind = kinds.find(group);
        if (kind == kinds.end()) {
            SsdOptions o = ssd_options(d, m, slice_);
            o.seed = scenario_.run.seed;
            kind =
                kinds.emplace(group, Kind{std::make_shared<const SsdOptions>(o), Ssd::aged_map(o)})
                    .first;
        }
        const uint64_t seed = mix(scenario_.run.seed) ^ hash_name(d.path);
        auto& ssd = ssds_[d.path] =
            std::make_unique<Ssd>(calendar_, kind->second.options, seed, &kind->second.start);
        std::vector<BlockDevice*> by_socket;
        for (const PcieRoute* r : machine.to_memory(machine.place(d.socket, d.behind)))
            by_socket.push_back(r->is_direct() ? ssd.get() : &ssd->reached_by(*r));
        drivers_.push_back(
            std::make_unique<NvmeDriver>(*ssd, std::move(by_socket), &machine.processor));
        drives_[d.path] = drivers_.back().get();
    }
}

// Version 0 of every block, with its parity or copies, in no time.
void SimTestbed::fill_array(const ArraySchema& a) {
    Raid& raid = *array(a.name);
    const Layout& l = raid.layout();
    const uint32_t payload = slice_.payload, k = l.data_columns();
    std::vector<std::byte> block(payload);
    for (uint64_t b = 0; b < l.blocks(); b++) {
        fill_sector(block.data(), payload, b, 0);
        for (uint32_t c = 0; c < l.copies(); c++) {
            const Place p = l.place_copy({b}, c);
            std::memcpy(peek(a, p.member, p.at), block.data(), payload);
        }
    }
    if (l.parities() == 0) return;
    const ErasureCode code(k, l.parities());
    std::vector<std::byte*> columns(l.members());
    for (uint64_t line = 0; line < raid.lines(); line++) {
        for (uint32_t c = 0; c < l.members(); c++)
            columns[c] = peek(a, l.column_member(line / l.chunk_blocks(), c), {line});
        code.encode(columns, payload);
    }
}

ScrubReport SimTestbed::scrub_now(const std::string& name) {
    const ArraySchema& a = *scenario_.array(name);
    const Raid& raid = *array(name);
    const Layout& l = raid.layout();
    const uint32_t payload = slice_.payload, k = l.data_columns();
    ScrubReport report;
    if (raid.degraded()) return report; // there is nothing to compare with
    if (l.parities() == 0) {
        for (uint64_t b = 0; l.copies() > 1 && b < l.blocks(); b++, report.lines++) {
            const Place first = l.place_copy({b}, 0);
            for (uint32_t c = 1; c < l.copies(); c++) {
                const Place other = l.place_copy({b}, c);
                report.mismatches += std::memcmp(peek(a, first.member, first.at),
                                                 peek(a, other.member, other.at), payload) != 0;
            }
        }
        return report;
    }
    const ErasureCode code(k, l.parities());
    std::vector<std::byte> parity(size_t{payload} * l.parities());
    std::vector<std::byte*> columns(l.members());
    for (uint64_t line = 0; line < raid.lines(); line++, report.lines++) {
        for (uint32_t c = 0; c < k; c++)
            columns[c] = peek(a, l.column_member(line / l.chunk_blocks(), c), {line});
        for (uint32_t p = 0; p < l.parities(); p++) columns[k + p] = &parity[size_t{p} * payload];
        code.encode(columns, payload);
        for (uint32_t p = 0; p < l.parities(); p++)
            report.mismatches +=
                std::memcmp(columns[k + p],
                            peek(a, l.column_member(line / l.chunk_blocks(), k + p), {line}),
                            payload) != 0;
    }
    return report;
}

std::vector<StationDescription> SimTestbed::stations() const {
    std::vector<StationDescription> all;
    for (const auto& [path, ssd] : ssds_) ssd->describe(path, all);
    for (const auto& [name, m] : machines_) {
        for (const auto& [card, c] : m->cards) c->describe(name + "/" + card, all);
        m->pcie.describe(name, calendar_.now(), all);
    }
    for (const auto& [name, sw] : software_) {
        all.push_back({name + "/lock", "array lock", 1, sw->lock.station.count(calendar_.now())});
        all.push_back({name + "/workers",
                       "stripe workers",
                       sw->workers.workers(),
                       {0, sw->workers.working(), sw->workers.working()}});
    }
    if (fabric_) fabric_->describe(all);
    for (const auto& [load, threads] : threads_) {
        Duration busy;
        for (const Thread* t : threads)
            busy += t->busy() - t->spun(); // a lock that others hold is another station
        all.push_back({load + "/threads",
                       "threads of the load",
                       static_cast<uint32_t>(threads.size()),
                       {0, busy, busy}});
    }
    return all;
}

std::vector<CpuUse> SimTestbed::cpus() const {
    std::vector<CpuUse> all;
    for (const auto& [name, m] : machines_)
        all.push_back({name, m->processor.logical_cpus(), m->processor.busy(),
                       m->processor.ledger(), m->processor.chance()});
    return all;
}
bool SimTestbed::cpus_idle() const {
    return std::all_of(machines_.begin(), machines_.end(),
                       [](const auto& m) { return m.second->processor.idle(); });
}
} // namespace

std::unique_ptr<Testbed> simulated_testbed(const Scenario& s, Calendar& calendar) {
    return std::make_unique<SimTestbed>(s, slice_of(s, sketch_bytes), calendar);
}

} // namespace storlab
