// storlab._storlab: what python/storlab is made of. Everything here takes and gives plain data; the
// package says what it means. A run goes to the simulator's thread while the calling thread waits
// without the interpreter's lock and looks for signals, so that Ctrl-C works and other threads run.
#include "python/simulator_thread.hpp"
#include "sim/base/error.hpp"
#include "sim/report/text.hpp"
#include "sim/scenario/catalogue_text.hpp"
#include "sim/scenario/knee.hpp"
#include "sim/scenario/part.hpp"
#include "sim/scenario/run.hpp"
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <thread>

namespace storlab {

namespace py = pybind11;

namespace {

// A scenario as a file says it, and what was set on top.
struct Source {
    std::string text, name, parts;
    std::vector<std::string> settings;

    Scenario read() const { return read_scenario(text, name, {settings, parts}); }
};

struct RunWish {
    bool real = false, quick = false;
    std::string folder, command;
};

struct Outcome {
    std::string json, text;
    bool failed = false;
};

using Work = std::function<Outcome(const std::atomic<bool>& stop)>;

Outcome run_of(const Source& source, const RunWish& wish, const std::atomic<bool>& stop) {
    const Scenario scenario = source.read(); // of this thread: parts remember what was read of them
    RunControl control;
    control.real = wish.real;
    control.quick = wish.quick;
    control.folder = wish.folder;
    control.command = wish.command;
    control.progress = [&](const Progress&) { return !stop; };
    const RunResult result = run(scenario, control);
    JsonOptions one_line;
    one_line.indent = -1;
    return {to_json(result, one_line), to_text(result), failed(result)};
}

Outcome knee_of(const Source& source, const KneeOptions& wish, const std::atomic<bool>& stop) {
    KneeOptions options = wish;
    options.go_on = [&] { return !stop; };
    const KneeReport report = find_knee(source.read(), options);
    return {knee_json(report), knee_text(report), curve_of(report).empty()};
}

// Never destroyed: its thread outlives every static object.
SimulatorThread*& simulator_thread() {
    static SimulatorThread* thread = nullptr;
    return thread;
}
bool forked_after_use = false;
// Then a thread that waits for a run must not ask for the interpreter's lock any more: it would be
// ended in the middle of a C++ function.
std::atomic<bool> interpreter_ends{false};

SimulatorThread& simulator() {
    if (forked_after_use)
        throw std::runtime_error("this process was forked from one that had already simulated, and "
                                 "SimGrid's engine stayed there; start processes by 'spawn' or "
                                 "'forkserver' (multiprocessing.get_context)");
    if (!simulator_thread()) simulator_thread() = new SimulatorThread;
    return *simulator_thread();
}
void after_fork_in_child() {
    const SimulatorThread* const old = simulator_thread();
    forked_after_use |= old && old->used();
    simulator_thread() = nullptr; // its thread is not in this process
}

// A signal's exception passes when the run has stopped, with what there is as its __dict__ entry
// "storlab_outcome".
Outcome simulate(const Work& work) {
    auto outcome = std::make_shared<Outcome>();
    const auto job = std::make_shared<SimulatorJob>(
        [=](const std::atomic<bool>& stop) { *outcome = work(stop); });
    simulator().add(job);
    std::optional<py::error_already_set> signalled;
    constexpr std::chrono::milliseconds look_for_signals{50};
    for (;;) {
        bool done = false;
        {
            const py::gil_scoped_release others_may_run;
            done = job->wait_for(look_for_signals);
            while (interpreter_ends) std::this_thread::sleep_for(std::chrono::hours(1));
        }
        if (done) break;
        if (PyErr_CheckSignals() == 0) continue;
        py::error_already_set error; // takes it
        if (!signalled) signalled.emplace(std::move(error));
        job->stop();
    }
    if (!signalled) {
        job->rethrow();
        return std::move(*outcome);
    }
    if (!outcome->json.empty())
        py::setattr(signalled->value(), "storlab_outcome", py::cast(std::move(*outcome)));
    throw std::move(*signalled);
}

// storlab.InputError, which is a class of the package.
void raise_input_error(const InputError& error) {
    py::list complaints;
    for (const Complaint& c : error.complaints())
        complaints.append(py::make_tuple(c.where.file, c.where.line, c.where.column, c.what));
    const py::object type = py::module_::import("storlab.errors").attr("InputError");
    const py::object value = type.attr("from_tuples")(complaints);
    PyErr_SetObject(type.ptr(), value.ptr());
}

void translate(std::exception_ptr thrown) {
    try {
        if (thrown) std::rethrow_exception(thrown);
    } catch (const InputError& error) { raise_input_error(error); }
}

void follow_the_process() {
    const py::cpp_function forked(&after_fork_in_child);
    py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") = forked);
    const py::cpp_function ending([] {
        interpreter_ends = true;
        const py::gil_scoped_release the_run_ends;
        if (simulator_thread()) simulator_thread()->close();
    });
    py::module_::import("atexit").attr("register")(ending);
}

std::vector<std::string> part_names(const std::string& folder) {
    const auto complaints = std::make_shared<Complaints>();
    return Catalogue(folder, complaints).names();
}

} // namespace

PYBIND11_MODULE(_storlab, m) {
    py::register_exception_translator(&translate);
    m.attr("version") = STORLAB_VERSION;
    py::class_<Outcome>(m, "Outcome")
        .def_readonly("json", &Outcome::json)
        .def_readonly("text", &Outcome::text)
        .def_readonly("failed", &Outcome::failed);
    py::class_<Source>(m, "Source")
        .def(py::init([](std::string text, std::string name, std::string parts,
                         std::vector<std::string> settings) {
                 return Source{std::move(text), std::move(name), std::move(parts),
                               std::move(settings)};
             }),
             py::arg("text"), py::arg("name"), py::arg("parts"), py::arg("settings"))
        .def("facts", // (description, title, seed, notes); complains about what is wrong
             [](const Source& source) {
                 const Scenario s = source.read();
                 return py::make_tuple(describe(s), s.title, s.run.seed, s.notes);
             })
        .def(
            "run",
            [](const Source& source, bool real, bool quick, std::string folder,
               std::string command) {
                const RunWish wish{real, quick, std::move(folder), std::move(command)};
                return simulate(
                    [=](const std::atomic<bool>& stop) { return run_of(source, wish, stop); });
            },
            py::arg("real"), py::arg("quick"), py::arg("folder"), py::arg("command"))
        .def(
            "knee",
            [](const Source& source, std::string load, bool open, const std::string& target,
               std::optional<int64_t> up_to) {
                KneeOptions wish;
                wish.load = std::move(load);
                wish.open = open;
                wish.up_to = up_to;
                if (!target.empty()) wish.target = parse_target(target);
                return simulate(
                    [=](const std::atomic<bool>& stop) { return knee_of(source, wish, stop); });
            },
            py::arg("load"), py::arg("open"), py::arg("target"), py::arg("up_to"));
    m.def("part_names", &part_names, py::arg("folder"));
    follow_the_process();
}

} // namespace storlab
