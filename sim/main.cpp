// The command line: storlab run, check, knee, sensitivity, topology, parts, validate, bench,
// schema. Exit codes: 0 fine, 1 the run (or validation) failed, 2 the input is wrong.
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/report/text.hpp"
#include "sim/report/write_file.hpp"
#include "sim/scenario/bench.hpp"
#include "sim/scenario/catalogue_text.hpp"
#include "sim/scenario/huge_heap.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/knee.hpp"
#include "sim/scenario/run.hpp"
#include "sim/scenario/sensitivity.hpp"
#include "sim/scenario/storage_node.hpp"
#include "sim/scenario/topology.hpp"
#include "sim/scenario/validate.hpp"
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <unistd.h>

namespace {
using namespace storlab;

constexpr int failed_run = 1, wrong_input = 2;
volatile std::sig_atomic_t interrupted = 0;

struct RunOptions {
    std::string file, world = "sim", folder, json, iolog, duration, out;
    std::vector<std::string> settings;
    std::optional<uint64_t> seed;
    bool quick = false, quiet = false;
};

std::string quoted(const std::string& word) {
    return word.find_first_of(" '\"$*") == std::string::npos ? word : "'" + word + "'";
}
// The command that gives the same run.
std::string command_of(const RunOptions& o, uint64_t seed) {
    std::string c = "storlab run " + quoted(o.file) + " --seed " + std::to_string(seed);
    for (const std::string& s : o.settings) c += " --set " + quoted(s);
    if (!o.duration.empty()) c += " --duration " + o.duration;
    if (o.world != "sim") c += " --world " + o.world;
    if (!o.folder.empty()) c += " --dir " + quoted(o.folder);
    if (o.quick) c += " --quick";
    return c;
}

ScenarioOptions scenario_options(const RunOptions& o) {
    ScenarioOptions so{o.settings, parts_folder()};
    if (o.seed) so.settings.push_back("run/seed=" + std::to_string(*o.seed));
    if (!o.duration.empty()) {
        if (parse_duration(o.duration, {"--duration", 0, 0}) <= Duration{})
            throw InputError({"--duration", 0, 0}, "must be more than nothing");
        so.settings.push_back("run/until=duration");
        so.settings.push_back("run/duration=" + o.duration);
    }
    return so;
}
Scenario load(const RunOptions& o) { return load_scenario(o.file, scenario_options(o)); }

// The first Ctrl-C ends the run with what there is, the second the program.
void stop_on_interrupt() {
    std::signal(SIGINT, [](int) {
        interrupted = 1;
        std::signal(SIGINT, SIG_DFL);
    });
}

bool show_progress(const Progress& p) {
    if (isatty(STDERR_FILENO))
        std::fprintf(stderr, "\r%-100s",
                     (format_duration(p.simulated) + " simulated, " +
                      format_count(static_cast<double>(p.ios)) + " I/Os" +
                      (p.iops > 0 ? ", " + format_count(p.iops) + " IOPS" : "") + ", " + p.phase)
                         .c_str());
    return interrupted == 0;
}
void clear_progress() {
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r%-100s\r", "");
}

struct NamedFile {
    const char* option;
    std::string path;
};
// A result must not replace what it came from, or another result, and there must be a way to write
// it: said before the run.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
    const auto check_apart = [](const NamedFile& f, const NamedFile& other) {
        std::error_code none;
        if (f.path == other.path || std::filesystem::equivalent(f.path, other.path, none))
            throw InputError({f.option, 0, 0},
                             "would overwrite " + other.path + ", which is also " + other.option);
    };
    for (size_t i = 0; i < outputs.size(); i++) {
        if (outputs[i].path.empty()) continue;
        for (size_t j = i + 1; j < outputs.size(); j++) check_apart(outputs[i], outputs[j]);
        for (const NamedFile& input : inputs) check_apart(outputs[i], input);
        check_writable(outputs[i].path);
    }
}

