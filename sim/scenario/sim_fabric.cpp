#include "sim/scenario/sim_fabric.hpp"
#include "models/exchange/kinds.hpp"
#include "models/nvme/profiles.hpp"
#include "models/scsi/profiles.hpp"
#include <algorithm>

namespace storlab {

namespace {
bool is_command(const Message& m) { return kind_of(m) == Kind::command; }
bool is_response(const Message& m) { return kind_of(m) == Kind::response; }
// Of protocols in which the last data of a read is its response.
bool is_answer(const Message& m) {
    return is_response(m) || (kind_of(m) == Kind::data_in && m.last);
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
    : scenario_(s), calendar_(calendar), processor_of_(std::move(processor_of)), network_(calendar),
      paths_(
          s, calendar,
          [this](const std::string& machine, const PortSchema& port, const std::string& target_port,
                 const RemoteArray& array) { return session(machine, port, target_port, array); }) {
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
    RemoteArray& remote = paths_.add({&a, profile_of(e.protocol), {}});
    remote.profile.timers.hold = Duration(); // multipathing above does that
    Processor& processor = processor_of_(a.machine);
    const bool on_card = runs_on_card(e);
    TargetOptions o;
    o.depth = 4096; // the initiator's limit is the lower one
    o.offloaded = on_card;
    offer.target = std::make_unique<Target>(calendar_, remote.profile, o);
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
        remote.volumes.push_back(volumes[i]->geometry());
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

InitiatorOptions SimFabric::session(const std::string& machine, const PortSchema& port,
                                    const std::string& target_port, const RemoteArray& remote) {
    const Offer& offer = offers_.at(remote.array->name);
    const Card& host = *card_of_port_.at(port.path);
    const Card& array = *card_of_port_.at(target_port);
    const Protocol protocol = remote.array->exported->protocol;
    ConnectionOptions c;
    c.format = frame_format(protocol, port.speeds.front()->kind, *host.schema, *array.schema);
    if (is_rdma(protocol)) c.transport = TransportOptions::reliable_connection();
    else if (protocol == Protocol::nvme_tcp || protocol == Protocol::iscsi)
        c.transport = TransportOptions::tcp(c.format.payload);
    c.counted_a = is_command;
    c.counted_b = remote.profile.status_in_data ? is_answer : is_response;

    InitiatorOptions o;
    o.depth = session_tags(protocol, processor_of_(machine).logical_cpus());
    o.adapter = host.engine.get();
    if (remote.profile.software && !host.engine) o.interrupt = &interrupts_of(machine);
    Target* const target = offer.target.get();
    o.connect = [this, a = port.path, b = target_port, c, target]() -> Connection* {
        const ConnectionEnds ends = network_.connect(a, b, c);
        if (!ends.a) return nullptr;
        target->accept(*ends.b);
        return ends.a;
    };
    return o;
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
    uint64_t n = paths_.violations();
    for (const auto& [name, offer] : offers_) n += offer.target->counters().violations;
    return n;
}

} // namespace storlab
