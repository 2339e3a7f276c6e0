// machines: servers with processors, cards and drives. arrays: RAID over drives of one machine.
#include "models/raid/journal.hpp"
#include "sim/scenario/schema.hpp"
#include <algorithm>
#include <array>

namespace storlab {

namespace {
constexpr int64_t most_drives = 1024, most_drives_of_machine = 4096; // of one group, of all
constexpr int64_t most_cards = 32;                                   // of one group

void read_cards(const Node& node, const Catalogue& catalogue, MachineSchema& m) {
    if (!node) return;
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        CardSchema c;
        c.name = e.key;
        c.place = e.key_place;
        c.part = find_card(catalogue, f.required("is"), c.kind);
        const Node count = f.optional("count");
        const int64_t n = count.as_count({1, most_cards}, 1);
        const Node slot = f.optional("slot"), behind = f.optional("behind");
        c.slot = read_slot(slot, c.part, e.key_place, m);
        c.behind = read_behind(behind, m);
        if (behind && c.slot.names_socket)
            slot.complain("a card behind a switch is on the switch's socket: leave the socket out");
        c.part.override_from(f);
        f.finish();
        for (int64_t i = 0; i < n; i++) {
            m.cards.push_back(c);
            if (count) m.cards.back().name += "/" + std::to_string(i);
            add_ports(m.cards.back(), m.name);
        }
    }
}

void read_drives(const Node& node, const Catalogue& catalogue, MachineSchema& m,
                 Scenario& scenario) {
    if (!node) return;
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        Part part = find_part(catalogue, f.required("is"), "ssd");
        const Node count_node = f.optional("count");
        const int64_t count = count_node.as_count({1, most_drives}, 1);
        const Node state_node = f.optional("state");
        const std::string state = state_node.as_one_of({"fresh", "filled", "steady"}, "steady");
        if (!state_node) // what moves writes most; and fresh drives answer reads without flash
            scenario.assumptions.push_back(
                {m.name + "/" + e.key + "/state",
                 "steady",
                 "assumed",
                 "the scenario gives none; drives write faster while new",
                 {}});
        const Node aged = f.optional("aged-by");
        Bytes aged_by = aged.as_size(Bytes(4096), "KiB");
        if (aged_by < Bytes(4096) || aged_by > Bytes::mib(16) ||
            aged_by % Bytes(4096) != Bytes(0)) {
            aged.complain("aged-by is the extent of the random writes before the run: a multiple "
                          "of 4KiB up to 16MiB");
            aged_by = Bytes(4096);
        }
        const Node socket = f.optional("socket"), behind = f.optional("behind");
        const auto on =
            static_cast<uint32_t>(socket.as_count({0, m.sockets - 1}, DriveSchema::any_socket));
        const std::string behind_switch = read_behind(behind, m);
        if (socket && behind)
            socket.complain("drives behind a switch are on the switch's socket: leave this out");
        part.override_from(f);
        f.finish();
        if (std::ssize(m.drives) + count > most_drives_of_machine) {
            count_node.complain("a machine takes at most " +
                                std::to_string(most_drives_of_machine) + " drives");
            return;
        }
        for (int64_t i = 0; i < count; i++) {
            const std::string path = m.name + "/" + e.key + "/" + std::to_string(i);
            m.drives.push_back({path, part,
                                state == "fresh"    ? SsdState::fresh
                                : state == "filled" ? SsdState::filled
                                                    : SsdState::steady,
                                aged_by, e.key_place, behind_switch, on});
        }
    }
}
} // namespace

void read_machines(const Node& node, const Catalogue& catalogue, Scenario& scenario) {
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        MachineSchema m;
        const Node count = f.optional("count");
        m.name = count ? e.key + "/0" : e.key;
        m.place = e.key_place;
        const Node is = f.required("is");
        m.server = find_part(catalogue, is, "server");
        const Node cpu = f.required("cpu");
        if (cpu) {
            Fields c = cpu.map();
            m.cpu = find_part(catalogue, c.required("is"), "cpu");
            const int64_t most = m.server ? m.server.count("sockets") : 8;
            m.sockets = static_cast<uint32_t>(c.optional("sockets").as_count({1, most}, most));
            m.cpu.override_from(c);
            c.finish();
        }
        const Node host = f.optional("host");
        if (host) {
            Fields h = host.map();
            m.host = find_part(catalogue, h.required("is"), "host-stack");
            m.host.override_from(h);
            h.finish();
        } else {
            m.host = catalogue.find("linux-host", e.key_place);
            scenario.assumptions.push_back(
                {e.key + "/host", "linux-host", "assumed", "the scenario names none", {}});
        }
        read_switches(f.optional("switches"), catalogue, m);
        read_cards(f.optional("cards"), catalogue, m);
        read_drives(f.optional("drives"), catalogue, m, scenario);
        m.interrupts = read_interrupts(f.optional("interrupts"), m);
        m.server.override_from(f);
        f.finish();
        settle_pcie(m, is, scenario);
        add_machines(std::move(m), count, e.key, scenario);
    }
    if (scenario.machines.empty() && node) node.complain("a scenario needs at least one machine");
}

