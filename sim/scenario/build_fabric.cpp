#include "sim/scenario/build_fabric.hpp"
#include <algorithm>

namespace storlab {

namespace {
Price& price(PriceList& prices, Operation op) { return prices[static_cast<size_t>(op)]; }

void set(PriceList& prices, Operation op, const Part& p, std::string_view name, Hertz clock) {
    price(prices, op).each = p.cost(name, clock);
}
// A message of so much, and its bytes at a rate: pdu_send and pdu_send_rate.
void set_with_bytes(PriceList& prices, Operation op, const Part& p, const std::string& name,
                    Hertz clock) {
    set(prices, op, p, name, clock);
    price(prices, op).ps_per_byte = 1e12 / p.rate(name + "_rate").in_bytes_per_second();
}
} // namespace

void add_initiator_prices(PriceList& prices, const Part& host, Hertz clock) {
    set(prices, Operation::path_select, host, "path_select", clock);
    set(prices, Operation::fabric_submit, host, "fabric_submit", clock);
    set(prices, Operation::fabric_complete, host, "fabric_complete", clock);
    set_with_bytes(prices, Operation::pdu_send, host, "pdu_send", clock);
    set_with_bytes(prices, Operation::pdu_receive, host, "pdu_receive", clock);
    set_with_bytes(prices, Operation::packet_receive, host, "packet_receive", clock);
}

void add_target_prices(PriceList& prices, const Part& stack, Hertz clock) {
    set(prices, Operation::target_read, stack, "target_read", clock);
    set(prices, Operation::target_write, stack, "target_write", clock);
    set_with_bytes(prices, Operation::target_send, stack, "target_send", clock);
    set_with_bytes(prices, Operation::target_receive, stack, "target_receive", clock);
}

PriceList adapter_prices(const CardSchema& c) {
    PriceList prices{};
    price(prices, Operation::adapter_command).each = c.part.duration("adapter_command");
    price(prices, Operation::adapter_write).each = c.part.duration("adapter_write");
    return prices;
}

AdapterOptions adapter_options(const CardSchema& c) {
    return {c.part.duration("per_command"), c.part.duration("per_message"),
            c.part.has("latency") ? c.part.duration("latency") : Duration()};
}
PortOptions port_options(const CardSchema& c) {
    PortOptions o;
    o.coalesce = c.part.duration("coalesce");
    o.usable_share = c.part.fraction("usable_share");
    return o;
}
SwitchOptions switch_options(const NetworkSwitchSchema& w) {
    return {w.part.duration("latency"), w.part.flag("lossless"), w.part.size("buffer").count()};
}
std::string cable_name(const CableSchema& c, const Scenario& s) {
    size_t same = 1;
    for (const CableSchema& other : s.cables) {
        if (&other == &c) break;
        same += other.a == c.a && other.b == c.b;
    }
    return c.a + " to " + c.b + (same > 1 ? " " + std::to_string(same) : "");
}
CableOptions cable_options(const CableSchema& c, const Scenario& s) {
    CableOptions o;
    o.speed = *c.speed;
    o.metres = c.metres;
    o.name = cable_name(c, s);
    for (const MachineSchema& m : s.machines) // a cable has credits from its weaker end
        for (const CardSchema& card : m.cards)
            for (const PortSchema& p : card.ports) {
                if (card.kind != CardKind::hba || (p.path != c.a && p.path != c.b)) continue;
                const auto n = static_cast<uint32_t>(card.part.count("buffer_credits", {1, 65536}));
                o.credits = o.credits == 0 ? n : std::min(o.credits, n);
            }
    return o;
}
FrameFormat frame_format(Protocol protocol, FabricKind kind, const CardSchema& a,
                         const CardSchema& b) {
    if (protocol == Protocol::fcp || protocol == Protocol::fc_nvme)
        return FrameFormat::fibre_channel();
    if (is_rdma(protocol) && kind == FabricKind::infiniband) return FrameFormat::infiniband(4096);
    const auto mtu =
        static_cast<uint32_t>(std::min(a.part.size("mtu"), b.part.size("mtu")).count());
    return is_rdma(protocol) ? FrameFormat::rocev2(mtu) : FrameFormat::tcp(mtu);
}
uint32_t adapter_processors(const CardSchema& c) {
    return static_cast<uint32_t>(c.part.count("processors", {1, 4096}));
}

AssociationOptions association_options(const ExportSchema& e) {
    const std::string scope =
        e.stack.one_of("association", {"none", "remote-port", "remote-machine"});
    return {scope == "remote-port"      ? AssociationScope::remote_port
            : scope == "remote-machine" ? AssociationScope::remote_machine
                                        : AssociationScope::none,
            e.stack.duration("per_answer"), e.stack.fraction("link_share")};
}
bool runs_on_card(const ExportSchema& e) {
    return e.stack.one_of("runs_on", {"cores", "card"}) == "card";
}
uint32_t contexts_per_volume(const ExportSchema& e) {
    return static_cast<uint32_t>(e.stack.count("contexts_per_volume", {1, 1024}));
}
PathTransport path_transport(Protocol p) {
    if (is_nvme(p)) return PathTransport::nvme;
    return p == Protocol::fcp ? PathTransport::fc : PathTransport::iscsi;
}

} // namespace storlab
