#include "sim/scenario/catalogue_text.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/build.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/text_lines.hpp"
#include "sim/scenario/wiring.hpp"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace storlab {

namespace {
// As written, without the quotes of a canonical scalar.
std::string setting(const PartValue& v) {
    return v.value.is_scalar() ? v.value.as_text() : v.value.canonical();
}

std::string state_text(const DriveSchema& d) {
    switch (d.state) {
    case SsdState::fresh: return "fresh";
    case SsdState::filled: return "filled";
    case SsdState::steady: break;
    }
    return "steady, aged by random writes of " + format_size(d.aged_by);
}

// name: of all machines like it.
void machine_text(std::string& out, const MachineSchema& m, const std::string& name) {
    const ProcessorOptions p = processor_options(m);
    put(out, "machine",
        {name + ": " + titled(m.server),
         fmt::format("{} x {}, {} threads at {:g} GHz", m.sockets, titled(m.cpu),
                     p.sockets * p.cores_per_socket * p.threads_per_core,
                     m.cpu.frequency("clock").value * 1e-9),
         m.host.name()});
    const auto at = [](const Slot& s, const std::string& behind) {
        const std::string link = fmt::format("x{} gen{}", s.lanes, s.generation);
        return behind.empty() ? fmt::format("{} socket {}", link, s.socket)
                              : link + " behind " + behind;
    };
    for (const SwitchSchema& s : m.switches)
        put(out, "  switch", {m.name + "/" + s.name + ": " + titled(s.part), at(s.slot, {})});
    for (size_t i = 0; i < m.cards.size();) { // a group was written in one place
        std::vector<const CardSchema*> group;
        const CardSchema& c = m.cards[i];
        for (; i < m.cards.size() && to_string(m.cards[i].place) == to_string(c.place); i++)
            group.push_back(&m.cards[i]);
        std::vector<std::string> pieces = card_text(name, group);
        pieces.push_back(at(c.slot, c.behind));
        put(out, "  card", pieces);
    }
    for (size_t i = 0; i < m.drives.size();) { // the drives of a group share their part
        std::vector<std::string> paths;
        const DriveSchema& d = m.drives[i];
        const std::string group = d.path.substr(0, d.path.rfind('/') + 1);
        for (; i < m.drives.size() && m.drives[i].path.starts_with(group); i++)
            paths.push_back(m.drives[i].path);
        put(out, "  drives",
            {ranges(paths) + ": " + titled(d.part),
             fmt::format("{} x {}", paths.size(), format_size(d.part.size("capacity"))),
             state_text(d)});
    }
}

void array_text(std::string& out, const ArraySchema& a, const Scenario& s) {
    Bytes smallest = Bytes(INT64_MAX);
    for (const std::string& d : a.drives)
        smallest = std::min(smallest, s.drive(d)->part.size("capacity"));
    const auto chunk = static_cast<uint32_t>(a.chunk / Bytes(4096));
    const Layout layout(a.level, static_cast<uint32_t>(a.drives.size()), chunk,
                        static_cast<uint64_t>(smallest / Bytes(4096)));
    const Bytes usable = Bytes(4096) * static_cast<int64_t>(layout.blocks());
    std::vector<std::string> pieces{
        a.name + ": " + level_text(a.level) + " over " + ranges(a.drives),
        "chunk " + format_size(a.chunk), "holds " + format_size(usable),
        a.card.empty() ? "by " + titled(a.engine) : "by card " + a.machine + "/" + a.card};
    if (!a.spares.empty()) pieces.push_back("spare " + ranges(a.spares));
    if (!a.journal.empty()) pieces.push_back("journal " + a.journal);
    if (a.reads_through_parity) pieces.push_back("reads go through the engine");
    put(out, "array", pieces);
    if (const std::string text = volumes_text(a); !text.empty()) put(out, "  volumes", {text});
    if (a.exported) put(out, "  export", export_text(a));
}

std::string access_text(const fio::Job& j) {
    constexpr std::string_view names[] = {"read", "write", "randread", "randwrite", "rw", "randrw"};
    std::string text(names[static_cast<size_t>(j.rw)]);
    if (j.reads() && j.writes()) text += fmt::format(" {}% reads", j.rwmixread);
    const auto sizes = [](const fio::BlockSizes& b) {
        const Bytes low = b.smallest(), high = b.largest();
        return low == high ? format_size(low) : format_size(low) + " to " + format_size(high);
    };
    const std::string first = sizes(j.block.of(!j.reads()));
    text += " " + first;
    if (j.reads() && j.writes() && sizes(j.block.write) != first)
        text += ", writes " + sizes(j.block.write);
    return text;
}

// What a job's clones keep to, or how I/Os arrive; nothing if they go as fast as they can.
std::string pace_text(const LoadSchema& l, const fio::Job& j) {
    std::vector<std::string> paces;
    for (const bool write : {false, true}) {
        if (write ? !j.writes() : !j.reads()) continue;
        const std::string what = write ? "writes" : "reads";
        if (const auto& rate = j.rate_iops.of(write))
            paces.push_back(format_count(rate->per_second()) + " " + what + " a second");
        if (const auto& rate = j.rate.of(write))
            paces.push_back(format_rate(*rate) + " of " + what);
    }
    if (paces.empty()) return {};
    return joined(paces, " and ") + (l.open ? " arrive" : " at most") + " for each clone" +
           (j.rate_process == fio::RateProcess::poisson ? ", Poisson" : "");
}

void load_text_of(std::string& out, const LoadSchema& l) {
    put(out, "load",
        {l.name + ": from " + ranges(l.from) + " to " + ranges(l.to) +
             (l.split ? ", each a share" : ""),
         l.open ? "open loop, I/Os arrive at their rate" : "closed loop"});
    if (l.paths) put(out, "  paths", paths_text(l));
    for (const fio::Job& j : l.jobs) {
        const fio::Depth depth = fio::effective_depth(j);
        std::vector<std::string> pieces{j.name + ": " + access_text(j),
                                        fmt::format("{} in flight = {} x {}", depth.total,
                                                    counted(j.numjobs, "clone"), depth.per_clone)};
        if (const std::string pace = pace_text(l, j); !pace.empty()) pieces.push_back(pace);
        put(out, "  job", pieces);
        for (const std::string& why : depth.reasons)
            put(out, "", {fmt::format("not {} each: {}", j.iodepth, why)});
    }
}

void run_text(std::string& out, const Scenario& s) {
    const RunSchema& r = s.run;
    std::string until;
    switch (r.until) {
    case Until::confident:
        until = fmt::format("until IOPS are known to ±{:g} %", r.confidence * 100);
        break;
    case Until::duration: until = "measures " + format_duration(r.duration); break;
    case Until::timeline:
        until = r.duration > Duration{}
                    ? "measures " + format_duration(r.duration)
                    : "until " + format_duration(r.settle) + " after the last event";
        break;
    case Until::load: until = "until the loads end"; break;
    }
    put(out, "run",
        {until,
         r.warm_up ? "warm-up " + format_duration(*r.warm_up)
         : r.until == Until::confident || r.until == Until::load ? "warm-up until no trend is left"
                                                                 : "no warm-up",
         fmt::format("seed {}", r.seed), "sectors of " + format_size(r.sector),
         r.check ? "contents of every read checked" : "contents NOT checked"});
    const Slice slice{r.scale ? r.scale : choose_scale(s), r.sector, sketch_bytes};
    uint64_t blocks = 0;
    for (const MachineSchema& m : s.machines)
        for (const DriveSchema& d : m.drives) blocks += slice_blocks(d, slice);
    const double held = static_cast<double>(blocks) * static_cast<double>(slice.sector.count());
    put(out, "scale",
        {slice.scale == 1 ? "1: drives at their full size"
                          : fmt::format("1/{} of every drive{}", slice.scale,
                                        r.scale ? "" : ", chosen so that the slice fits in memory"),
         fmt::format("{}B of drives simulated", format_count(held))});
    for (size_t i = 0; i < s.timeline.size(); i++) {
        const TimelineEvent& e = s.timeline[i];
        put(out, i == 0 ? "timeline" : "",
            {"at " + format_duration(e.at) + ": " + to_string(e.verb) + " " + e.target.text()});
    }
}

// What the reader assumed in words; the parts' values counted by where they come from.
void assumptions_text(std::string& out, const Scenario& s) {
    std::string label = "assumed";
    for (const Assumption& a : s.assumptions) {
        put(out, label, {a.path + " is " + a.value + ": " + a.source});
        label.clear();
    }
    label = "parts";
    std::vector<std::string> seen;
    for (const Part* p : s.parts()) {
        if (std::find(seen.begin(), seen.end(), p->name()) != seen.end()) continue;
        seen.push_back(p->name());
        std::map<std::string, size_t> by_origin;
        std::vector<std::string> pieces;
        for (const auto& [name, value] : p->values()) {
            if (value.from == "scenario") pieces.push_back(name + " " + setting(value) + " here");
            else by_origin[value.from]++;
        }
        for (const auto& [from, n] : by_origin) pieces.push_back(fmt::format("{} {}", n, from));
        if (!pieces.empty()) pieces.front() = p->name() + ": " + pieces.front();
        put(out, label, pieces);
        label.clear();
    }
}

Part known_part(const Catalogue& catalogue, const std::string& name, Complaints& complaints) {
    Part part = catalogue.find(name, {"storlab parts", 0, 0});
    complaints.throw_if_any();
    return part;
}

std::string list_of_parts(const Catalogue& catalogue, Complaints& complaints) {
    std::map<std::string, std::vector<Part>> by_kind;
    size_t widest = 0;
    for (const std::string& name : catalogue.names()) {
        const Part p = known_part(catalogue, name, complaints);
        by_kind[p.kind()].push_back(p);
        widest = std::max(widest, name.size());
    }
    std::string out;
    for (const auto& [kind, parts] : by_kind) {
        out += kind + '\n';
        for (const Part& p : parts)
            out += fmt::format("  {:<{}}  {}\n", p.name(), widest, p.title());
    }
    return out + "\nA part's values and their sources: storlab parts NAME\n";
}

std::string one_part(const Part& p) {
    std::array<size_t, 3> widths{5, 9, 4}; // of name, value, origin
    for (const auto& [name, v] : p.values()) {
        widths[0] = std::max(widths[0], name.size());
        widths[1] = std::max(widths[1], setting(v).size());
        widths[2] = std::max(widths[2], v.from.size());
    }
    const std::string indent(widths[0] + widths[1] + widths[2] + 6, ' ');
    std::string out = fmt::format("{}: {}, kind {}\n\n", p.name(), p.title(), p.kind());
    for (const auto& [name, v] : p.values()) {
        std::string line = fmt::format("{:<{}}  {:<{}}  {:<{}}  ", name, widths[0], setting(v),
                                       widths[1], v.from, widths[2]);
        std::string origin;
        const auto add = [&](std::string_view label, const std::string& text) {
            if (!text.empty())
                origin += fmt::format("{}{}{}", origin.empty() ? "" : "; ", label, text);
        };
        if (v.part != p.name()) add("inherited from ", v.part);
        add("", v.source);
        add("range ", v.range);
        std::string rows;
        for (const std::string& r : v.rows) rows += (rows.empty() ? "" : " ") + r;
        add("rows ", rows);
        add("residual ", v.residual);
        add("", v.note);
        size_t used = line.size();
        for (const std::string& word : words(origin)) {
            if (used + word.size() > screen_width && used > indent.size()) {
                line.pop_back();
                line += '\n' + indent;
                used = indent.size();
            }
            line += word + ' ';
            used += word.size() + 1;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    }
    if (!p.facts().empty()) out += "\nfacts, shown only: no model reads them\n";
    for (const PartFact& f : p.facts())
        out += fmt::format("  {}: {} ({}{})\n", f.fact, f.value,
                           f.part == p.name() ? "" : "of " + f.part + ": ", f.source);
    return out;
}
} // namespace

std::string describe(const Scenario& s) {
    std::string out = s.title + '\n';
    if (!s.about.empty()) put(out, "", words(s.about), " ");
    out += '\n';
    for (size_t i = 0; i < s.machines.size();) {
        const MachineSchema& m = s.machines[i];
        std::vector<std::string> names; // machines of a group were written in one place
        for (; i < s.machines.size() && to_string(s.machines[i].place) == to_string(m.place); i++)
            names.push_back(s.machines[i].name);
        machine_text(out, m, ranges(names));
    }
    switches_and_cables_text(out, s);
    for (const ArraySchema& a : s.arrays) array_text(out, a, s);
    for (const LoadSchema& l : s.loads) {
        load_text_of(out, l);
        redundancy_text(out, s, l);
    }
    for (const BoundResult& b : bounds_of(s))
        for (const std::string& sentence : in_words(b)) put(out, "bound", words(sentence), " ");
    run_text(out, s);
    assumptions_text(out, s);
    return out;
}

std::string describe_parts(const std::string& name) {
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue(parts_folder(), complaints);
    if (name.empty()) return list_of_parts(catalogue, *complaints);
    return one_part(known_part(catalogue, name, *complaints));
}

} // namespace storlab