namespace {
RaidLevel level_of(std::string_view level) {
    return level == "0"    ? RaidLevel::raid0
           : level == "1"  ? RaidLevel::raid1
           : level == "10" ? RaidLevel::raid10
           : level == "6"  ? RaidLevel::raid6
                           : RaidLevel::raid5;
}

// Drives of the machine, named from the machine on: "ssd/*".
std::vector<std::string> select_drives(const Node& node, const MachineSchema& m) {
    std::vector<std::string> names;
    for (const DriveSchema& d : m.drives) names.push_back(d.path.substr(m.name.size() + 1));
    std::vector<std::string> found =
        select_names(node.as_patterns(), names, "drive", *node.complaints());
    for (std::string& n : found) n = m.name + "/" + n;
    return found;
}

void read_engine(const Node& node, const Catalogue& catalogue, const MachineSchema& m,
                 ArraySchema& a, Scenario& scenario) {
    constexpr std::string_view software = "raid-engine";
    const std::string name = node.as_text("md");
    for (const CardSchema& c : m.cards) {
        if (c.name != name) continue;
        if (c.kind == CardKind::raid) a.card = name;
        else
            node.complain("card '" + name + "' is of kind " + std::string(to_string(c.kind)) +
                          "; an engine is a raid-card");
        return;
    }
    const std::string part = name == "md" ? "linux-md-raid" : name;
    const SourcePlace& place = node ? node.place() : a.place;
    const std::vector<std::string> parts = catalogue.names();
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
        std::vector<std::string> known{"md"};
        for (const CardSchema& c : m.cards)
            if (c.kind == CardKind::raid) known.push_back(c.name);
        for (const std::string& p : catalogue.names_of_kinds(std::array{software}))
            known.push_back(p);
        node.complaints()->add(place, "no engine " + in_quotes(name) + "; there is " +
                                          joined(known) + did_you_mean(name, known));
        return;
    }
    a.engine = catalogue.find(part, place);
    if (a.engine && !a.engine.require_kind(software, place)) a.engine = {};
    if (!node)
        scenario.assumptions.push_back(
            {a.name + "/raid/engine", "md", "assumed", "the scenario names none", {}});
}

// The journal is one drive of the machine with nothing else to do.
void read_journal(const Node& consistency, const Node& journal, const MachineSchema& m,
                  ArraySchema& a) {
    const bool parity = a.level == RaidLevel::raid5 || a.level == RaidLevel::raid6;
    if (!parity || a.drives.size() > Journal::most_columns)
        consistency.complain("a journal is for RAID 5 and 6 over at most " +
                             std::to_string(Journal::most_columns) + " drives");
    a.consistency = Consistency::journal;
    if (!journal)
        return consistency.complain("a journal is on a drive of its own: say which, as in "
                                    "'journal: ssd/7'");
    a.journal_place = journal.place();
    const std::vector<std::string> drives = select_drives(journal, m);
    if (drives.empty()) return;
    if (drives.size() > 1)
        return journal.complain("a journal is one drive; here are " +
                                std::to_string(drives.size()));
    a.journal = drives[0];
    for (const auto* taken : {&a.drives, &a.spares})
        if (std::count(taken->begin(), taken->end(), a.journal))
            journal.complain("'" + a.journal + "' is " +
                             (taken == &a.drives ? "a drive" : "a spare") +
                             " of the array; its journal takes another one");
}

// What the array has against a loss of power; a region of the bitmap is of a member, as md's is.
void read_consistency(Fields& f, const MachineSchema& m, ArraySchema& a) {
    const Node consistency = f.optional("consistency"), bitmap = f.optional("bitmap");
    const Node journal = f.optional("journal");
    const std::string kind = consistency.as_one_of({"none", "ppl", "journal"}, "none");
    const bool ppl = kind == "ppl";
    if (kind == "journal") read_journal(consistency, journal, m, a);
    else if (journal) journal.complain("a journal is kept with 'consistency: journal' only");
    constexpr size_t most_members = 33; // a log entry has 32 bits for data columns
    if (ppl && (a.level != RaidLevel::raid5 || a.drives.size() > most_members))
        consistency.complain("a partial parity log is for RAID 5 over at most " +
                             std::to_string(most_members) + " drives");
    else if (ppl) a.consistency = Consistency::ppl;
    const Bytes region = bitmap.as_size({}, "MiB");
    if (!bitmap) return;
    if (a.level == RaidLevel::raid0) bitmap.complain("RAID 0 has nothing a bitmap could speed up");
    else if (ppl) bitmap.complain("a bitmap is of no use beside a partial parity log");
    else if (kind == "journal") bitmap.complain("a bitmap is of no use beside a journal");
    else if (region < a.chunk || region % a.chunk != Bytes(0) || region > Bytes::gib(64))
        bitmap.complain("a region of the bitmap is a multiple of the chunk up to 64GiB");
    else a.bitmap_region = region;
}

