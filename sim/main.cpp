// The command line: storlab run, check, knee, topology, parts, validate, bench, schema.
// Exit codes: 0 fine, 1 the run (or validation) failed, 2 the input is wrong.
#include "sim/base/error.hpp"
#include "sim/kernel/huge_heap.hpp"
#include "sim/report/text.hpp"
#include "sim/report/write_file.hpp"
#include "sim/scenario/bench.hpp"
#include "sim/scenario/catalogue_text.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/knee.hpp"
#include "sim/scenario/run.hpp"
#include "sim/scenario/topology.hpp"
#include "sim/scenario/validate.hpp"
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace {
using namespace storlab;

constexpr int failed_run = 1, wrong_input = 2;
volatile std::sig_atomic_t interrupted = 0;

struct RunOptions {
    std::string file, world = "sim", folder, json, iolog, duration, out;
    std::vector<std::string> settings;
    std::optional<uint64_t> seed;
    bool quick = false;
};

std::string quoted(const std::string& word) {
    return word.find_first_of(" '\"$*") == std::string::npos ? word : "'" + word + "'";
}
// The command that gives the same run.
std::string command_of(const RunOptions& o, uint64_t seed) {
    std::string c = "storlab run " + quoted(o.file) + " --seed " + std::to_string(seed);
    for (const std::string& s : o.settings) c += " --set " + quoted(s);
    if (!o.duration.empty()) c += " --duration " + o.duration;
    if (o.world != "sim") c += " --world " + o.world + " --dir " + quoted(o.folder);
    if (o.quick) c += " --quick";
    return c;
}

Scenario load(const RunOptions& o) {
    ScenarioOptions so{o.settings, parts_folder()};
    if (o.seed) so.settings.push_back("run/seed=" + std::to_string(*o.seed));
    if (!o.duration.empty()) {
        so.settings.push_back("run/until=duration");
        so.settings.push_back("run/duration=" + o.duration);
    }
    return load_scenario(o.file, so);
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

// A result must not replace what it came from, or another result.
void check_outputs(const RunOptions& o) {
    const std::pair<const char*, const std::string*> files[] = {
        {"--json", &o.json}, {"--iolog", &o.iolog}, {"--out", &o.out}, {"FILE", &o.file}};
    for (size_t i = 0; i < std::size(files); i++)
        for (size_t j = i + 1; j < std::size(files); j++) {
            std::error_code none;
            const auto &a = *files[i].second, &b = *files[j].second;
            if (!a.empty() && (a == b || std::filesystem::equivalent(a, b, none)))
                throw InputError({files[i].first, 0, 0},
                                 "would overwrite " + b + ", which is also " + files[j].first);
        }
}

int run_verb(RunOptions o) {
    check_outputs(o);
    const Scenario scenario = load(o);
    for (const std::string& note : scenario.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    RunControl control;
    control.real = o.world == "real";
    control.quick = o.quick;
    std::filesystem::path scratch;
    if (control.real && o.folder.empty()) {
        char name[] = "/tmp/storlab-XXXXXX";
        if (!mkdtemp(name))
            throw InputError({"--dir", 0, 0},
                             "cannot create a folder for the files; give one with --dir");
        scratch = name;
        o.folder = name;
    }
    control.folder = o.folder;
    control.command = command_of(o, scenario.run.seed);
    control.iolog = o.iolog;
    control.progress = show_progress;
    std::signal(SIGINT, [](int) { interrupted = 1; });
    const RunResult result = run(scenario, control);
    clear_progress();
    if (!scratch.empty()) std::filesystem::remove_all(scratch);
    std::fputs(to_text(result).c_str(), stdout);
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
    check_outputs(o);
    return knee(load(o), k);
}

int topology_verb(const RunOptions& o, bool run) {
    check_outputs(o);
    TopologyOptions t;
    t.out = o.out, t.json = o.json, t.run = run;
    t.control.quick = true;
    t.control.progress = show_progress;
    const Scenario scenario = load(o);
    for (const std::string& note : scenario.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    if (run) std::signal(SIGINT, [](int) { interrupted = 1; });
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
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr,
                     "storlab: out of memory; a larger run/scale makes the slice smaller\n");
        return failed_run;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "storlab: internal error: %s\n", error.what());
        return failed_run;
    }
}
} // namespace

