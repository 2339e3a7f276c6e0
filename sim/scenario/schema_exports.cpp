// Volumes of an array, and the ports and protocol they are exported by.
#include "sim/scenario/schema.hpp"
#include <algorithm>
#include <array>

namespace storlab {

namespace {
struct ProtocolFacts {
    std::string_view name;
    bool nvme, rdma;
    bool fibre_channel; // otherwise Ethernet, or InfiniBand too where it is RDMA
    std::string_view usual_stack;
};
constexpr std::array<ProtocolFacts, 6> protocols{{
    {"fcp", false, false, true, "scst-target"},
    {"fc-nvme", true, false, true, "linux-nvmet-target"},
    {"nvme-tcp", true, false, false, "linux-nvmet-target"},
    {"nvme-rdma", true, true, false, "linux-nvmet-target"},
    {"iscsi", false, false, false, "linux-lio-iscsi-target"},
    {"iser", false, true, false, "linux-lio-iscsi-target"},
}};
const ProtocolFacts& facts(Protocol p) { return protocols[static_cast<size_t>(p)]; }

std::vector<std::string> protocol_names() {
    std::vector<std::string> names;
    for (const ProtocolFacts& p : protocols) names.emplace_back(p.name);
    return names;
}
std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> all;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(' ', at), text.size());
        if (end > at) all.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return all;
}

Bytes capacity_of(const ArraySchema& a, const Scenario& s) {
    if (a.drives.size() < Layout::least_members(a.level) || a.drives.size() > 63) return {};
    Bytes smallest = Bytes(INT64_MAX);
    for (const std::string& d : a.drives)
        if (const DriveSchema* drive = s.drive(d); drive && drive->part)
            smallest = std::min(smallest, drive->part.size("capacity"));
    // Limits of check_values, which says what is wrong beyond them.
    if (smallest < Bytes::mib(1) || smallest > Bytes::gib(1 << 20)) return {};
    const Layout layout(a.level, static_cast<uint32_t>(a.drives.size()),
                        static_cast<uint32_t>(a.chunk / Bytes(4096)),
                        static_cast<uint64_t>(smallest / Bytes(4096)));
    return Bytes(4096) * static_cast<int64_t>(layout.blocks());
}

// One key of volumes: so many of one size, or of an equal share of what the others leave.
struct VolumeGroup {
    std::string name;
    Node size_node;
    int64_t count = 1;
    bool numbered = false;
    Bytes size;
    SourcePlace place;
};

std::string what_carries(Protocol protocol) {
    return facts(protocol).fibre_channel ? "ports of Fibre Channel"
           : facts(protocol).rdma        ? "ports of network cards with RDMA"
                                         : "ports of Ethernet";
}

Part read_stack(Fields& f, const Catalogue& catalogue, Protocol protocol, const ArraySchema& a,
                const Node& node, Scenario& s) {
    const Node is = f.optional("is");
    const std::string usual(facts(protocol).usual_stack);
    if (!is)
        s.assumptions.push_back(
            {a.name + "/export/is", usual, "assumed", "the scenario names none", {}});
    Part stack =
        is ? find_part(catalogue, is, "target-stack") : catalogue.find(usual, node.place());
    stack.override_from(f);
    if (!stack) return stack;
    const std::vector<std::string> spoken = words(stack.text("protocols"));
    if (std::find(spoken.begin(), spoken.end(), to_string(protocol)) != spoken.end()) return stack;
    std::string list;
    for (const std::string& p : spoken) list += (list.empty() ? "" : ", ") + p;
    (is ? is : node)
        .complain(in_quotes(stack.name()) + " does not speak " + std::string(to_string(protocol)) +
                  "; it speaks " + list);
    return stack;
}

