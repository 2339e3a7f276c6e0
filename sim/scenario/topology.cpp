#include "sim/scenario/topology.hpp"
#include "sim/base/text.hpp"
#include "sim/report/write_file.hpp"
#include "sim/scenario/findings.hpp"
#include "sim/scenario/text_lines.hpp"
#include "sim/scenario/wiring.hpp"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace storlab {

StationUse use_of(const RunResult& r) {
    StationUse use;
    for (const StationResult& s : r.stations) use.stations.emplace_back(s.name, s.utilisation);
    for (const CpuResult& c : r.cpu) use.stations.emplace_back(c.where, c.busy);
    use.binds = r.bottleneck.name;
    use.hash = r.run.hash;
    return use;
}

StationUse use_from_json(const std::string& text, const std::string& file) {
    try {
        const auto j = nlohmann::json::parse(text);
        StationUse use;
        for (const auto& s : j.at("stations"))
            use.stations.emplace_back(s.at("name").get<std::string>(),
                                      s.at("utilisation").get<double>());
        for (const auto& c : j.at("cpu"))
            use.stations.emplace_back(c.at("where").get<std::string>(), c.at("busy").get<double>());
        const auto& bottleneck = j.at("bottleneck");
        if (bottleneck.is_object() && bottleneck.contains("name") &&
            bottleneck.at("name").is_string())
            use.binds = bottleneck.at("name").get<std::string>();
        use.hash = j.at("run").at("hash").get<std::string>();
        return use;
    } catch (const nlohmann::json::parse_error& error) {
        const std::string before = text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
        const auto line = 1 + std::count(before.begin(), before.end(), '\n');
        const size_t column = before.size() - (before.rfind('\n') + 1);
        throw InputError(
            {file, static_cast<int>(line), static_cast<int>(column) + 1},
            "is not JSON from here on; expected the file that storlab run --json wrote");
    } catch (const nlohmann::json::exception&) {
        throw InputError({file, 0, 0}, "is JSON, but not what storlab run --json writes: that has "
                                       "run, stations, cpu and bottleneck");
    }
}

void UseMap::Share::take(const Share& o) {
    const auto greater = [](std::optional<double>& mine, const std::optional<double>& other) {
        if (other && (!mine || *other > *mine)) mine = other;
    };
    greater(there, o.there);
    greater(back, o.back);
    binds |= o.binds;
}

UseMap::UseMap(const Graph& g, const StationUse& use) {
    struct Direction {
        const std::string* link;
        bool there;
    };
    std::map<std::string, Direction, std::less<>> wires; // as models/fabric names them
    for (const Link& l : g.links()) {
        wires.insert({l.from + " > " + l.to + " (" + l.name + ")", {&l.name, true}});
        wires.insert({l.to + " > " + l.from + " (" + l.name + ")", {&l.name, false}});
        for (const char* way : {"/up", "/out"}) wires.insert({l.name + way, {&l.name, true}});
        for (const char* way : {"/down", "/in"}) wires.insert({l.name + way, {&l.name, false}});
    }
    for (const auto& [station, busy] : use.stations) {
        Share s;
        s.binds = !use.binds.empty() && (station == use.binds || group_of(station) == use.binds);
        if (const auto wire = wires.find(station); wire != wires.end()) {
            (wire->second.there ? s.there : s.back) = busy;
            links_[*wire->second.link].take(s);
            continue;
        }
        // It belongs to the thing that its name starts with: storage/ssd/3/dies.
        s.there = busy;
        for (std::string path = station; !path.empty();) {
            if (g.contains(path)) {
                things_[path].take(s);
                break;
            }
            const size_t end = path.find_last_of("/ ");
            path.resize(end == std::string::npos ? 0 : end);
        }
    }
}
UseMap::Share UseMap::link(const std::string& name) const {
    const auto found = links_.find(name);
    return found == links_.end() ? Share{} : found->second;
}
UseMap::Share UseMap::thing(const std::string& path) const {
    const auto found = things_.find(path);
    return found == things_.end() ? Share{} : found->second;
}

