#include "sim/scenario/build.hpp"
#include "sim/scenario/build_fabric.hpp"
#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace storlab {

namespace {
constexpr uint64_t most_blocks =
    4'200'000;                          // of all drives together: some 120 MB of sketches and maps
constexpr uint64_t least_blocks = 4096; // of a drive: below this a slice is no likeness

Duration cost(const Part& part, std::string_view name, Hertz clock) {
    return part ? part.cost(name, clock) : Duration{};
}
void set(PriceList& prices, Operation op, Duration each) {
    prices[static_cast<size_t>(op)].each = each;
}
} // namespace

uint64_t slice_blocks(const DriveSchema& d, const Slice& slice) {
    const Bytes capacity = d.part.size("capacity");
    const uint64_t bytes = static_cast<uint64_t>(capacity.count()) / slice.scale;
    // Whole map pages, whatever the sector.
    return bytes / 4096 * (4096 / static_cast<uint64_t>(slice.sector.count()));
}

uint64_t choose_scale(const Scenario& s) {
    uint64_t blocks = 0, smallest = ~uint64_t{0};
    for (const MachineSchema& m : s.machines)
        for (const DriveSchema& d : m.drives) {
            const uint64_t b = slice_blocks(d, {1, s.run.sector});
            blocks += b;
            smallest = std::min(smallest, b);
        }
    uint64_t scale = 1;
    while (blocks / scale > most_blocks && smallest / (scale * 2) >= least_blocks) scale *= 2;
    // Many large writes in flight need room not to meet: see covered_by_writes. Half of what the
    // drives hold stands for the volumes.
    double in_flight = 0;
    for (const LoadSchema& l : s.loads)
        for (const fio::Job& j : l.jobs)
            if (j.writes() && j.is_random())
                in_flight += static_cast<double>(fio::effective_depth(j).total) *
                             static_cast<double>(j.block.write.largest().count());
    const double bytes =
        static_cast<double>(blocks) * static_cast<double>(s.run.sector.count()) / 2;
    while (scale > 1 && in_flight > most_covered * bytes / static_cast<double>(scale) &&
           blocks / (scale / 2) <= 4 * most_blocks)
        scale /= 2;
    return scale;
}

double covered_by_writes(const LoadSchema& l, const Scenario& s, uint64_t scale) {
    bool writes = false;
    Bytes largest, volumes;
    for (const fio::Job& j : l.jobs) {
        writes |= j.writes() && j.is_random();
        largest = std::max(largest, j.block.of(j.writes()).largest());
    }
    if (!writes || l.open) return 0;
    for (const std::string& target : l.to) volumes = volumes + s.size_of(target);
    return static_cast<double>(l.in_flight()) * static_cast<double>(largest.count()) *
           static_cast<double>(scale) / static_cast<double>(volumes.count());
}

Slice slice_of(const Scenario& s, uint32_t payload) {
    const Slice slice{s.run.scale ? s.run.scale : choose_scale(s), s.run.sector, payload};
    constexpr uint64_t fewest = 256;
    const SourcePlace at = s.machines.front().place;
    const std::string scale = "at scale " + std::to_string(slice.scale);
    uint64_t blocks = 0;
    for (const MachineSchema& m : s.machines)
        for (const DriveSchema& d : m.drives) {
            const uint64_t b = slice_blocks(d, slice);
            blocks += b;
            if (b < fewest || Bytes::kib(4) * static_cast<int64_t>(b) < d.aged_by * 16)
                throw InputError(d.place, scale + " a slice of this drive has only " +
                                              std::to_string(b) +
                                              " blocks; set a smaller run/scale");
        }
    for (const ArraySchema& a : s.arrays) {
        if (a.journal.empty()) continue;
        const uint64_t least = Journal::least_blocks(static_cast<uint32_t>(a.drives.size()));
        const uint64_t b = slice_blocks(*s.drive(a.journal), slice);
        if (b < least)
            throw InputError(a.journal_place, scale + " the journal has only " + std::to_string(b) +
                                                  " blocks; an array of " +
                                                  std::to_string(a.drives.size()) +
                                                  " drives takes " + std::to_string(least));
    }
    const auto memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    const double needed = static_cast<double>(blocks) * (payload == sketch_bytes ? 28 : 4);
    if (needed > memory * 0.8)
        throw InputError(at, scale + " the drives need " +
                                 format_size(Bytes(static_cast<int64_t>(needed))) +
                                 " of memory, too much for this machine; set a larger run/scale");
    return slice;
}