void check_ports(const Node& node, const ArraySchema& a, const ExportSchema& e, const Scenario& s) {
    const bool on_card = e.stack && e.stack.text("runs_on") == "card";
    const MachineSchema& m = *s.machine(a.machine);
    std::vector<std::string> wrong, loose, no_dpu;
    for (const CardSchema& c : m.cards)
        for (const PortSchema& p : c.ports) {
            if (std::find(e.ports.begin(), e.ports.end(), p.path) == e.ports.end()) continue;
            if (c.part && !carries(c, p, e.protocol)) wrong.push_back(p.path);
            else if (!is_cabled(s, p.path)) loose.push_back(p.path);
            if (on_card && c.kind != CardKind::dpu) no_dpu.push_back(p.path);
        }
    const auto first_of = [](const std::vector<std::string>& ports) {
        return "port " + in_quotes(ports.front()) +
               (ports.size() == 1 ? "" : " (and " + std::to_string(ports.size() - 1) + " more)");
    };
    if (!wrong.empty())
        node.complain(std::string(to_string(e.protocol)) + " goes over " +
                      what_carries(e.protocol) + "; " + first_of(wrong) + " is none");
    if (!loose.empty() && s.cables_sound)
        node.complain("no cable is in " + first_of(loose) + ", which exports " + in_quotes(a.name));
    if (!no_dpu.empty())
        node.complain(in_quotes(e.stack.name()) + " runs on a card of kind dpu; " +
                      first_of(no_dpu) + " is on none");
}
} // namespace

std::string_view to_string(Protocol p) { return facts(p).name; }
bool is_nvme(Protocol p) { return facts(p).nvme; }
bool is_rdma(Protocol p) { return facts(p).rdma; }

bool carries(const CardSchema& c, const PortSchema& p, Protocol protocol) {
    if (p.speeds.empty()) return true; // complained about
    const FabricKind kind = p.speeds.front()->kind;
    const ProtocolFacts& f = facts(protocol);
    if (f.fibre_channel) return kind == FabricKind::fibre_channel;
    if (!f.rdma) return kind == FabricKind::ethernet;
    return kind == FabricKind::infiniband ||
           (kind == FabricKind::ethernet && c.kind == CardKind::nic && c.part.flag("rdma"));
}

VolumeExtent extent_of(const VolumeSchema& v, const ArraySchema& a, uint64_t blocks,
                       uint64_t unit) {
    const auto bound = [&](Bytes at) {
        const auto share = static_cast<unsigned __int128>(blocks) *
                           static_cast<uint64_t>(at.count()) /
                           static_cast<uint64_t>(a.capacity.count());
        return static_cast<uint64_t>(share) / unit * unit;
    };
    const uint64_t first = bound(v.offset), end = bound(v.offset + v.size);
    return {first, end - first};
}

namespace {
constexpr Bytes least_volume = Bytes::mib(1);

// False, with a complaint, beyond the most volumes there may be.
bool read_groups(const Node& node, const ArraySchema& a, std::vector<VolumeGroup>& groups) {
    constexpr int64_t most = 4096; // of an array
    int64_t count = 0;
    for (const Node::Entry& e : node.named()) {
        VolumeGroup g{e.key, {}, 1, false, {}, e.key_place};
        if (e.value.kind() != Node::Kind::null) {
            Fields f = e.value.map();
            const Node n = f.optional("count");
            g.numbered = static_cast<bool>(n);
            g.count = n.as_count({1, most}, 1);
            g.size_node = f.optional("size");
            f.finish();
        }
        count += g.count;
        if (count > most)
            return e.value.complain("an array takes at most " + std::to_string(most) + " volumes"),
                   false;
        if (g.size_node) g.size = g.size_node.as_size(least_volume);
        groups.push_back(std::move(g));
    }
    if (groups.empty()) return node.complain("volumes of '" + a.name + "' names none"), false;
    return true;
}

// The share of each volume without a size; none, with a complaint, if sizes do not fit.
std::optional<Bytes> share_left(const Node& node, const ArraySchema& a,
                                const std::vector<VolumeGroup>& groups) {
    Bytes sized;
    int64_t unsized = 0;
    const std::string holds = in_quotes(a.name) + " holds " + format_size(a.capacity);
    for (const VolumeGroup& g : groups) {
        if (!g.size_node) unsized += g.count;
        else if (g.size < least_volume)
            return g.size_node.complain("a volume has at least " + format_size(least_volume)),
                   std::nullopt;
        else if (g.size > a.capacity)
            return g.size_node.complain("a volume of " + format_size(g.size) +
                                        " is too large: " + holds),
                   std::nullopt;
        else if (g.count > (Bytes(INT64_MAX) - sized) / g.size) sized = Bytes(INT64_MAX);
        else sized += g.size * g.count;
    }
    if (sized > a.capacity)
        return node.complain("volumes take " + format_size(sized) + ", but " + holds), std::nullopt;
    if (unsized == 0) return Bytes(0);
    const Bytes share = (a.capacity - sized) / unsized;
    if (share >= least_volume) return share;
    return node.complain("volumes of given size take " + format_size(sized) + " and " + holds +
                         ": too little is left for " + std::to_string(unsized) + " more"),
           std::nullopt;
}
} // namespace

