// Every value that a run will read of a part is read once when the scenario is, so that a wrong one
// is reported with its place and nothing is built from it. Limits are wide: beyond them no such
// part exists, and a model would divide by nothing or run out of the clock.
#include "sim/scenario/check_values.hpp"
#include "sim/scenario/build.hpp"
#include "sim/scenario/build_fabric.hpp"

namespace storlab {

namespace {
constexpr Duration longest = Duration::s(1); // of one step of an I/O
const Rate slowest = Rate::bytes_per_second(1e6), fastest = Rate::bytes_per_second(1e15);
} // namespace

void complain_about(const Part& part, std::string_view value, const std::string& what) {
    part.node(value).complain(std::string(value) + " " + what);
}
void check_duration(const Part& part, std::string_view value) {
    if (part.duration(value) > longest)
        complain_about(part, value, "is more than " + format_duration(longest));
}
void check_cost(const Part& part, std::string_view value, Hertz clock) {
    if (part.cost(value, clock) > longest)
        complain_about(part, value, "takes more than " + format_duration(longest));
}
void check_rate(const Part& part, std::string_view value) {
    const Rate r = part.rate(value);
    if (r < slowest || r > fastest) complain_about(part, value, "must be 1MB/s to 1PB/s");
}
void check_size(const Part& part, std::string_view value, Bytes unit, Bytes most) {
    const Bytes size = part.size(value);
    if (size < unit || size > most || size % unit != Bytes(0))
        complain_about(part, value,
                       "must be a multiple of " + format_size(unit) + " up to " +
                           format_size(most));
}
void check_slot(const Part& part, std::string_view value) {
    const Node node = part.node(value);
    if (!node) return; // missing, and complained about
    try {
        parse_slot(node.as_text(), node.place());
    } catch (const InputError& error) { node.complaints()->add(error); }
}
bool is_clock(Hertz clock) { return clock.value >= 1e6 && clock.value <= 1e12; }

namespace {
constexpr auto complain = complain_about;

void check_server(const Part& p) {
    p.count("pcie_generation", {3, 5});
    check_size(p, "max_payload", Bytes(16), Bytes(4096));
    check_size(p, "read_completion", Bytes(16), Bytes(4096));
    if (p.fraction("dllp_share") > 0.9) complain(p, "dllp_share", "leaves nothing for data");
    check_duration(p, "hop");
}
void check_switch(const Part& p) {
    p.count("lanes", {1, 1024});
    p.count("generation", {3, 5});
    check_duration(p, "hop");
    check_slot(p, "link");
}
void check_socket_link(const Part& p) {
    p.count("socket_links", {1, 16});
    check_rate(p, "socket_link_rate");
    if (p.fraction("socket_link_payload") < 0.1)
        complain(p, "socket_link_payload", "must be 10% or more");
    check_duration(p, "socket_latency");
}
void check_cpu(const Part& p) {
    p.count("cores", {1, 1024});
    p.count("threads_per_core", {1, 8});
    const double yield = p.factor("smt_yield");
    if (yield < 1 || yield > 8) complain(p, "smt_yield", "must be 1 to 8");
}
// The clock, or any if it is no clock: then the costs are not looked at.
Hertz clock_of(const MachineSchema& m) {
    const Hertz clock = m.cpu.frequency("clock");
    if (is_clock(clock)) return clock;
    complain(m.cpu, "clock", "must be 1MHz to 1000GHz");
    return {};
}
void check_host(const Part& p, Hertz clock) {
    for (const char* op :
         {"load_submit", "load_reap", "block_submit", "drive_submit", "drive_complete"})
        check_cost(p, op, clock);
}
void check_drive(const Part& p) {
    const Bytes capacity = p.size("capacity");
    if (capacity < Bytes::mib(1) || capacity > Bytes::gib(1 << 20))
        complain(p, "capacity", "must be 1MiB to 1PiB");
    const Bytes raw = p.size("raw_capacity");
    if (raw < capacity || raw / 16 > capacity)
        complain(
            p, p.values().find("capacity")->second.from == "scenario" ? "capacity" : "raw_capacity",
            "does not fit: raw_capacity is 1 to 16 times the capacity");
    p.count("channels", {1, 1024});
    p.count("dies", {1, 65535});
    p.count("planes", {1, 64});
    p.count("program_pages", {1, 64});
    p.count("block_pages", {1, 1 << 20});
    check_size(p, "page", Bytes(4096), Bytes::kib(256));
    check_size(p, "map_page", Bytes(4096), Bytes(4096));
    check_size(p, "buffer", Bytes(4096), Bytes::gib(16));
    for (const char* step : {"t_read", "t_program", "t_erase", "t_suspend", "command_read",
                             "command_write", "write_ack"})
        check_duration(p, step);
    check_rate(p, "channel_rate");
    check_rate(p, "backend_rate");
    check_slot(p, "host_link");
}
void check_card(const Part& p, Hertz clock) {
    check_duration(p, "round");
    check_size(p, "piece", Bytes(4096), Bytes::mib(64));
    check_cost(p, "card_submit", clock);
    check_cost(p, "card_driver", clock);
    p.count("driver_threads", {1, 1024});
    check_slot(p, "link");
}
void check_engine(const Part& p, Hertz clock) {
    for (const char* op : {"raid_read_chunk", "raid_write", "raid_write_page", "raid_lock_chunk",
                           "raid_lock_stripe", "raid_pass", "raid_member_io"})
        check_cost(p, op, clock);
    check_rate(p, "raid_parity");
    p.count("workers", {1, 1024});
    for (const char* step : {"wake_up", "hand_over_same_socket", "hand_over_other_socket"})
        check_duration(p, step);
}
} // namespace

void check_values(const Scenario& s) {
    std::map<std::string, Hertz> clocks;
    for (const MachineSchema& m : s.machines) {
        if (m.server) check_server(m.server);
        if (m.cpu) check_cpu(m.cpu);
        if (m.cpu && m.sockets > 1) check_socket_link(m.cpu);
        for (const SwitchSchema& w : m.switches)
            if (w.part) check_switch(w.part);
        const Hertz clock = clocks[m.name] = m.cpu ? clock_of(m) : Hertz{};
        if (m.host && clock.value > 0) check_host(m.host, clock);
        for (const CardSchema& c : m.cards)
            if (c.part && c.kind == CardKind::raid && clock.value > 0) check_card(c.part, clock);
        std::string group; // the drives of a group share their part
        for (const DriveSchema& d : m.drives) {
            const std::string of = d.path.substr(0, d.path.rfind('/'));
            if (d.part && of != group) check_drive(d.part);
            group = of;
        }
    }
    for (const ArraySchema& a : s.arrays)
        if (const Hertz clock = clocks[a.machine]; a.engine && clock.value > 0)
            check_engine(a.engine, clock);
    check_fabric_values(s);
}

} // namespace storlab
