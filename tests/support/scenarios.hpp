// Small scenarios for tests: a server with drives of a few thousand blocks, and how to run them.
#pragma once
#include "sim/base/text.hpp"
#include "sim/scenario/build.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/run.hpp"
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace storlab::test {

// Four drives and a spare of some 7000 blocks of 4 KiB each, in RAID 5.
inline const std::string small_array = R"(storlab: 1
title: small
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380}
    host: {is: linux-host}
    drives:
      ssd: {is: bench-device-gc, count: 4, state: filled}
      spare: {is: bench-device-gc}
arrays:
  main:
    raid:
      {level: 5, drives: ssd/*, spares: spare/0, chunk: 64KiB, engine: md, speed-limit-max: 100GB/s}
loads:
  users:
    fio: {rw: randrw, rwmixread: 70, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}
    to: main
run: {until: duration, duration: 5ms, scale: 256}
)";

// One drive, as its catalogue says.
inline const std::string one_drive = R"(storlab: 1
title: one drive
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380}
    host: {is: linux-host}
    drives: {ssd: {is: bench-device-gc, state: filled}}
loads:
  users:
    fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}
    to: box/ssd/0
run: {until: duration, duration: 10ms, warm-up: 2ms, scale: 16}
)";

using Settings = std::vector<std::string>;
inline Scenario scenario_of(std::string_view text, const Settings& settings = {}) {
    return read_scenario(text, "mine.yaml", {settings, parts_folder()});
}
inline RunResult run_of(std::string_view text, const Settings& settings = {},
                        const RunControl& control = {}) {
    return run(scenario_of(text, settings), control);
}
// What was wrong with it, or nothing.
inline std::string error_of(std::string_view text, const Settings& settings = {}) {
    try {
        scenario_of(text, settings);
    } catch (const InputError& error) { return error.what(); }
    return "";
}
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const size_t at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("not in the text: " + std::string(from));
    return text.replace(at, from.size(), to);
}

inline const LoadResult& load_named(const RunResult& r, std::string_view name) {
    for (const LoadResult& l : r.loads)
        if (l.name == name) return l;
    throw std::logic_error("no load " + std::string(name));
}
inline double mean_us(const LoadResult& l) { return total(l).latency.mean_ns() / 1000; }
inline double percentile_us(const LoadResult& l, double p) {
    return total(l).latency.percentile(p).value().in_us();
}
inline double utilisation(const RunResult& r, std::string_view station) {
    for (const StationResult& s : r.stations)
        if (s.name == station) return s.utilisation;
    throw std::logic_error("no station " + std::string(station));
}

// A folder of its own, gone with everything in it at the end.
class ScratchFolder {
public:
    ScratchFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "storlab-XXXXXX").string();
        if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
        path_ = name;
    }
    ~ScratchFolder() { std::filesystem::remove_all(path_); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

} // namespace storlab::test