void read_volumes(const Node& node, ArraySchema& a, const Scenario& s) {
    a.capacity = capacity_of(a, s);
    if (!node) return;
    std::vector<VolumeGroup> groups;
    if (!read_groups(node, a, groups)) return;
    std::optional<Bytes> share;
    if (a.capacity > Bytes(0)) share = share_left(node, a, groups); // otherwise it has mistakes
    Bytes at;
    for (const VolumeGroup& g : groups)
        for (int64_t i = 0; i < g.count; i++) {
            // Volumes that do not fit are there all the same, for what is said of their names.
            const Bytes size = !share ? least_volume : g.size_node ? g.size : *share;
            const std::string path = a.name + "/" + g.name;
            a.volumes.push_back(
                {g.numbered ? path + "/" + std::to_string(i) : path, at, size, g.place});
            at += size;
        }
}

void read_export(const Node& node, const Catalogue& catalogue, ArraySchema& a, Scenario& s) {
    if (!node) return;
    Fields f = node.map();
    ExportSchema e;
    e.place = node.place();
    const Node protocol = f.required("protocol");
    const std::vector<std::string> names = protocol_names();
    const std::string name = protocol.as_one_of(names, names.front());
    e.protocol = static_cast<Protocol>(std::find(names.begin(), names.end(), name) - names.begin());
    const MachineSchema& m = *s.machine(a.machine);
    std::vector<std::string> ports;
    for (const CardSchema& c : m.cards)
        for (const PortSchema& p : c.ports) ports.push_back(p.path.substr(m.name.size() + 1));
    const Node at = f.required("ports");
    if (at && ports.empty())
        at.complain("machine " + in_quotes(m.name) +
                    " has no ports: give it a card of kind hba, "
                    "nic or dpu");
    else if (at) e.ports = select_names(at.as_patterns(), ports, "port", *at.complaints());
    if (at.is_sequence() && at.items().empty()) at.complain("an export needs ports");
    for (std::string& p : e.ports) p = m.name + "/" + p;
    e.stack = read_stack(f, catalogue, e.protocol, a, node, s);
    f.finish();
    for (const ArraySchema& other : s.arrays)
        if (other.machine == a.machine && other.exported && other.exported->stack && e.stack &&
            other.exported->stack.name() != e.stack.name())
            node.complain("'" + a.machine + "' exports " + in_quotes(other.name) + " by " +
                          in_quotes(other.exported->stack.name()) +
                          ": a machine runs one target stack");
    if (protocol.is_scalar() &&
        std::find(names.begin(), names.end(), protocol.as_text()) != names.end())
        check_ports(at, a, e, s);
    a.exported = std::move(e);
}

} // namespace storlab
