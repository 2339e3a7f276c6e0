#include "sim/scenario/wiring.hpp"
#include "models/pcie/link.hpp"
#include "sim/scenario/build_fabric.hpp"
#include "sim/scenario/findings.hpp"
#include <algorithm>
#include <set>

namespace storlab {

namespace {
using Paths = std::vector<std::string>;

Rate per(double bytes, Duration time) {
    return time > Duration{} ? Rate::bytes_per_second(bytes / time.in_seconds()) : unlimited;
}

// The least of a drive's stations, under its name.
void limit_drive(Thing& thing, const DriveSchema& d, const SsdOptions& o, const Traffic& t) {
    const auto least = [&](Rate rate, const char* station) {
        if (rate >= thing.limit) return;
        thing.limit = rate;
        thing.limit_name = d.path + "/" + station;
    };
    const auto block = static_cast<double>(t.block.count());
    if (t.writes) {
        // Flash itself is slower for a while than the buffer before it: no limit of a short time.
        const double page = 1 / o.backend_rate.in_bytes_per_second();
        const double command = block > 0 ? o.command_write.in_seconds() / block : 0;
        least(Rate::bytes_per_second(1 / (page + command)), "controller");
        return;
    }
    if (block > 0) least(per(block, o.command_read), "controller");
    if (!t.from_flash || d.state == SsdState::fresh) return;
    least(o.channel_rate.scaled(o.channels), "channels");
    const double sense = static_cast<double>(o.flash_page.count()) * o.planes;
    least(per(block > 0 ? std::min(block, sense) : sense, o.nand.read).scaled(o.dies), "dies");
}

void add_machine(Graph& g, const MachineSchema& m, const Traffic& t) {
    g.add({m.name, ThingKind::machine, unlimited, {}});
    const auto plug = [&](const std::string& path, const char* name, const PcieOptions& options,
                          const std::string& behind) {
        const PcieLink link(options);
        g.connect({join_path(path, name), path, join_path(m.name, behind), link.write_rate(),
                   link.read_rate()});
    };
    for (const SwitchSchema& s : m.switches) {
        const std::string path = join_path(m.name, s.name);
        g.add({path, ThingKind::pcie_switch, unlimited, {}});
        plug(path, "uplink", uplink_options(m, s), {});
    }
    for (const CardSchema& c : m.cards) {
        const std::string path = join_path(m.name, c.name);
        Thing card{path, ThingKind::card, unlimited, {}};
        if (c.kind != CardKind::raid && t.block > Bytes(0)) {
            const AdapterOptions o = adapter_options(c); // one command or answer for each request
            card.limit = per(static_cast<double>(t.block.count()), o.per_command + o.per_message);
        }
        g.add(std::move(card));
        // The simulated card with ports has no PCIe: no bound of a load knows more than a run.
        if (t.load && c.kind != CardKind::raid)
            g.connect({join_path(path, "link"), path, m.name, unlimited, unlimited});
        else plug(path, "link", pcie_options(m, c.slot, c.behind), c.behind);
    }
    for (const DriveSchema& d : m.drives) {
        const SsdOptions o = ssd_options(d, m, {});
        Thing thing{d.path, ThingKind::drive, unlimited, {}};
        limit_drive(thing, d, o, t);
        g.add(std::move(thing));
        plug(d.path, "link", o.link, d.behind);
    }
}

// A part of an array (main/lun/3) is the array.
std::string thing_of(const Scenario& s, const std::string& target) {
    if (s.array(target) || s.drive(target)) return target;
    return target.substr(0, target.find('/'));
}
const std::string& machine_of(const Scenario& s, const std::string& target) {
    if (const ArraySchema* a = s.array(target)) return a->machine;
    for (const MachineSchema& m : s.machines)
        for (const DriveSchema& d : m.drives)
            if (d.path == target) return m.name;
    broken("a target of the scenario", __FILE__, __LINE__);
}
Paths machines_of(const Scenario& s, const Paths& targets) {
    Paths all;
    for (const std::string& t : targets) all.push_back(machine_of(s, t));
    return all;
}

// Bytes on the members for each byte of a write of whole stripes.
double written_for_each(const ArraySchema& a) {
    const Layout l(a.level, static_cast<uint32_t>(a.drives.size()), 1, 1);
    if (l.copies() > 1) return l.copies();
    return static_cast<double>(l.members()) / l.data_columns();
}
bool has_parity(const ArraySchema& a) {
    return a.level == RaidLevel::raid5 || a.level == RaidLevel::raid6;
}
// The card every byte written to the target has to enter, if there is one.
std::string card_of(const Scenario& s, const std::string& target) {
    const ArraySchema* const a = s.array(target);
    return a && has_parity(*a) && !a->card.empty() ? join_path(a->machine, a->card) : "";
}

// Limits of one kind and rate become one.
std::vector<BoundLimit> grouped(const std::vector<Cut::Limit>& limits) {
    std::vector<BoundLimit> groups;
    for (const Cut::Limit& l : limits) {
        const std::string group = group_of(l.name);
        const double rate = l.rate.in_bytes_per_second();
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const BoundLimit& g) {
            return group_of(g.name) == group && g.bytes_per_s == rate;
        });
        if (same == groups.end()) groups.push_back({l.name, 1, rate});
        else same->count++, same->name = group;
    }
    return groups;
}