// For the files of a run that nobody wants to keep.
struct ScratchFolder {
    std::filesystem::path path;
    void make() {
        char name[] = "/tmp/storlab-XXXXXX";
        if (!mkdtemp(name))
            throw InputError({"--dir", 0, 0},
                             "cannot create a folder for the files; give one with --dir");
        path = name;
    }
    ~ScratchFolder() {
        std::error_code none;
        if (!path.empty()) std::filesystem::remove_all(path, none);
    }
};

int run_verb(RunOptions o) {
    check_outputs({{"--json", o.json}, {"--iolog", o.iolog}}, {{"FILE", o.file}});
    const Scenario scenario = load(o);
    if (!o.quiet)
        for (const std::string& note : scenario.notes)
            std::fprintf(stderr, "note: %s\n", note.c_str());
    RunControl control;
    control.real = o.world == "real";
    control.quick = o.quick;
    control.command = command_of(o, scenario.run.seed); // without a folder that will be gone
    if (control.real && !o.folder.empty() && !std::filesystem::is_directory(o.folder))
        throw InputError({"--dir", 0, 0}, in_quotes(o.folder) + " is no folder; create it first");
    ScratchFolder scratch;
    if (control.real && o.folder.empty()) {
        scratch.make();
        o.folder = scratch.path;
    }
    control.folder = o.folder;
    control.program = "/proc/self/exe";
    control.settings = scenario_options(o).settings;
    control.iolog = o.iolog;
    control.progress = o.quiet ? [](const Progress&) { return interrupted == 0; } : show_progress;
    stop_on_interrupt();
    const RunResult result = run(scenario, control);
    clear_progress();
    if (!o.quiet) std::fputs(to_text(result).c_str(), stdout);
    else if (failed(result)) std::fputs(alarms_text(result).c_str(), stderr);
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
        std::fprintf(
            stderr,
            "storlab: the answer could not be written: standard output is full or closed\n");
        return failed_run;
    }
    if (!o.json.empty()) write_whole_file(o.json, to_json(result));
    return failed(result) ? failed_run : 0;
}

int check_verb(const RunOptions& o) {
    const Scenario s = load(o);
    for (const std::string& note : s.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    std::fputs(describe(s).c_str(), stdout);
    return 0;
}

int knee_verb(const RunOptions& o, KneeOptions k, const std::string& target) {
    if (!target.empty()) k.target = parse_target(target);
    k.json = o.json;
    check_outputs({{"--json", o.json}}, {{"FILE", o.file}});
    return knee(load(o), k);
}

int sensitivity_verb(const RunOptions& o, SensitivityOptions s) {
    s.json = o.json;
    check_outputs({{"--json", o.json}}, {{"FILE", o.file}});
    return sensitivity(o.file, scenario_options(o), s);
}

// What is wrong here is told by the process that runs the hosts.
int node_verb(const RunOptions& o, StorageNodeOptions n) {
    n.folder = o.folder;
    try {
        return storage_node(load(o), n);
    } catch (const std::exception& error) {
        say_to_hosts(error.what());
        return wrong_input;
    }
}

int topology_verb(const RunOptions& o, bool run) {
    check_outputs({{"--out", o.out}}, {{"--json", o.json}, {"FILE", o.file}});
    TopologyOptions t;
    t.out = o.out, t.json = o.json, t.run = run;
    t.control.quick = true;
    t.control.progress = show_progress;
    const Scenario scenario = load(o);
    for (const std::string& note : scenario.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    if (run) stop_on_interrupt();
    const int code = topology(scenario, t);
    clear_progress();
    return code;
}

// Everything a user can cause ends here as a message; anything else is a bug and says so.
template <class F> int guarded(F&& f) {
    try {
        return f();
    } catch (const InputError& error) {
        clear_progress();
        std::fprintf(stderr, "%s\n", error.what());
        const size_t n = error.complaints().size();
        std::fprintf(stderr, "%zu error%s; nothing was run\n", n, n == 1 ? "" : "s");
        return wrong_input;
    } catch (const WriteError& error) {
        clear_progress();
        std::fprintf(stderr, "%s; the answer was not kept\n", error.what());
        return failed_run;
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr,
                     "storlab: out of memory; a larger run/scale makes the slice smaller\n");
        return failed_run;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "storlab: internal error: %s\n", error.what());
        return failed_run;
    }
}

