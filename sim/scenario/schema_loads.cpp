// loads: fio job files, or the same keys written in the scenario.
#include "sim/base/random.hpp"
#include "sim/scenario/schema.hpp"
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace storlab {

namespace {
namespace fs = std::filesystem;

std::optional<std::string> file_text(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > fio::max_file)
        return std::nullopt;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) return std::nullopt;
    return text.str();
}

fio::Surroundings surroundings(const fs::path& folder) {
    fio::Surroundings s;
    s.read_file = [folder](const std::string& name) { return file_text(folder / name); };
    s.variable = [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        if (!value) return std::nullopt;
        return value;
    };
    return s;
}

// A job file with the scenario's own keys added to the end of each job section, where they win.
struct JobText {
    std::string text;
    std::vector<SourcePlace>
        places; // of each line; an empty file name: of the job file, as counted there
};

void add_line(JobText& t, const std::string& line, const SourcePlace& place) {
    t.text += line + "\n";
    t.places.push_back(place);
}

JobText with_settings(const std::string& file, const std::string& text,
                      const std::vector<Node::Entry>& extra) {
    JobText t;
    const auto settings = [&] {
        for (const Node::Entry& e : extra)
            add_line(t, e.key + "=" + e.value.as_text(), e.value.place());
    };
    std::istringstream in(text);
    std::string line;
    bool in_job = false;
    for (int n = 1; std::getline(in, line); n++) {
        const size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string::npos && line[first] == '[') {
            if (in_job) settings();
            in_job = line.substr(first, 8) != "[global]";
        }
        add_line(t, line, {file, n, 0});
    }
    if (in_job) settings();
    return t;
}

JobText inline_job(const std::string& load, const SourcePlace& place,
                   const std::vector<Node::Entry>& keys) {
    JobText t;
    add_line(t, "[" + load + "]", place);
    for (const Node::Entry& e : keys) {
        const bool flag = e.value.kind() == Node::Kind::null;
        add_line(t, flag ? e.key : e.key + "=" + e.value.as_text(), e.value.place());
    }
    return t;
}

SourcePlace original(const JobText& t, const SourcePlace& p, const std::string& file) {
    if (p.file != file || p.line < 1 || static_cast<size_t>(p.line) > t.places.size()) return p;
    SourcePlace place = t.places[static_cast<size_t>(p.line) - 1];
    if (place.file == file) place.column = p.column; // a line of the job file itself
    return place;
}

// Keys that fio honours, and a load here does not.
void note_what_has_no_effect(const fio::Job& j, std::vector<std::string>& notes) {
    const auto note = [&](bool given, const char* key, const char* why) {
        if (given)
            notes.push_back(to_string(j.place) + ": fio key '" + key + "' has no effect here" +
                            why);
    };
    note(j.sync != fio::Sync::none, "sync", ": a write is durable when it is acknowledged");
    note(j.end_fsync, "end_fsync", "");
    note(j.thinktime_spin > Duration{}, "thinktime_spin", "");
    note(j.thinktime_iotime > Duration{}, "thinktime_iotime", "");
    note(j.rate_ignore_thinktime, "rate_ignore_thinktime", "");
    note(j.offload, "io_submit_mode", "; 'arrivals: open' makes the load an open one");
}

// What the job reader noticed, at the place where it was written.
void note_remark(const fio::Remark& r, const JobText& t, const std::string& file,
                 std::vector<std::string>& notes) {
    const SourcePlace place = original(t, r.where, file);
    const bool beside_file = t.places.front().file == file && place.file != file;
    std::string text = r.text.empty() ? "has no effect here" : r.text;
    if (beside_file && r.text == fio::given_twice) text = "holds here, not the one in " + file;
    notes.push_back(to_string(place) + ": fio key '" + r.key + "' " + text);
}

void parse_jobs(const JobText& t, const std::string& file, const fs::path& folder, const Node& node,
                LoadSchema& load, Scenario& scenario) {
    try {
        fio::JobFile parsed = fio::parse(t.text, file, surroundings(folder));
        for (const auto* remarks : {&parsed.ignored, &parsed.notes})
            for (const fio::Remark& r : *remarks) note_remark(r, t, file, scenario.notes);
        for (fio::Job& j : parsed.jobs) {
            if (scenario.run.until != Until::load && (j.runtime || j.io_size || j.number_ios > 0))
                scenario.notes.push_back(
                    to_string(original(t, j.place, file)) + ": job '" + j.name +
                    "' goes on until the run ends, whatever its runtime, io_size or "
                    "number_ios; 'until: load' lets the job end the run");
            j.place = original(t, j.place, file);
            note_what_has_no_effect(j, scenario.notes);
            if (!j.buffer_pattern.empty() && scenario.run.check)
                scenario.notes.push_back(to_string(j.place) +
                                         ": fio key 'buffer_pattern' has no effect while contents "
                                         "are checked; run/check: no writes the pattern");
            load.jobs.push_back(std::move(j));
        }
        if (load.jobs.empty()) node.complain("no job in " + file);
    } catch (const InputError& error) {
        for (const Complaint& c : error.complaints())
            node.complaints()->add(original(t, c.where, file), c.what);
    }
}