void read_raid(const Node& node, const Catalogue& catalogue, const MachineSchema& m, ArraySchema& a,
               Scenario& scenario) {
    Fields f = node.map();
    const Node level = f.required("level");
    const std::string n = level.as_one_of({"0", "1", "5", "6", "10"}, "5");
    a.level = level_of(n);
    const Node drives = f.required("drives");
    if (drives) a.drives = select_drives(drives, m);
    const size_t least = Layout::least_members(a.level);
    if (drives && !a.drives.empty() && (a.drives.size() < least || a.drives.size() > 63))
        drives.complain("RAID " + n + " takes " + std::to_string(least) +
                        " to 63 drives; here are " + std::to_string(a.drives.size()));
    if (drives.is_sequence() && drives.items().empty()) drives.complain("an array needs drives");
    if (const Node spares = f.optional("spares")) {
        a.spares = select_drives(spares, m);
        if (a.level == RaidLevel::raid0 && !a.spares.empty())
            spares.complain("RAID 0 has nothing to fill a spare with");
    }
    for (const std::string& s : a.spares)
        if (std::count(a.drives.begin(), a.drives.end(), s))
            f.node().complain("'" + s + "' is both a drive and a spare of the array");
    const Node chunk = f.optional("chunk");
    a.chunk = chunk.as_size(Bytes::kib(64), "KiB");
    if (a.chunk < Bytes(4096) || a.chunk > Bytes::mib(64) || a.chunk % Bytes(4096) != Bytes(0)) {
        chunk.complain("chunk is a multiple of 4KiB up to 64MiB");
        a.chunk = Bytes::kib(64);
    }
    if (!chunk)
        scenario.assumptions.push_back(
            {a.name + "/raid/chunk", "64 KiB", "assumed", "the scenario gives none", {}});
    read_consistency(f, m, a);
    read_engine(f.optional("engine"), catalogue, m, a, scenario);
    const int64_t from_part =
        a.engine && a.engine.has("stripe_cache") ? a.engine.count("stripe_cache") : 8192;
    a.stripes = static_cast<uint32_t>(f.optional("stripe-cache").as_count({1, 1 << 20}, from_part));
    a.reads_through_parity = f.optional("reads-through-parity").as_bool(!a.card.empty());
    a.speed_min =
        f.optional("speed-limit-min").as_rate(Rate::bytes_per_second(1000.0 * 1024), "KiB/s");
    a.speed_max =
        f.optional("speed-limit-max").as_rate(Rate::bytes_per_second(200000.0 * 1024), "KiB/s");
    const Rate slowest = Rate::bytes_per_second(1e5);
    if (a.speed_min < slowest || a.speed_max < slowest)
        f.node().complain("speed limits of a rebuild are at least 100kB/s");
    if (a.speed_max < a.speed_min) f.node().complain("speed-limit-max is below speed-limit-min");
    a.engine.override_from(f);
    f.finish();
}
} // namespace

void read_arrays(const Node& node, const Catalogue& catalogue, Scenario& scenario) {
    if (!node) return;
    std::map<std::string, std::string> user_of; // drive -> array
    std::string user;
    const auto use = [&](const std::string& drive, const SourcePlace& place) {
        const auto [other, fresh] = user_of.emplace(drive, user);
        if (!fresh && other->second != user)
            node.complaints()->add(place, "drive '" + drive + "' is already in array '" +
                                              other->second + "'");
    };
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        ArraySchema a;
        a.name = user = e.key;
        a.place = e.key_place;
        const Node on = f.optional("on");
        a.machine = on.as_text(scenario.machines.size() == 1 ? scenario.machines[0].name : "");
        const MachineSchema* m = scenario.machine(a.machine);
        std::vector<std::string> names;
        for (const MachineSchema& candidate : scenario.machines) names.push_back(candidate.name);
        if (!m && on)
            on.complain("no machine '" + a.machine + "'" + did_you_mean(a.machine, names));
        else if (!m) f.node().complain("several machines: say which the array is on, with 'on'");
        if (const auto other = used_as(scenario, e.key))
            f.node().complain("'" + e.key + "' is already the name of " + *other);
        const Node raid = f.required("raid");
        if (m && raid) read_raid(raid, catalogue, *m, a, scenario);
        else f.take("raid");
        const Node volumes = f.optional("volumes"), exported = f.optional("export");
        if (m) read_volumes(volumes, a, scenario);
        if (m) read_export(exported, catalogue, a, scenario);
        f.finish();
        for (const auto* list : {&a.drives, &a.spares})
            for (const std::string& d : *list) use(d, f.node().place());
        if (!a.journal.empty()) use(a.journal, a.journal_place);
        if (m) scenario.arrays.push_back(std::move(a));
    }
}

} // namespace storlab