// Options and the words for them, verb by verb.
void add_settings(CLI::App& verb, RunOptions& o) {
    verb.add_option("FILE", o.file, "scenario")->required();
    verb.add_option("--set", o.settings, "set a value of the scenario: path=value")
        ->type_size(1)
        ->allow_extra_args(false);
}
void add_seed(CLI::App& verb, RunOptions& o) {
    const CLI::Validator whole(
        [](const std::string& text) {
            const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
            return digits && text.size() <= std::numeric_limits<int64_t>::digits10
                       ? std::string()
                       : in_quotes(text) + "; expected a whole number of up to 18 digits";
        },
        "");
    verb.add_option("--seed", o.seed, "seed of all random streams (default: the scenario's, or 1)")
        ->check(whole);
}
CLI::App* add_run(CLI::App& app, RunOptions& o) {
    CLI::App* const c = app.add_subcommand("run", "run a scenario and print the answer");
    add_settings(*c, o);
    add_seed(*c, o);
    c->add_option("--world", o.world, "sim, or real: the same arrays over files")
        ->check(CLI::IsMember({"sim", "real"}));
    c->add_option("--dir", o.folder,
                  "where the real world keeps its files (default: a temporary folder)");
    c->add_option("--duration", o.duration,
                  "measure for so long, e.g. 200ms, instead of until confident");
    c->add_option("--json", o.json, "write the whole answer to this file");
    c->add_option("--iolog", o.iolog,
                  "write every request to this file, as fio's write_iolog does");
    c->add_flag("--quick", o.quick, "a tenth of the confidence, for a glance");
    c->add_flag("--quiet", o.quiet, "print no progress and no answer");
    return c;
}
CLI::App* add_check(CLI::App& app, RunOptions& o) {
    CLI::App* const c = app.add_subcommand("check", "read a scenario and say what it would run");
    add_settings(*c, o);
    return c;
}
CLI::App* add_knee(CLI::App& app, RunOptions& o, KneeOptions& k, std::string& target) {
    CLI::App* const c = app.add_subcommand(
        "knee", "vary a load: where latency bends, and how much load meets a latency target");
    add_settings(*c, o);
    c->add_option("--target", target, "a latency to stay within, e.g. p99=1ms or mean=300us");
    c->add_option("--load", k.load, "which load to vary, where there are several");
    c->add_flag("--open", k.open, "vary arrivals a second instead of I/Os in flight");
    c->add_option("--up-to", k.up_to,
                  "most I/Os in flight (default: four times the scenario's, at least 256)");
    add_seed(*c, o);
    c->add_option("--json", o.json, "write the figures to this file");
    return c;
}
CLI::App* add_sensitivity(CLI::App& app, RunOptions& o, SensitivityOptions& s) {
    CLI::App* const c = app.add_subcommand(
        "sensitivity", "which assumed or fitted value moves the answer most, each alone by 20 %");
    add_settings(*c, o);
    c->add_option("--only", s.only, "only values of parts that match, e.g. 'scst-target/*'");
    c->add_option("--top", s.top, "rows to print (default: 15)")->check(CLI::Range(1, 10000));
    add_seed(*c, o);
    c->add_option("--duration", o.duration,
                  "measure for so long each time, instead of until confident");
    c->add_option("--json", o.json, "write the figures to this file");
    return c;
}
CLI::App* add_node(CLI::App& app, RunOptions& o, StorageNodeOptions& n) {
    CLI::App* const c = app.add_subcommand(
        "node", "what 'run --world real' starts for a storage machine on a fabric; not for people");
    add_settings(*c, o);
    c->add_option("MACHINE", n.machine, "its name")->required();
    c->add_option("--dir", o.folder, "where its files are")->required();
    c->add_flag("--again", n.again, "on the files of an earlier one");
    return c;
}
CLI::App* add_topology(CLI::App& app, RunOptions& o, bool& run_first) {
    CLI::App* const c = app.add_subcommand(
        "topology", "list the wiring of a scenario with what each link carries, or draw it");
    add_settings(*c, o);
    c->add_option("--out", o.out, "draw it into this file: .svg, .png or .dot");
    CLI::Option* const run_now =
        c->add_flag("--run", run_first, "run it, and show how busy everything was");
    c->add_option("--json", o.json, "show that of an earlier run, from its --json")
        ->excludes(run_now);
    add_seed(*c, o);
    return c;
}
CLI::App* add_validate(CLI::App& app, ValidateOptions& v) {
    CLI::App* const c =
        app.add_subcommand("validate", "predict the published measurements and compare");
    c->add_option("TESTBED", v.testbed, "one testbed, such as starwind-graid (default: all)");
    c->add_option("--json", v.json, "write rows, summary and fitted values to this file");
    c->add_flag("--record", v.record, "accept the predictions as the new reference");
    c->add_option("--rows", v.rows, "only rows whose id matches this pattern");
    return c;
}
CLI::App* add_bench(CLI::App& app, BenchOptions& b) {
    CLI::App* const c = app.add_subcommand("bench", "measure how fast storlab simulates");
    c->add_option("CASE", b.names, "only these cases");
    c->add_option("--json", b.json, "write the figures to this file");
    c->add_option("--repeat", b.repeat, "runs of each case; the median counts")
        ->check(CLI::Range(1, 99));
    return c;
}
// An empty text is a variable of a script that is not set, not an option left out.
void refuse_empty(CLI::App& app) {
    const CLI::Validator not_empty(
        [](const std::string& text) { return text.empty() ? "is empty" : std::string(); }, "");
    for (CLI::App* verb : app.get_subcommands({}))
        for (CLI::Option* option : verb->get_options())
            if (option->get_expected_max() > 0) option->check(not_empty);
}
} // namespace