std::map<std::string, std::string> titles_of(const Scenario& s) {
    std::map<std::string, std::string> titles;
    for (const MachineSchema& m : s.machines) {
        titles[m.name] = fmt::format("{}, {} x {}", titled(m.server), m.sockets, titled(m.cpu));
        for (const SwitchSchema& w : m.switches) titles[join_path(m.name, w.name)] = titled(w.part);
        for (const CardSchema& c : m.cards) {
            titles[join_path(m.name, c.name)] = titled(c.part);
            for (const PortSchema& p : c.ports)
                titles[p.path] = "up to " + std::string(p.speeds.front()->name);
        }
        for (const DriveSchema& d : m.drives)
            titles[d.path] = titled(d.part) + ", " +
                             (d.state == SsdState::fresh    ? "fresh"
                              : d.state == SsdState::filled ? "filled"
                                                            : "steady");
    }
    for (const NetworkSwitchSchema& w : s.switches) titles[w.name] = titled(w.part);
    for (const ArraySchema& a : s.arrays) {
        titles[a.name] = level_text(a.level) + " of " + counted(a.drives.size(), "drive");
        if (a.exported)
            titles[a.name] += fmt::format(", {} by {}", to_string(a.exported->protocol),
                                          titled(a.exported->stack));
        for (const VolumeSchema& v : a.volumes) titles[v.path] = "volume of " + format_size(v.size);
    }
    return titles;
}
std::string rate_text(Rate r) { return r >= unlimited ? "-" : format_rate(r); }
std::string share_text(double use) { return fmt::format("{:.0f} %", use * 100); }

namespace {
std::string extension_of(const std::string& out) {
    std::string e = std::filesystem::path(out).extension().string();
    std::transform(e.begin(), e.end(), e.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return e;
}
// Before a run, whose answer would be lost.
void check_out(const std::string& out) {
    const std::string e = extension_of(out);
    if (e != ".svg" && e != ".png" && e != ".dot")
        throw InputError({"--out", 0, 0},
                         in_quotes(out) + " does not say what to draw; its name ends in .svg, .png "
                                          "or .dot");
    check_writable(out);
}

std::string content_of(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path))
        throw InputError({path.string(), 0, 0}, "is a folder; expected a file");
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw InputError({path.string(), 0, 0}, "cannot read this file");
    return text.str();
}

class ScratchFolder {
public:
    ScratchFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "storlab-XXXXXX").string();
        if (!mkdtemp(name.data()))
            throw InputError({name, 0, 0},
                             std::string("cannot create a folder: ") + strerror(errno));
        path_ = name;
    }
    ~ScratchFolder() {
        std::error_code none;
        std::filesystem::remove_all(path_, none);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    std::filesystem::path operator/(const char* name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

// What Graphviz makes of it.
std::string drawn(const std::string& dot, const std::string& format) {
    const ScratchFolder folder;
    const std::string in = folder / "in.dot", out = folder / "out", said = folder / "said";
    write_whole_file(in, dot);
    const std::string type = "-T" + format;
    std::vector<std::string> words{"dot", type, "-o", out, in};
    std::vector<char*> arguments;
    for (std::string& w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const int error = posix_spawnp(&child, "dot", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = -1;
    if (error == 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    constexpr int not_found = 127; // of libraries that only notice in the child
    if (error == ENOENT || (error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == not_found))
        throw InputError({"--out", 0, 0}, "the program dot is not installed (package graphviz); "
                                          "--out FILE.dot writes what it would draw");
    if (error != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw InputError({"--out", 0, 0}, "dot could not draw this: " +
                                              (error != 0 ? strerror(error) : content_of(said)));
    return content_of(out);
}
} // namespace

int topology(const Scenario& s, const TopologyOptions& o) {
    if (!o.out.empty()) check_out(o.out);
    const Graph g = wiring(s);
    UseMap use;
    int code = 0;
    if (o.run) {
        const RunResult r = run(s, o.control);
        use = UseMap(g, use_of(r));
        code = failed(r) ? 1 : 0;
    } else if (!o.json.empty()) {
        const StationUse earlier = use_from_json(content_of(o.json), o.json);
        if (earlier.hash != s.hash)
            std::fprintf(stderr, "note: %s is the answer of another scenario, or other settings\n",
                         o.json.c_str());
        use = UseMap(g, earlier);
    }
    if (o.out.empty()) {
        std::fputs(topology_text(s, g, use).c_str(), stdout);
        return code;
    }
    const std::string dot = topology_dot(s, g, use), e = extension_of(o.out);
    write_whole_file(o.out, e == ".dot" ? dot : drawn(dot, e.substr(1)));
    return code;
}

} // namespace storlab