void read_jobs(const Node& node, LoadSchema& load, Scenario& scenario) {
    const fs::path folder = fs::path(scenario.file).parent_path();
    std::string name;
    std::vector<Node::Entry> keys;
    if (node.is_map()) {
        for (Node::Entry& e : node.entries()) {
            if (e.key == "file") name = e.value.as_text();
            else if (e.value.kind() == Node::Kind::null &&
                     std::isdigit(static_cast<unsigned char>(e.key[0]))) // bs: 4k,16k
                node.complaints()->add(e.key_place, in_quotes(e.key) +
                                                        " is no fio option; a value with a comma "
                                                        "is put in quotes");
            else {
                load.options.emplace_back(e.key, e.value.as_text());
                keys.push_back(std::move(e));
            }
        }
    } else name = node.as_text();
    if (name.empty()) {
        if (node.is_map())
            parse_jobs(inline_job(load.name, node.place(), keys), "fio", folder, node, load,
                       scenario);
        return;
    }
    const fs::path path = folder / name;
    const std::optional<std::string> text = file_text(path);
    if (!text) return node.complain("cannot read the fio job file '" + path.string() + "'");
    // The hash of the run must cover what the file says, not only its name.
    load.options.emplace_back("file", name);
    scenario.files_hash = mix(scenario.files_hash + hash_name(*text));
    parse_jobs(with_settings(path.string(), *text, keys), path.string(), folder, node, load,
               scenario);
}

// Times and rates that the clock can carry, and arrivals that do arrive one after the other.
void check_pace(const LoadSchema& load, const fio::Job& j, Complaints& complaints) {
    constexpr Duration longest = Duration::s(86400);
    for (const Duration d : {j.thinktime, j.startdelay, j.ramp_time})
        if (d > longest) complaints.add(j.place, "job '" + j.name + "' waits for more than 1 d");
    if (!load.open) return;
    constexpr double most = 1e9;
    for (const bool write : {false, true}) {
        if (write ? !j.writes() : !j.reads()) continue;
        const auto& rate = j.rate_iops.of(write);
        if (!rate)
            complaints.add(j.place, "an open load needs rate_iops: the rate of its arrivals");
        else if (rate->per_second() > most)
            complaints.add(j.place, "an open load arrives at most 1e9 times a second");
        if (!rate) return;
    }
}

// A test of empty drives looks better than any of data.
void note_fresh_drives(const LoadSchema& load, Scenario& s) {
    if (std::none_of(load.jobs.begin(), load.jobs.end(), [](auto& j) { return j.reads(); })) return;
    for (const std::string& name : load.to) {
        const ArraySchema* const a = s.array_of(name);
        for (const std::string& path : a ? a->drives : std::vector{name}) {
            const DriveSchema* const d = s.drive(path);
            if (!d || d->state != SsdState::fresh) continue;
            const std::string text = to_string(d->place) +
                                     ": these drives are fresh: reads of what was never written "
                                     "need no flash; with 'state: filled' they hold data";
            if (std::find(s.notes.begin(), s.notes.end(), text) == s.notes.end())
                s.notes.push_back(text);
        }
    }
}

// Regions that do not fit on what they are for, at full size.
void check_regions(const LoadSchema& load, const Scenario& s, Complaints& complaints) {
    for (size_t machine = 0; machine < load.from.size(); machine++) {
        const auto volumes = share_of(load, machine);
        for (const fio::Job& j : load.jobs)
            for (int64_t i = 0; i < j.numjobs && !volumes.empty(); i++) {
                const Bytes size = s.size_of(volumes[static_cast<size_t>(i) % volumes.size()]);
                if (size == Bytes()) continue; // it has mistakes of its own
                try {
                    fio::region_of(j, i, size);
                } catch (const InputError& error) {
                    for (const Complaint& c : error.complaints()) complaints.add(c.where, c.what);
                    return;
                }
            }
    }
}