int main(int argc, char** argv) {
    put_heap_in_huge_pages();
    CLI::App app{"storlab: a discrete-event laboratory for storage systems"};
    app.set_version_flag("--version", STORLAB_VERSION);
    app.require_subcommand(1);
    RunOptions o;
    std::string name, target;
    ValidateOptions v;
    BenchOptions b;
    KneeOptions k;
    SensitivityOptions s;
    StorageNodeOptions n;
    bool run_first = false;

    const CLI::App* const run_command = add_run(app, o);
    const CLI::App* const check_command = add_check(app, o);
    const CLI::App* const knee_command = add_knee(app, o, k, target);
    const CLI::App* const sensitivity_command = add_sensitivity(app, o, s);
    const CLI::App* const node_command = add_node(app, o, n);
    const CLI::App* const topology_command = add_topology(app, o, run_first);
    CLI::App* const parts_command =
        app.add_subcommand("parts", "list the catalogue, or a part's values with their sources");
    parts_command->add_option("NAME", name, "part");
    const CLI::App* const validate_command = add_validate(app, v);
    const CLI::App* const bench_command = add_bench(app, b);
    const CLI::App* const schema_command =
        app.add_subcommand("schema", "print the JSON Schema of scenarios, for editors");
    refuse_empty(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) { // also --help and --version, which are no errors
        return app.exit(error) == 0 ? 0 : wrong_input;
    }
    return guarded([&]() -> int {
        if (*run_command) return run_verb(o);
        if (*check_command) return check_verb(o);
        if (*knee_command) return knee_verb(o, k, target);
        if (*sensitivity_command) return sensitivity_verb(o, s);
        if (*node_command) return node_verb(o, n);
        if (*topology_command) return topology_verb(o, run_first);
        if (*parts_command) return std::fputs(describe_parts(name).c_str(), stdout), 0;
        if (*validate_command) return check_outputs({{"--json", v.json}}, {}), validate(v);
        if (*bench_command) return check_outputs({{"--json", b.json}}, {}), bench(b);
        if (*schema_command) return std::fputs(scenario_schema().c_str(), stdout), 0;
        return wrong_input;
    });
}
