#include "models/workload/fio/options.hpp"
#include "models/workload/fio/buffer_pattern.hpp"
#include "models/workload/fio/option_enums.hpp"
#include <unordered_map>

namespace storlab::fio {
namespace {

// One setting on its way into a draft.
struct Reading {
    Draft& draft;
    Job& job;
    Text value;
    Context context;
    bool bare; // the key stands alone

    Text needed() const {
        if (bare) throw InputError(value.where, "'" + context.key + "' needs a value");
        return value;
    }
    int64_t count(int64_t low, int64_t high) const {
        return number_within(needed(), context, low, high);
    }
    bool flag() const { // alone, 1 or 0
        if (bare || value.text == "1") return true;
        if (value.text == "0") return false;
        throw InputError(value.where, quoted(value.text) + " is no switch; expected 0 or 1");
    }
    Duration time(Duration unit) const { return parse_time(needed().text, value.where, unit); }
    int percent() const { return parse_percent(needed().text, value.where); }
    std::string text() const { return std::string(needed().text); }
};

// rw=randread:8 or write:4k
void read_rw(const Reading& r) {
    const Text value = r.needed();
    const size_t colon = value.text.find(':');
    Job& job = r.job;
    job.rw = access_named(value.sub(0, colon));
    job.random_run = 1;
    job.hole = Bytes();
    if (colon == std::string_view::npos) return;
    const Text suffix = value.sub(colon + 1);
    if (job.is_random()) job.random_run = number_within(suffix, r.context, 1, INT32_MAX);
    else job.hole = Bytes(number_within(suffix, r.context, 0, INT64_MAX / 4));
}
void read_rate(const Reading& r) {
    by_direction(
        r.needed(),
        [&](bool write, const Text& t) {
            const int64_t n = number(t, r.context);
            r.job.rate.of(write).reset();
            if (n > 0) r.job.rate.of(write) = Rate::bytes_per_second(static_cast<double>(n));
        },
        [&](const Text& t) { number(t, r.context); });
}
void read_rate_iops(const Reading& r) {
    by_direction(
        r.needed(),
        [&](bool write, const Text& t) {
            const int64_t n = number(t, r.context);
            r.job.rate_iops.of(write).reset();
            if (n > 0) r.job.rate_iops.of(write) = Iops(static_cast<double>(n));
        },
        [&](const Text& t) { number(t, r.context); });
}
void read_bs(const Reading& r) {
    by_direction(
        r.needed(),
        [&](bool write, const Text& t) { r.draft.bs.of(write) = block_size(t, r.context); },
        [&](const Text& t) { block_size(t, r.context); });
}
void read_bsrange(const Reading& r) {
    by_direction(
        r.needed(),
        [&](bool write, const Text& t) { r.draft.bsrange.of(write) = block_range(t, r.context); },
        [&](const Text& t) { block_range(t, r.context); });
}
void read_bssplit(const Reading& r) {
    by_direction(
        r.needed(),
        [&](bool write, const Text& t) { r.draft.bssplit.of(write) = size_shares(t, r.context); },
        [&](const Text& t) { size_shares(t, r.context); });
}
void read_blockalign(const Reading& r) {
    by_direction(
        r.needed(),
        [&](bool write, const Text& t) { r.job.blockalign.of(write) = block_size(t, r.context); },
        [&](const Text& t) { block_size(t, r.context); });
}
void read_percentage_random(const Reading& r) {
    by_direction(
        r.needed(),
        [&](bool write, const Text& t) {
            r.job.percentage_random.of(write) = parse_percent(t.text, t.where);
        },
        [&](const Text& t) { parse_percent(t.text, t.where); });
}
void read_size(const Reading& r) {
    const Extent e = extent(r.needed(), r.context);
    if (e.percent == 0) throw InputError(r.value.where, "is 0 %: no room for a block");
    r.job.size.reset();
    if (e.percent || e.bytes > Bytes()) r.job.size = e; // size=0 is unset to fio
}
void read_io_size(const Reading& r) {
    const Extent e = extent(r.needed(), r.context);
    r.job.io_size.reset();
    if (e.percent || e.bytes > Bytes()) r.job.io_size = e;
}
void read_kb_base(const Reading& r) {
    const std::string_view text = r.needed().text;
    if (text != "1000" && text != "1024")
        throw InputError(r.value.where, "kb_base is 1000 or 1024");
    r.draft.base = text == "1000" ? KbBase::k1000 : KbBase::k1024;
}
void read_startdelay(const Reading& r) {
    if (r.needed().text.find('-', 1) != std::string_view::npos)
        throw InputError(r.value.where,
                         "is a random delay, which storlab does not model; expected one time");
    r.job.startdelay = r.time(Duration::s(1));
}
void read_runtime(const Reading& r) {
    const Duration t = r.time(Duration::s(1));
    r.job.runtime.reset();
    if (t > Duration()) r.job.runtime = t; // runtime=0 is unset to fio
}

void read_buffer_pattern(const Reading& r) {
    pattern_bytes(r.needed().text, r.value.where); // or complains
    r.job.buffer_pattern = r.text();
}

using Handler = void (*)(const Reading&);
const std::unordered_map<std::string, Handler>& shape_handlers() {
    static const std::unordered_map<std::string, Handler> handlers = {
        {"rw", read_rw},
        {"bs", read_bs},
        {"bsrange", read_bsrange},
        {"bssplit", read_bssplit},
        {"blockalign", read_blockalign},
        {"percentage_random", read_percentage_random},
        {"rate", read_rate},
        {"rate_iops", read_rate_iops},
        {"size", read_size},
        {"io_size", read_io_size},
        {"kb_base", read_kb_base},
        {"startdelay", read_startdelay},
        {"runtime", read_runtime},
        {"name", [](const Reading& r) { r.job.name = r.text(); }},
        {"offset", [](const Reading& r) { r.job.offset = extent(r.needed(), r.context); }},
        {"offset_increment",
         [](const Reading& r) { r.job.offset_increment = extent(r.needed(), r.context); }},
        {"random_distribution",
         [](const Reading& r) { r.job.random_distribution = distribution(r.needed(), r.context); }},
        {"filename", [](const Reading& r) { r.job.filename = file_list(r.needed()); }},
        {"directory", [](const Reading& r) { r.job.directory = r.text(); }},
        {"cpus_allowed", [](const Reading& r) { r.job.cpus_allowed = cpu_list(r.needed()); }},
        {"buffer_pattern", read_buffer_pattern},
        {"ioengine", [](const Reading& r) { r.job.ioengine = engine_named(r.needed()); }},
        {"sync", [](const Reading& r) { r.job.sync = sync_named(r.needed()); }},
        {"rw_sequencer", [](const Reading& r) { r.job.sequencer = sequencer_named(r.needed()); }},
        {"rate_process",
         [](const Reading& r) { r.job.rate_process = rate_process_named(r.needed()); }},
        {"io_submit_mode", [](const Reading& r) { r.job.offload = offload_named(r.needed()); }},
        {"thinktime_blocks_type",
         [](const Reading& r) { r.job.thinktime_blocks_type = think_after_named(r.needed()); }},
        {"unified_rw_reporting",
         [](const Reading& r) { r.job.unified_rw_reporting = reporting_named(r.needed()); }},
    };
    return handlers;
}
const std::unordered_map<std::string, Handler>& plain_handlers() {
    static const std::unordered_map<std::string, Handler> handlers = {
        {"bs_unaligned", [](const Reading& r) { r.job.bs_unaligned = r.flag(); }},
        {"direct", [](const Reading& r) { r.job.direct = r.flag(); }},
        {"buffered", [](const Reading& r) { r.job.direct = !r.flag(); }},
        {"end_fsync", [](const Reading& r) { r.job.end_fsync = r.flag(); }},
        {"rate_ignore_thinktime", [](const Reading& r) { r.job.rate_ignore_thinktime = r.flag(); }},
        {"norandommap", [](const Reading& r) { r.job.norandommap = r.flag(); }},
        {"randrepeat", [](const Reading& r) { r.job.randrepeat = r.flag(); }},
        {"time_based", [](const Reading& r) { r.job.time_based = r.flag(); }},
        {"stonewall", [](const Reading& r) { r.job.stonewall = r.flag(); }},
        {"new_group", [](const Reading& r) { r.job.new_group = r.flag(); }},
        {"group_reporting", [](const Reading& r) { r.job.group_reporting = r.flag(); }},
        // Of the two, the later line holds.
        {"rwmixread", [](const Reading& r) { r.job.rwmixread = r.percent(); }},
        {"rwmixwrite", [](const Reading& r) { r.job.rwmixread = 100 - r.percent(); }},
        {"iodepth", [](const Reading& r) { r.job.iodepth = r.count(1, max_depth); }},
        {"numjobs", [](const Reading& r) { r.job.numjobs = r.count(1, max_clones); }},
        {"fsync", [](const Reading& r) { r.job.fsync = r.count(0, INT32_MAX); }},
        {"fdatasync", [](const Reading& r) { r.job.fdatasync = r.count(0, INT32_MAX); }},
        {"number_ios", [](const Reading& r) { r.job.number_ios = r.count(0, INT64_MAX); }},
        {"randseed",
         [](const Reading& r) { r.job.randseed = static_cast<uint64_t>(r.count(0, INT64_MAX)); }},
        {"thinktime", [](const Reading& r) { r.job.thinktime = r.time(Duration::us(1)); }},
        {"thinktime_spin",
         [](const Reading& r) { r.job.thinktime_spin = r.time(Duration::us(1)); }},
        {"thinktime_iotime",
         [](const Reading& r) { r.job.thinktime_iotime = r.time(Duration::s(1)); }},
        {"thinktime_blocks",
         [](const Reading& r) { r.job.thinktime_blocks = r.count(1, INT32_MAX); }},
        {"ramp_time", [](const Reading& r) { r.job.ramp_time = r.time(Duration::s(1)); }},
    };
    return handlers;
}

} // namespace

void apply(const Setting& setting, Draft& draft, std::vector<Remark>& notes) {
    const std::string key = canonical(setting.key);
    const bool bare = !setting.value;
    const SourcePlace& where = bare ? setting.key_place : setting.value_place;
    const Text value{bare ? std::string_view() : std::string_view(*setting.value), where,
                     setting.as_written};
    const Reading reading{draft, draft.job, value, Context{draft.base, setting.key, &notes}, bare};
    auto handler = shape_handlers().find(key);
    if (handler == shape_handlers().end()) {
        handler = plain_handlers().find(key);
        STORLAB_ENSURE(handler != plain_handlers().end()); // every modelled name has a handler
    }
    handler->second(reading);
    draft.places[key] = where;
}

} // namespace storlab::fio