// Sizes that the simulated or real volume cannot carry.
void check_jobs(LoadSchema& load, RunSchema& run, Complaints& complaints) {
    for (const fio::Job& j : load.jobs) {
        const auto misaligned = [&](Bytes sector) {
            for (const bool write : {false, true}) {
                if (write ? !j.writes() : !j.reads()) continue;
                const fio::BlockSizes& b = j.block.of(write);
                const Bytes align = j.blockalign.of(write);
                for (const Bytes size :
                     {b.low, b.high, align, j.hole, j.offset.bytes, j.offset_increment.bytes})
                    if (size % sector != Bytes(0)) return true;
                for (const fio::SizeShare& s : b.split)
                    if (s.size % sector != Bytes(0)) return true;
            }
            return false;
        };
        if (j.stonewall && &j != &load.jobs.front() && run.until != Until::load)
            complaints.add(j.place, "job '" + j.name +
                                        "' waits for those before it (stonewall), "
                                        "which end only with run/until: load");
        if (j.bs_unaligned || misaligned(Bytes(512)))
            complaints.add(j.place, "job '" + j.name +
                                        "' has sizes or offsets that are no multiple of 512 bytes, "
                                        "a drive's smallest sector");
        else if (misaligned(Bytes(4096))) {
            if (run.sector == Bytes(4096))
                complaints.add(j.place, "job '" + j.name +
                                            "' writes less than 4 KiB, but run/sector is 4KiB");
            run.sector = Bytes(512);
        }
        check_pace(load, j, complaints);
    }
}
} // namespace

namespace {
// Machines that each run the jobs; the only one if there is one.
std::vector<std::string> read_from(const Node& from, const Node& load, const Scenario& scenario) {
    std::vector<std::string> machines;
    for (const MachineSchema& m : scenario.machines) machines.push_back(m.name);
    if (from) return select_names(from.as_patterns(), machines, "machine", *from.complaints());
    if (machines.size() == 1) return machines;
    load.complain("several machines: say where the load runs, with 'from'");
    return {};
}

std::vector<std::string> targets_of(const Scenario& scenario) {
    std::vector<std::string> targets;
    for (const MachineSchema& m : scenario.machines)
        for (const DriveSchema& d : m.drives) targets.push_back(d.path);
    for (const ArraySchema& a : scenario.arrays) {
        targets.push_back(a.name);
        for (const VolumeSchema& v : a.volumes) targets.push_back(v.path);
    }
    return targets;
}

void check_targets(const Node& to, const LoadSchema& load, const Scenario& scenario) {
    for (const std::string& target : load.to)
        for (const ArraySchema& a : scenario.arrays) {
            if (a.name == target && !a.volumes.empty())
                to.complain("'" + target + "' is divided into volumes; aim at them, as '" +
                            a.volumes.front().path + "'");
            if (a.uses(target))
                to.complain("'" + target + "' belongs to array '" + a.name +
                            "': a load on the drive would overwrite the array; aim at '" + a.name +
                            "'");
        }
}

// CPUs that a job is pinned to must be there on every machine that runs it.
void check_cpus(const LoadSchema& load, const Scenario& scenario, Complaints& complaints) {
    for (const std::string& name : load.from) {
        const MachineSchema& m = *scenario.machine(name);
        if (!m.cpu) continue;
        const int64_t cpus =
            m.sockets * m.cpu.count("cores", {1, 1024}) * m.cpu.count("threads_per_core", {1, 8});
        for (const fio::Job& j : load.jobs) {
            if (j.cpus_allowed.empty() || j.cpus_allowed.back() < cpus) continue;
            complaints.add(j.place, "job '" + j.name + "' is pinned to CPU " +
                                        std::to_string(j.cpus_allowed.back()) + ", but '" + name +
                                        "' has " + std::to_string(cpus) + ", counted from 0");
            return;
        }
    }
}
} // namespace

void read_loads(const Node& node, const Catalogue& catalogue, Scenario& scenario) {
    for (const Node::Entry& e : node.named()) {
        Fields f = e.value.map();
        LoadSchema load;
        load.name = e.key;
        load.place = e.key_place;
        const Node from = f.optional("from");
        load.from = read_from(from, f.node(), scenario);
        const Node to = f.required("to");
        if (to.is_sequence() && to.items().empty()) to.complain("a load needs an array or a drive");
        if (to)
            load.to = select_names(to.as_patterns(), targets_of(scenario), "array or drive",
                                   *node.complaints());
        check_targets(to, load, scenario);
        read_sharing(f, from, to, load);
        read_paths(f, from, to, catalogue, load, scenario);
        load.open = f.optional("arrivals").as_one_of({"closed", "open"}, "closed") == "open";
        const Node jobs = f.required("fio");
        if (jobs) read_jobs(jobs, load, scenario);
        f.finish();
        check_jobs(load, scenario.run, *node.complaints());
        check_cpus(load, scenario, *node.complaints());
        check_regions(load, scenario, *node.complaints());
        note_fresh_drives(load, scenario);
        scenario.loads.push_back(std::move(load));
    }
    if (scenario.loads.empty() && node) node.complain("a scenario needs at least one load");
    if (scenario.run.sector == Bytes(0)) scenario.run.sector = Bytes(4096);
}

} // namespace storlab
