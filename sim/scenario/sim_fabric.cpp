#include "sim/scenario/sim_fabric.hpp"
#include "models/exchange/kinds.hpp"
#include "models/nvme/profiles.hpp"
#include "models/scsi/profiles.hpp"
#include "sim/base/random.hpp"
#include <algorithm>

namespace storlab {

namespace {
bool is_command(const Message& m) { return kind_of(m) == Kind::command; }
bool is_response(const Message& m) { return kind_of(m) == Kind::response; }
// Of protocols in which the last data of a read is its response.
bool is_answer(const Message& m) {
    return is_response(m) || (kind_of(m) == Kind::data_in && m.last);
}

// Commands a session may have under way. NVMe: a queue a CPU, 128 entries each (nvme-cli's
// default); iSCSI: open-iscsi's cmds_max; FCP: exchanges of an adapter's port.
uint32_t session_tags(Protocol protocol, const Processor& host) {
    constexpr uint32_t queue_entries = 128, cmds_max = 128, exchanges = 2048, most = 4080;
    switch (protocol) {
    case Protocol::fcp: return exchanges;
    case Protocol::iscsi:
    case Protocol::iser: return cmds_max;
    default: return std::min(most, queue_entries * host.logical_cpus());
    }
}

PathState path_state_of(const Initiator& i, const RemoteUnit& unit) {
    const Access a = unit.access();
    const PathAccess access = a == Access::optimized       ? PathAccess::optimized
                              : a == Access::non_optimized ? PathAccess::non_optimized
                                                           : PathAccess::inaccessible;
    // A session that has never been lost is on its way: commands wait for the end of its login.
    const bool up = i.state() == SessionState::live ||
                    (i.state() != SessionState::removed && i.counters().losses == 0);
    PathState s = up ? PathState::is_up(access) : PathState::is_down(i.last_loss(), access);
    s.gone = i.state() == SessionState::removed;
    return s;
}
} // namespace

Profile profile_of(Protocol protocol) {
    switch (protocol) {
    case Protocol::fcp: return fcp();
    case Protocol::fc_nvme: return fc_nvme();
    case Protocol::nvme_tcp: return nvme_tcp();
    case Protocol::nvme_rdma: return nvme_rdma();
    case Protocol::iscsi: return iscsi(open_iscsi());
    case Protocol::iser: return iser(open_iscsi());
    }
    return fcp();
}

SimFabric::SimFabric(const Scenario& s, Calendar& calendar, ProcessorOf processor_of)
    : scenario_(s), calendar_(calendar), processor_of_(std::move(processor_of)),
      network_(calendar) {
    for (const NetworkSwitchSchema& w : s.switches) network_.add_switch(w.name, switch_options(w));
    for (const MachineSchema& m : s.machines) add_cards(m);
    add_cables();
}
SimFabric::~SimFabric() = default;

const ExportSchema* SimFabric::export_through(const CardSchema& card) const {
    for (const ArraySchema& a : scenario_.arrays) {
        if (!a.exported) continue;
        for (const PortSchema& p : card.ports) {
            const auto& ports = a.exported->ports;
            if (std::find(ports.begin(), ports.end(), p.path) != ports.end()) return &*a.exported;
        }
    }
    return nullptr;
}

void SimFabric::add_cards(const MachineSchema& m) {
    for (const CardSchema& c : m.cards) {
        if (c.kind == CardKind::raid) continue;
        const std::string path = m.name + "/" + c.name;
        Card& card = cards_[path];
        card.schema = &c;
        card.adapter = &network_.add_adapter(path, adapter_options(c));
        const ExportSchema* const exported = export_through(c);
        if (c.kind == CardKind::dpu) {
            PriceList prices = adapter_prices(c);
            if (exported && runs_on_card(*exported))
                add_target_prices(prices, exported->stack, m.cpu.frequency("clock"));
            card.engine = std::make_unique<AdapterEngine>(calendar_, adapter_processors(c), prices);
        }
        for (const PortSchema& p : c.ports) {
            PortOptions o = port_options(c);
            o.machine = m.name;
            o.adapter = card.adapter;
            if (exported) o.association = association_options(*exported);
            network_.add_port(p.path, o);
            card_of_port_[p.path] = &card;
        }
    }
}

void SimFabric::offer(const ArraySchema& a, const std::vector<BlockDevice*>& volumes) {
    const ExportSchema& e = *a.exported;
    Offer& offer = offers_[a.name];
    offer.array = &a;
    offer.profile = profile_of(e.protocol);
    offer.profile.timers.hold = Duration(); // multipathing above does that
    Processor& processor = processor_of_(a.machine);
    const bool on_card = runs_on_card(e);
    TargetOptions o;
    o.depth = 4096; // the initiator's limit is the lower one
    o.offloaded = on_card;
    offer.target = std::make_unique<Target>(calendar_, offer.profile, o);
    std::vector<AdapterEngine*> engines;
    for (const std::string& port : e.ports)
        if (AdapterEngine* const engine = card_of_port_.at(port)->engine.get();
            engine && std::find(engines.begin(), engines.end(), engine) == engines.end())
            engines.push_back(engine);
    for (size_t i = 0; i < volumes.size(); i++) {
        Cpu* context = nullptr;
        if (on_card) context = engines[i % engines.size()];
        else
            context = offer.contexts
                          .emplace_back(std::make_unique<WorkerPool>(
                              processor, contexts_per_volume(e), Duration()))
                          .get();
        offer.target->add_unit(static_cast<uint16_t>(i), *volumes[i], *context);
        offer.volumes.push_back(volumes[i]->geometry());
    }
}

WorkerPool& SimFabric::interrupts_of(const std::string& machine) {
    auto& pool = interrupts_[machine];
    if (!pool) {
        Processor& p = processor_of_(machine);
        const std::vector<int>& cpus = scenario_.machine(machine)->interrupts;
        const CpuSet allowed(cpus.begin(), cpus.end());
        const auto n = allowed.empty() ? p.logical_cpus() : static_cast<uint32_t>(allowed.size());
        pool = std::make_unique<WorkerPool>(p, n, Duration(), allowed);
    }
    return *pool;
}

std::unique_ptr<SimFabric::Session> SimFabric::session(const std::string& machine,
                                                       const PortSchema& port,
                                                       const std::string& target_port,
                                                       const Offer& offer) {
    const Card& host = *card_of_port_.at(port.path);
    const Card& array = *card_of_port_.at(target_port);
    const Protocol protocol = offer.array->exported->protocol;
    ConnectionOptions c;
    c.format = frame_format(protocol, port.speeds.front()->kind, *host.schema, *array.schema);
    if (is_rdma(protocol)) c.transport = TransportOptions::reliable_connection();
    else if (protocol == Protocol::nvme_tcp || protocol == Protocol::iscsi)
        c.transport = TransportOptions::tcp(c.format.payload);
    c.counted_a = is_command;
    c.counted_b = offer.profile.status_in_data ? is_answer : is_response;

    InitiatorOptions o;
    o.depth = session_tags(protocol, processor_of_(machine));
    o.identity = hash_name(port.path + " " + target_port);
    o.adapter = host.engine.get();
    if (offer.profile.software && !host.engine) o.interrupt = &interrupts_of(machine);
    Target* const target = offer.target.get();
    o.connect = [this, a = port.path, b = target_port, c, target]() -> Connection* {
        const ConnectionEnds ends = network_.connect(a, b, c);
        if (!ends.a) return nullptr;
        target->accept(*ends.b);
        return ends.a;
    };
    auto s = std::make_unique<Session>();
    s->initiator = std::make_unique<Initiator>(calendar_, offer.profile, o);
    s->units.resize(offer.volumes.size());
    for (size_t i = 0; i < offer.volumes.size(); i++)
        s->units[i] =
            std::make_unique<RemoteUnit>(*s->initiator, static_cast<uint16_t>(i), offer.volumes[i]);
    s->machine = machine;
    s->port = port.path;
    s->target_port = target_port;
    s->initiator->on_state([this, session = s.get()](SessionState state) {
        watch(*session, state);
        tell(*session);
    });
    s->initiator->on_access([this, session = s.get()](uint16_t, Access) { tell(*session); });
    s->initiator->start();
    return s;
}

void SimFabric::tell(const Session& s) {
    for (const Path& p : s.paths)
        p.device->path_state(p.number, path_state_of(*s.initiator, *s.units[p.volume]));
}

SimFabric::Ways& SimFabric::ways(const std::string& machine, const Offer& offer) {
    Ways& w = ways_[{machine, offer.array->name}];
    if (!w.sessions.empty()) return w;
    for (const CardSchema& c : scenario_.machine(machine)->cards)
        for (const PortSchema& p : c.ports)
            for (const std::string& target_port : offer.array->exported->ports)
                if (has_route(scenario_, p.path, target_port))
                    w.sessions.push_back(session(machine, p, target_port, offer));
    return w;
}

BlockDevice& SimFabric::reach(const LoadSchema& load, const std::string& machine,
                              const ArraySchema& array, size_t volume) {
    const Offer& offer = offers_.at(array.name);
    Ways& w = ways(machine, offer);
    auto& device = w.devices[{load.name, volume}];
    if (device) return *device;
    MultipathOptions o =
        multipath_options(load.paths->part, path_transport(array.exported->protocol));
    if (load.paths->policy) o.selector = *load.paths->policy;
    if (load.paths->ios) o.round_robin_ios = *load.paths->ios;
    std::vector<PathOptions> paths;
    for (const auto& s : w.sessions) paths.push_back({.device = s->units[volume].get()});
    device = std::make_unique<Multipath>(calendar_, paths, o);
    for (size_t i = 0; i < w.sessions.size(); i++)
        w.sessions[i]->paths.push_back({device.get(), i, volume});
    device->on_attempt([&w](size_t path) {
        Initiator& initiator = *w.sessions[path]->initiator;
        if (initiator.state() == SessionState::removed) return false;
        initiator.reconnect_now();
        return true;
    });
    device->on_change(
        [this, &w, d = device.get()](uint64_t before) { paths_changed(w, *d, before); });
    device->start_checks();
    return *device;
}

void SimFabric::describe(std::vector<StationDescription>& out) const {
    network_.describe(out);
    for (const auto& [path, card] : cards_)
        if (card.engine) card.engine->describe(path + "/processors", out);
    const auto pool = [&](const std::string& name, const char* kind, uint32_t n, Duration busy) {
        out.push_back({name, kind, n, {0, busy, busy}});
    };
    for (const auto& [name, offer] : offers_) {
        uint32_t n = 0;
        Duration busy;
        for (const auto& c : offer.contexts) n += c->workers(), busy += c->working();
        if (n > 0) pool(name + "/target", "contexts of the target", n, busy);
    }
    for (const auto& [machine, p] : interrupts_)
        pool(machine + "/interrupts", "network interrupts", p->workers(), p->working());
}

uint64_t SimFabric::violations() const {
    uint64_t n = 0;
    for (const auto& [name, offer] : offers_) n += offer.target->counters().violations;
    for (const auto& [names, w] : ways_)
        for (const auto& s : w.sessions) n += s->initiator->counters().violations;
    return n;
}

} // namespace storlab