SsdOptions ssd_options(const DriveSchema& d, const MachineSchema& m, const Slice& slice) {
    const Part& p = d.part;
    SsdOptions o;
    o.blocks = slice_blocks(d, slice);
    o.block = slice.sector;
    o.payload = slice.payload;
    o.over_provisioning = static_cast<double>(p.size("raw_capacity").count()) /
                              static_cast<double>(p.size("capacity").count()) -
                          1;
    o.channels = static_cast<uint32_t>(p.count("channels", {1, 1024}));
    o.dies = static_cast<uint32_t>(p.count("dies", {1, 65535}));
    o.planes = static_cast<uint32_t>(p.count("planes", {1, 64}));
    o.flash_page = p.size("page");
    p.size("map_page"); // 4 KiB in every drive modelled
    o.program_pages = static_cast<uint32_t>(p.count("program_pages", {1, 64}));
    o.block_pages = static_cast<uint32_t>(p.count("block_pages", {1, 1 << 20}));
    o.nand = {p.duration("t_read"), p.duration("t_program"), p.duration("t_erase"),
              p.duration("t_suspend")};
    o.channel_rate = p.rate("channel_rate");
    o.backend_rate = p.rate("backend_rate");
    o.command_read = p.duration("command_read");
    o.command_write = p.duration("command_write");
    o.write_latency = p.duration("write_ack");
    const auto unit =
        static_cast<uint32_t>(o.flash_page / Bytes(4096)) * o.planes * o.program_pages;
    o.buffer_pages = std::max(static_cast<uint32_t>(p.size("buffer") / Bytes(4096)), unit);
    o.link = pcie_options(m, parse_slot(p.text("host_link"), d.place), d.behind);
    o.state = d.state;
    o.aged_by = d.aged_by;
    return o;
}

PcieOptions pcie_options(const MachineSchema& m, const Slot& slot, std::string_view behind) {
    PcieOptions o;
    const SwitchSchema* const s = m.pcie_switch(behind);
    const auto generation = static_cast<int>(s ? s->part.count("generation", {3, 5})
                                               : m.server.count("pcie_generation", {3, 5}));
    o.generation = std::min(generation, slot.generation); // a link trains to the slower end
    o.lanes = slot.lanes;
    o.max_payload = m.server.size("max_payload");
    o.read_completion = m.server.size("read_completion");
    o.dllp_share = m.server.fraction("dllp_share");
    o.hop = m.server.duration("hop");
    return o;
}

PcieOptions uplink_options(const MachineSchema& m, const SwitchSchema& s) {
    PcieOptions o = pcie_options(m, s.slot);
    o.generation = std::min(o.generation, static_cast<int>(s.part.count("generation", {3, 5})));
    o.hop = s.part.duration("hop");
    return o;
}

SocketLinkOptions socket_link_options(const MachineSchema& m) {
    if (m.sockets == 1) return {};
    const auto links = static_cast<double>(m.cpu.count("socket_links", {1, 16}));
    const Rate one = m.cpu.rate("socket_link_rate");
    return {m.sockets, one.scaled(links * m.cpu.fraction("socket_link_payload")),
            m.cpu.duration("socket_latency")};
}

ProcessorOptions processor_options(const MachineSchema& m) {
    return {m.sockets, static_cast<uint32_t>(m.cpu.count("cores", {1, 1024})),
            static_cast<uint32_t>(m.cpu.count("threads_per_core", {1, 8})),
            m.cpu.factor("smt_yield")};
}

