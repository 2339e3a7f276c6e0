// Runs a scenario in one of the two worlds and gives the complete answer. A run warms up until its
// windows show no trend, measures until the confidence asked for is reached (or for a given time,
// or over its timeline), lets what is in flight come back, and scrubs the arrays.
#pragma once
#include "sim/report/result.hpp"
#include "sim/scenario/schema.hpp"
#include <functional>
#include <string>

namespace storlab {

struct Progress {
    Duration simulated;
    uint64_t ios = 0;
    double iops = 0;
    std::string phase; // "warming up", "measuring, +-2.1 %"
};

struct RunControl {
    bool real = false;                             // world
    std::string folder;                            // of the real world's files
    bool quick = false;                            // a tenth of the confidence for a glance
    std::function<bool(const Progress&)> progress; // called now and then; false: stop, partial
    std::string command;                           // that reproduces the run
    // Of the real world's machines, which are processes of their own: the program, and the
    // scenario's settings. Empty: none can be started.
    std::string program;
    std::vector<std::string> settings;
    std::string iolog; // file for the requests of all loads, as fio's write_iolog; empty: none
};

// What it cost to simulate, for `storlab bench`: of the measured part only.
struct RunCost {
    double cpu_seconds = 0;
    uint64_t ios = 0, events = 0, frames = 0;
    uint64_t frame_bytes = 0; // of coroutine frames at the most at one time
};

RunResult run(const Scenario& scenario, const RunControl& control, RunCost* cost = nullptr);

} // namespace storlab
