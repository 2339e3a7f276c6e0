// Values of cards with ports, switches and stacks: as check_values.cpp does for the rest. A machine
// without ports reads nothing of what a fabric costs it.
#include "sim/scenario/build.hpp"
#include "sim/scenario/build_fabric.hpp"
#include "sim/scenario/check_values.hpp"
#include <utility>

namespace storlab {

namespace {
void check_with_rate(const Part& p, const std::string& op, Hertz clock) {
    check_cost(p, op, clock);
    check_rate(p, op + "_rate");
}
void check_initiator(const Part& p, Hertz clock) {
    for (const char* op : {"path_select", "fabric_submit", "fabric_complete"})
        check_cost(p, op, clock);
    for (const char* op : {"pdu_send", "pdu_receive", "packet_receive"})
        check_with_rate(p, op, clock);
}

void check_card_with_ports(const CardSchema& c) {
    const Part& p = c.part;
    check_slot(p, "link");
    check_duration(p, "per_command");
    check_duration(p, "per_message");
    if (p.has("latency")) check_duration(p, "latency");
    check_duration(p, "coalesce");
    if (p.fraction("usable_share") < 0.01) complain_about(p, "usable_share", "must be 1% or more");
    if (c.kind == CardKind::hba) p.count("buffer_credits", {1, 65536});
    else {
        const Bytes mtu = p.size("mtu");
        if (mtu < Bytes(576) || mtu > Bytes(9600))
            complain_about(p, "mtu", "must be 576B to 9600B");
    }
    if (c.kind == CardKind::nic) p.flag("rdma");
    if (c.kind != CardKind::dpu) return;
    adapter_processors(c);
    check_duration(p, "adapter_command");
    check_duration(p, "adapter_write");
}

void check_network_switch(const Part& p) {
    check_duration(p, "latency");
    check_size(p, "buffer", Bytes(1), Bytes::gib(16));
    p.flag("lossless");
}

void check_stack(const ExportSchema& e, Hertz clock) {
    const Part& p = e.stack;
    p.text("protocols");
    contexts_per_volume(e);
    check_duration(p, "per_answer");
    if (association_options(e).link_share < 0.01)
        complain_about(p, "link_share", "must be 1% or more");
    // Cycles of a card's own processors are not the machine's.
    if (runs_on_card(e)) clock = {1e9};
    check_cost(p, "target_read", clock);
    check_cost(p, "target_write", clock);
    check_with_rate(p, "target_send", clock);
    check_with_rate(p, "target_receive", clock);
}

PathTransport transport_of(const LoadSchema& l, const Scenario& s) {
    for (const std::string& target : l.to)
        if (const ArraySchema* a = s.array_of(target); a && a->exported)
            return path_transport(a->exported->protocol);
    return PathTransport::fc;
}
} // namespace

void check_fabric_values(const Scenario& s) {
    std::string entry; // machines and cards of a group share their parts
    const auto seen = [&](const SourcePlace& place) {
        const std::string here = to_string(place);
        return std::exchange(entry, here) == here;
    };
    const auto clock_of = [](const MachineSchema* m) {
        const Hertz clock = m && m->cpu ? m->cpu.frequency("clock") : Hertz{};
        return is_clock(clock) ? clock : Hertz{};
    };
    for (const MachineSchema& m : s.machines) {
        if (seen(m.place)) continue;
        if (m.has_ports() && m.host && clock_of(&m).value > 0)
            check_initiator(m.host, clock_of(&m));
        for (const CardSchema& c : m.cards)
            if (c.part && c.kind != CardKind::raid && !seen(c.place)) check_card_with_ports(c);
    }
    for (const NetworkSwitchSchema& w : s.switches)
        if (w.part) check_network_switch(w.part);
    for (const ArraySchema& a : s.arrays)
        if (const Hertz clock = clock_of(s.machine(a.machine));
            a.exported && a.exported->stack && clock.value > 0)
            check_stack(*a.exported, clock);
    for (const LoadSchema& l : s.loads)
        if (l.paths && l.paths->part) multipath_options(l.paths->part, transport_of(l, s));
}

} // namespace storlab