PriceList host_prices(const MachineSchema& m, const Scenario& s) {
    const Hertz clock = m.cpu.frequency("clock");
    PriceList prices{};
    set(prices, Operation::load_submit, cost(m.host, "load_submit", clock));
    set(prices, Operation::load_reap, cost(m.host, "load_reap", clock));
    set(prices, Operation::block_submit, cost(m.host, "block_submit", clock));
    set(prices, Operation::drive_submit, cost(m.host, "drive_submit", clock));
    set(prices, Operation::drive_complete, cost(m.host, "drive_complete", clock));
    for (const CardSchema& c : m.cards)
        if (c.kind == CardKind::raid) {
            set(prices, Operation::card_submit, cost(c.part, "card_submit", clock));
            set(prices, Operation::card_driver, cost(c.part, "card_driver", clock));
        }
    if (m.has_ports()) add_initiator_prices(prices, m.host, clock);
    for (const ArraySchema& a : s.arrays)
        if (a.machine == m.name && a.exported && !runs_on_card(*a.exported))
            add_target_prices(prices, a.exported->stack, clock);
    for (const ArraySchema& a : s.arrays) {
        if (a.machine != m.name || !a.engine) continue;
        set(prices, Operation::raid_read_chunk, cost(a.engine, "raid_read_chunk", clock));
        set(prices, Operation::raid_write, cost(a.engine, "raid_write", clock));
        set(prices, Operation::raid_write_page, cost(a.engine, "raid_write_page", clock));
        set(prices, Operation::raid_lock_chunk, cost(a.engine, "raid_lock_chunk", clock));
        set(prices, Operation::raid_lock_stripe, cost(a.engine, "raid_lock_stripe", clock));
        set(prices, Operation::raid_pass, cost(a.engine, "raid_pass", clock));
        set(prices, Operation::raid_member_io, cost(a.engine, "raid_member_io", clock));
        prices[static_cast<size_t>(Operation::raid_parity)].ps_per_byte =
            1e12 / a.engine.rate("raid_parity").in_bytes_per_second();
    }
    return prices;
}

uint32_t driver_threads(const ArraySchema& a, const Scenario& s) {
    for (const CardSchema& c : s.machine(a.machine)->cards)
        if (c.name == a.card)
            return static_cast<uint32_t>(c.part.count("driver_threads", {1, 1024}));
    return 1;
}

PriceList card_prices(const CardSchema& c) {
    PriceList prices{};
    const Duration round = c.part.duration("round");
    set(prices, Operation::raid_pass, round);
    set(prices, Operation::raid_parity, round);
    return prices;
}

RaidOptions raid_options(const ArraySchema& a, const Scenario& s, const Slice& slice) {
    RaidOptions o;
    o.level = a.level;
    o.chunk_blocks = static_cast<uint32_t>(a.chunk / slice.sector);
    o.stripes = a.stripes;
    o.reads_through_parity = a.reads_through_parity;
    o.consistency = a.consistency;
    // As many regions as at full size, but none smaller than a chunk.
    const auto chunks = static_cast<uint64_t>(a.bitmap_region / a.chunk) / slice.scale;
    if (a.bitmap_region > Bytes(0))
        o.bitmap_region = o.chunk_blocks * static_cast<uint32_t>(std::max<uint64_t>(1, chunks));
    if (a.card.empty()) return o;
    o.through_engine = true;
    for (const CardSchema& c : s.machine(a.machine)->cards)
        if (c.name == a.card)
            o.piece_blocks = static_cast<uint32_t>(c.part.size("piece") / slice.sector);
    return o;
}

HandOver hand_over(const ArraySchema& a) {
    return {a.engine.duration("hand_over_same_socket"),
            a.engine.duration("hand_over_other_socket")};
}

std::vector<Assumption> assumptions_of(const Scenario& s, const Slice& slice) {
    std::vector<Assumption> all = s.assumptions;
    if (s.run.scale == 0)
        all.push_back({"run/scale",
                       std::to_string(slice.scale),
                       "assumed",
                       "so that the drives fit in memory",
                       {}});
    std::vector<std::string> seen;
    for (const Part* p : s.parts()) {
        if (std::count(seen.begin(), seen.end(), p->name())) continue;
        seen.push_back(p->name());
        for (const auto& [name, value] : p->values())
            if (p->was_read(name) && value.from != "datasheet" && value.from != "measured")
                all.push_back({p->name() + "/" + name,
                               value.value.as_text(),
                               value.from,
                               value.from == "scenario" ? to_string(value.place)
                               : value.source.empty()   ? value.note
                                                        : value.source,
                               {}});
    }
    return all;
}

} // namespace storlab