int main(int argc, char** argv) {
    put_heap_in_huge_pages();
    CLI::App app{"storlab: a discrete-event laboratory for storage systems"};
    app.set_version_flag("--version", STORLAB_VERSION);
    app.require_subcommand(1);
    RunOptions o;
    std::string name, json;
    ValidateOptions v;
    BenchOptions b;
    KneeOptions k;
    std::string target;
    bool run_first = false;

    CLI::App* const run_command = app.add_subcommand("run", "run a scenario and print the answer");
    run_command->add_option("FILE", o.file, "scenario")->required();
    run_command->add_option("--seed", o.seed,
                            "seed of all random streams (default: the scenario's, or 1)");
    run_command->add_option("--world", o.world, "sim, or real: the same arrays over files")
        ->check(CLI::IsMember({"sim", "real"}));
    run_command->add_option("--dir", o.folder,
                            "where the real world keeps its files (default: a temporary folder)");
    run_command->add_option("--duration", o.duration,
                            "measure for so long, e.g. 200ms, instead of until confident");
    run_command->add_option("--json", o.json, "write the whole answer to this file");
    run_command->add_option("--iolog", o.iolog,
                            "write every request to this file, as fio's write_iolog does");
    run_command->add_flag("--quick", o.quick, "a tenth of the confidence, for a glance");

    CLI::App* const check_command =
        app.add_subcommand("check", "read a scenario and say what it would run");
    check_command->add_option("FILE", o.file, "scenario")->required();

    CLI::App* const knee_command = app.add_subcommand(
        "knee", "vary a load: where latency bends, and how much load meets a latency target");
    knee_command->add_option("FILE", o.file, "scenario")->required();
    knee_command->add_option("--target", target,
                             "a latency to stay within, e.g. p99=1ms or mean=300us");
    knee_command->add_option("--load", k.load, "which load to vary, where there are several");
    knee_command->add_flag("--open", k.open, "vary arrivals a second instead of I/Os in flight");
    knee_command->add_option("--up-to", k.up_to,
                             "most I/Os in flight (default: four times the "
                             "scenario's, at least 256)");
    knee_command->add_option("--seed", o.seed, "seed of all random streams");
    knee_command->add_option("--json", o.json, "write the figures to this file");
    CLI::App* const topology_command = app.add_subcommand(
        "topology", "list the wiring of a scenario with what each link carries, or draw it");
    topology_command->add_option("FILE", o.file, "scenario")->required();
    topology_command->add_option("--out", o.out, "draw it into this file: .svg, .png or .dot");
    CLI::Option* const run_now =
        topology_command->add_flag("--run", run_first, "run it, and show how busy everything was");
    topology_command->add_option("--json", o.json, "show that of an earlier run, from its --json")
        ->excludes(run_now);
    topology_command->add_option("--seed", o.seed, "seed of all random streams");

    for (CLI::App* c : {run_command, check_command, knee_command, topology_command})
        c->add_option("--set", o.settings, "set a value of the scenario: path=value")
            ->type_size(1)
            ->allow_extra_args(false);

    CLI::App* const parts_command =
        app.add_subcommand("parts", "list the catalogue, or a part's values with their sources");
    parts_command->add_option("NAME", name, "part");

    CLI::App* const validate_command =
        app.add_subcommand("validate", "predict the published measurements and compare");
    validate_command->add_option("TESTBED", v.testbed,
                                 "one testbed, such as starwind-graid (default: all)");
    validate_command->add_option("--json", v.json,
                                 "write rows, summary and fitted values to this file");
    validate_command->add_flag("--record", v.record, "accept the predictions as the new reference");
    validate_command->add_option("--rows", v.rows, "only rows whose id matches this pattern");

    CLI::App* const bench_command =
        app.add_subcommand("bench", "measure how fast storlab simulates");
    bench_command->add_option("CASE", b.names, "only these cases");
    bench_command->add_option("--json", b.json, "write the figures to this file");
    bench_command->add_option("--repeat", b.repeat, "runs of each case; the median counts")
        ->check(CLI::Range(1, 99));

    CLI::App* const schema_command =
        app.add_subcommand("schema", "print the JSON Schema of scenarios, for editors");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) { // also --help and --version, which are no errors
        return app.exit(error) == 0 ? 0 : wrong_input;
    }
    return guarded([&]() -> int {
        if (*run_command) return run_verb(o);
        if (*check_command) return check_verb(o);
        if (*knee_command) return knee_verb(o, k, target);
        if (*topology_command) return topology_verb(o, run_first);
        if (*parts_command) return std::fputs(describe_parts(name).c_str(), stdout), 0;
        if (*validate_command) return validate(v);
        if (*bench_command) return bench(b);
        if (*schema_command) return std::fputs(scenario_schema().c_str(), stdout), 0;
        return wrong_input;
    });
}