class Ceiling {
public:
    Ceiling(const Scenario& s, const LoadSchema& l) : s_(s), load_(l) {
        for (const std::string& t : l.to)
            if (const std::string thing = thing_of(s, t);
                !std::count(targets_.begin(), targets_.end(), thing))
                targets_.push_back(thing);
        for (const LoadSchema& other : s.loads)
            for (const fio::Job& j : other.jobs) read_only_ &= !j.writes();
    }
    std::optional<BoundFlow> reads() const {
        Bytes largest, only;
        if (!sizes(false, largest, only)) return std::nullopt;
        const Graph g = wiring(s_, {false, largest, read_only_, &load_});
        return flow(g.min_cut(targets_, remote() ? load_.from : machines_of(s_, targets_)), 1,
                    only);
    }
    std::optional<BoundFlow> writes() const {
        Bytes largest, only;
        if (!sizes(true, largest, only)) return std::nullopt;
        std::optional<BoundFlow> fabric, drives;
        if (remote()) {
            const Graph g = wiring(s_, {true, largest, false, &load_});
            fabric = flow(g.min_cut(load_.from, machines_of(s_, targets_)), 1, only);
        }
        if (!together_on_parity()) drives = on_drives(largest, only);
        return fabric && (!drives || fabric->bytes_per_s < drives->bytes_per_s) ? fabric : drives;
    }

private:
    const Scenario& s_;
    const LoadSchema& load_;
    Paths targets_;         // things
    bool read_only_ = true; // the whole scenario

    bool remote() const { return load_.paths.has_value(); }
    std::optional<BoundFlow> on_drives(Bytes largest, Bytes only) const {
        // Commands of an array to its members may hold more than one request.
        const bool drives = std::none_of(targets_.begin(), targets_.end(),
                                         [&](const std::string& t) { return s_.array(t); });
        const Graph g = wiring(s_, {true, drives ? largest : Bytes(0), false, &load_});
        std::optional<BoundFlow> best = together(g, targets_, only),
                                 sum = BoundFlow{0, only, 1, {}};
        for (const std::string& target : targets_) {
            const auto one = together(g, {target}, only);
            if (!one) return best;
            sum->bytes_per_s += one->bytes_per_s;
            sum->carried = std::max(sum->carried, one->carried);
            for (const BoundLimit& l : one->cut) sum->cut.push_back(l);
        }
        return !best || sum->bytes_per_s < best->bytes_per_s * (1 - 1e-9) ? sum : best;
    }
    // Sequential clones (or machines) that start at one place write the same blocks at the same
    // time, and a line of a parity array passes on the last of such writes only: no ceiling is
    // known.
    bool together_on_parity() const {
        const fio::Job* first = nullptr;
        bool same = false;
        for (const fio::Job& j : load_.jobs) {
            if (!j.writes() || j.is_random()) continue;
            const auto& step = j.offset_increment;
            same |= j.numjobs > 1 && step.bytes == Bytes(0) && step.percent.value_or(0) == 0;
            same |= first && first->offset == j.offset;
            same |= load_.from.size() > 1 && !load_.split;
            first = &j;
        }
        return same && std::any_of(targets_.begin(), targets_.end(), [&](const std::string& t) {
                   const ArraySchema* const a = s_.array(t);
                   return a && has_parity(*a);
               });
    }
    // False if the load has nothing of that direction. only: 0 if sizes differ.
    bool sizes(bool writes, Bytes& largest, Bytes& only) const {
        bool any = false;
        for (const fio::Job& j : load_.jobs) {
            if (!(writes ? j.writes() : j.reads())) continue;
            const fio::BlockSizes& b = j.block.of(writes);
            const Bytes size = b.smallest() == b.largest() ? b.largest() : Bytes(0);
            only = any && only != size ? Bytes(0) : size;
            largest = std::max(largest, b.largest());
            any = true;
        }
        return any;
    }
    static std::optional<BoundFlow> flow(const Cut& cut, double carried, Bytes only) {
        if (cut.capacity == unlimited) return std::nullopt;
        return BoundFlow{cut.capacity.in_bytes_per_second() / carried, only, carried,
                         grouped(cut.limits)};
    }
    // Writes to all of these: through the drives, and through the card if all have to enter one.
    std::optional<BoundFlow> together(const Graph& g, const Paths& targets, Bytes only) const {
        double least = unlimited.in_bytes_per_second();
        Paths cards;
        for (const std::string& t : targets) {
            const ArraySchema* const a = s_.array(t);
            least = std::min(least, a ? written_for_each(*a) : 1);
            if (const std::string c = card_of(s_, t); !c.empty()) cards.push_back(c);
        }
        const Paths from = machines_of(s_, targets);
        auto best = flow(g.min_cut(from, targets), least, only);
        if (cards.size() < targets.size()) return best;
        const auto card = flow(g.min_cut(from, cards), 1, only);
        return card && (!best || card->bytes_per_s < best->bytes_per_s) ? card : best;
    }
};
} // namespace

Graph wiring(const Scenario& s, const Traffic& t) {
    Graph g;
    for (const MachineSchema& m : s.machines) add_machine(g, m, t);
    for (const ArraySchema& a : s.arrays) {
        g.add({a.name, ThingKind::array, unlimited, {}});
        for (const std::string& d : a.drives) // one way: no data flows from drive to drive
            g.connect({a.name + " on " + d, a.name, d, t.writes ? Rate{} : unlimited,
                       t.writes ? unlimited : Rate{}});
        for (const VolumeSchema& v : a.volumes) {
            g.add({v.path, ThingKind::target, unlimited, {}});
            g.connect({v.path + " of " + a.name, v.path, a.name, t.writes ? Rate{} : unlimited,
                       t.writes ? unlimited : Rate{}});
        }
    }
    add_fabric(g, s, t);
    return g;
}

std::vector<BoundResult> bounds_of(const Scenario& s) {
    std::vector<BoundResult> all;
    for (const LoadSchema& l : s.loads) {
        const Ceiling ceiling(s, l);
        all.push_back({l.name, ceiling.reads(), ceiling.writes()});
    }
    return all;
}

} // namespace storlab
