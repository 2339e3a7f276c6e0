// A fio job file as its author meant it: sections, units, defaults and comma rules as fio reads
// them. Source: fio's manual (HOWTO.rst, 2026-08); where manual and program differ, fio 3.33 as
// measured. A key that would change the workload and is not modelled is an error; a key that would
// not is listed in `ignored`. Left out: trims, verify, zoned modes, flow, latency search, several
// files with weights, and every I/O engine that is not a plain block-device engine. All complaints
// of a file come together as one InputError with file:line:column.
#pragma once
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace storlab::fio {

// Limits against hostile files. fio has none or far larger ones; each is beyond any use we know of.
constexpr int64_t max_clones = 4096;            // numjobs
constexpr int64_t max_depth = 65536;            // iodepth: an NVMe queue has at most 65,536 entries
constexpr int64_t max_block = int64_t{1} << 30; // bytes of one I/O
constexpr size_t max_jobs = 1024;               // sections in one file
constexpr size_t max_file = size_t{1} << 20;    // bytes of one job file or included file
constexpr size_t max_value = 4096;              // bytes of one value, after ${VAR}
constexpr int max_include_depth = 8;
constexpr int max_includes = 64; // in one file: bounds a tree of files that include each other
constexpr size_t max_complaints = 100; // reading stops after these
constexpr size_t max_shares = 64;      // entries of one bssplit or zone list, as in fio
constexpr int max_cpu = 4095;          // highest number in cpus_allowed

template <class T> struct PerDirection {
    T read{};
    T write{};
    const T& of(bool is_write) const { return is_write ? write : read; }
    T& of(bool is_write) { return is_write ? write : read; }
    bool operator==(const PerDirection&) const = default;
};

enum class Access { read, write, randread, randwrite, rw, randrw };
enum class Engine { sync, psync, vsync, pvsync, pvsync2, libaio, io_uring, io_uring_cmd, posixaio };
enum class Sequencer { sequential, identical }; // what randread:8 does between two new offsets
enum class RateProcess { linear, poisson };
enum class Spread { uniform, zipf, pareto, normal, zoned, zoned_abs };
enum class ThinkAfter { complete, issue }; // thinktime_blocks_type
enum class Sync { none, sync, dsync };
enum class Reporting { separate, mixed, both }; // unified_rw_reporting

struct SizeShare {
    Bytes size;
    double percent = 0;
    bool operator==(const SizeShare&) const = default;
};
// Sizes of one direction: a fixed size (low == high), a range, or a list of shares, which add up to
// 100 %.
struct BlockSizes {
    Bytes low{4096};
    Bytes high{4096};
    std::vector<SizeShare> split; // replaces low and high if not empty
    Bytes smallest() const;
    Bytes largest() const;
    bool operator==(const BlockSizes&) const = default;
};

// size=10g or size=20%
struct Extent {
    Bytes bytes;
    std::optional<int> percent;
    Bytes of(Bytes whole) const;
    bool operator==(const Extent&) const = default;
};

struct Zone {
    double access_percent = 0;
    double space_percent = 0; // zoned
    Bytes space;              // zoned_abs; 0 on the last zone: the rest
    bool operator==(const Zone&) const = default;
};
struct Distribution {
    Spread kind = Spread::uniform;
    double parameter =
        0; // zipf: theta; pareto: h; normal: standard deviation, percent of the region
    std::optional<double> center;          // 0 to 1: where the most used block is
    PerDirection<std::vector<Zone>> zones; // zoned, zoned_abs: access shares add up to 100 %
    bool operator==(const Distribution&) const = default;
};

// One section with everything it inherited. Fields not given in the file hold fio's defaults.
struct Job {
    std::string name;
    SourcePlace place; // of its [section] line

    Access rw = Access::read;
    int64_t random_run = 1; // randread:8: a new random offset every 8 I/Os
    Bytes hole;             // write:4k: skipped after each I/O
    Sequencer sequencer = Sequencer::sequential;
    int rwmixread = 50; // percent of I/Os that read, for rw and randrw

    PerDirection<BlockSizes> block;
    PerDirection<Bytes> blockalign; // 0: the smallest block of the direction
    bool bs_unaligned = false;

    int64_t iodepth = 1; // of each clone
    int64_t numjobs = 1;
    std::vector<std::string> filename; // an I/O goes to each in turn
    std::string directory;
    Engine ioengine = Engine::psync;
    bool direct = false;
    Sync sync = Sync::none;
    int64_t fsync = 0; // after so many writes; 0: never
    int64_t fdatasync = 0;
    bool end_fsync = false;

    std::optional<Extent> size; // the region; none: the whole device
    Extent offset;
    Extent offset_increment;       // times the clone's number
    std::optional<Extent> io_size; // how much to move; may be more than the region
    int64_t number_ios = 0;        // 0: no limit

    PerDirection<std::optional<Rate>> rate; // of each clone
    PerDirection<std::optional<Iops>> rate_iops;
    RateProcess rate_process = RateProcess::linear;
    bool rate_ignore_thinktime = false;
    bool offload = false; // io_submit_mode=offload: arrivals do not wait for completions

    Duration thinktime;
    Duration thinktime_spin;
    std::optional<int64_t> thinktime_blocks; // none: after every block
    ThinkAfter thinktime_blocks_type = ThinkAfter::complete;
    Duration thinktime_iotime;

    Distribution random_distribution;
    bool norandommap = false; // also set by a skew and by blockalign, as in fio
    PerDirection<int> percentage_random{100, 100};
    std::optional<uint64_t> randseed;
    bool randrepeat = true;

    std::optional<Duration> runtime;
    bool time_based = false;
    Duration ramp_time; // comes on top of runtime and is not measured
    Duration startdelay;
    bool stonewall = false; // starts when all jobs above have ended
    bool new_group = false;
    bool group_reporting = false;
    Reporting unified_rw_reporting = Reporting::separate;

    std::vector<int> cpus_allowed; // sorted, no repeats; empty: all
    std::string buffer_pattern;    // as written; empty: fio's own contents

    bool reads() const;
    bool writes() const;
    bool is_random() const;
};

// Something worth telling the user about one line of the file.
struct Remark {
    SourcePlace where;
    std::string key;
    std::string text; // empty in `ignored`
};
inline constexpr std::string_view given_twice = "is given twice; the later one holds"; // a note
struct JobFile {
    std::vector<Job> jobs;
    std::vector<Remark> ignored; // known to fio, without effect on the workload model
    std::vector<Remark> notes;   // read as fio reads it, which may surprise
};

// What a job file may refer to outside itself.
struct Surroundings {
    // The text of an included file, by its name as written; nothing if it cannot be read.
    std::function<std::optional<std::string>(const std::string&)> read_file;
    // The value of ${NAME}; nothing if unset, which fio takes for an empty text.
    std::function<std::optional<std::string>(const std::string&)> variable;
    int64_t page_size = 4096;         // $pagesize
    std::optional<int64_t> mb_memory; // $mb_memory of the modelled host
    std::optional<int64_t> ncpus;     // $ncpus of the modelled host
};
JobFile parse(std::string_view text, const std::string& file_name,
              const Surroundings& surroundings = {});

// How many I/Os the job can have in flight, all clones together, and why not numjobs x iodepth.
struct Depth {
    int64_t per_clone = 1;
    int64_t total = 1;
    std::vector<std::string> reasons; // empty if nothing reduced it
};
Depth effective_depth(const Job& job);

// The bytes of one file or device that a clone (counted from 0) works on. InputError at the job's
// place if they do not fit or hold no block.
struct Region {
    Bytes start;
    Bytes length;
};
Region region_of(const Job& job, int64_t clone, Bytes device);

// The job on a slice of its device: whatever is given in bytes of the device or of work is divided
// by the scale. A region stays so large that the job's I/Os in flight do not meet in it more often
// than one in a thousand, if it was so large before and `device`, the slice, holds it.
Job at_scale(Job job, int64_t scale, Bytes device);

} // namespace storlab::fio
