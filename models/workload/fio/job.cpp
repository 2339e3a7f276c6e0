#include "models/workload/fio/job_file.hpp"
#include "models/workload/fio/options.hpp"
#include <algorithm>
#include <cmath>

namespace storlab::fio {

Bytes BlockSizes::smallest() const {
    Bytes out = split.empty() ? low : split[0].size;
    for (const SizeShare& s : split) out = std::min(out, s.size);
    return out;
}
Bytes BlockSizes::largest() const {
    Bytes out = high;
    if (!split.empty()) out = split[0].size;
    for (const SizeShare& s : split) out = std::max(out, s.size);
    return out;
}
Bytes Extent::of(Bytes whole) const {
    if (!percent) return bytes;
    return Bytes(static_cast<int64_t>(static_cast<__int128>(whole.count()) * *percent / 100));
}
bool Job::reads() const {
    if (rw == Access::write || rw == Access::randwrite) return false;
    return rw == Access::read || rw == Access::randread || rwmixread > 0;
}
bool Job::writes() const {
    if (rw == Access::read || rw == Access::randread) return false;
    return rw == Access::write || rw == Access::randwrite || rwmixread < 100;
}
bool Job::is_random() const {
    return rw == Access::randread || rw == Access::randwrite || rw == Access::randrw;
}

namespace {

Bytes smallest_block(const Job& job) {
    if (!job.writes()) return job.block.read.smallest();
    if (!job.reads()) return job.block.write.smallest();
    return std::min(job.block.read.smallest(), job.block.write.smallest());
}
Bytes largest_block(const Job& job) {
    if (!job.writes()) return job.block.read.largest();
    if (!job.reads()) return job.block.write.largest();
    return std::max(job.block.read.largest(), job.block.write.largest());
}
std::string bytes_text(int64_t n) { return std::to_string(n) + " bytes"; }

void compose_blocks(const Draft& draft, Job& job) {
    for (const bool write : {false, true}) {
        BlockSizes& sizes = job.block.of(write);
        if (draft.bs.of(write)) sizes.low = sizes.high = *draft.bs.of(write);
        if (draft.bsrange.of(write))
            sizes.low = draft.bsrange.of(write)->first,
            sizes.high = draft.bsrange.of(write)->second;
        sizes.split = draft.bssplit.of(write);
    }
}

// fio limits each direction by itself; a mix that its rates do not have is not kept.
std::string mix_of_rates(const Job& job) {
    const double read = job.rate_iops.read->per_second(), write = job.rate_iops.write->per_second();
    const double percent = 100 * read / (read + write);
    if (std::abs(percent - job.rwmixread) < 1) return {};
    const auto number = [](double n) { return std::to_string(std::lround(n)); };
    std::string text = "limits reads and writes each, as in fio: at these rates " +
                       number(percent) + " % are reads, not " + number(job.rwmixread);
    if (read == write)
        text += "; for " + number(read) + " in all write " + number(read * job.rwmixread / 100) +
                "," + number(read * (100 - job.rwmixread) / 100);
    return text;
}

} // namespace

Job finish(const Draft& draft, std::vector<Remark>& notes, Complaints& complaints) {
    Job job = draft.job;
    compose_blocks(draft, job);
    const auto place = [&](const char* key) {
        const auto found = draft.places.find(key);
        return found == draft.places.end() ? job.place : found->second;
    };
    const auto given = [&](const char* key) { return draft.places.contains(key); };
    for (const bool write : {false, true})
        if (draft.bsrange.of(write) && !draft.bssplit.of(write).empty() &&
            (write ? job.writes() : job.reads()))
            complaints.add(place("bsrange"),
                           "bsrange and bssplit are both given; which one fio takes "
                           "depends on their order, so keep one");
    if (given("bs") && (given("bsrange") || given("bssplit")))
        notes.push_back({place("bs"), "bs",
                         std::string(given("bsrange") ? "bsrange" : "bssplit") +
                             " is given too and, as in fio, beats bs wherever it stands"});
    if ((job.rate.read || job.rate.write) && (job.rate_iops.read || job.rate_iops.write))
        complaints.add(place("rate_iops"), "rate and rate_iops exclude each other; keep one");
    if (job.rate_iops.read && job.rate_iops.write && job.reads() && job.writes() &&
        (given("rwmixread") || given("rwmixwrite")))
        if (std::string text = mix_of_rates(job); !text.empty())
            notes.push_back({place("rate_iops"), "rate_iops", std::move(text)});
    if (job.size && !job.size->percent && job.size->bytes < largest_block(job))
        complaints.add(place("size"), "size is " + bytes_text(job.size->bytes.count()) +
                                          ", less than one block of " +
                                          bytes_text(largest_block(job).count()));
    constexpr int64_t max_in_flight = int64_t{1} << 20; // of one job: each costs memory to simulate
    if (job.numjobs * job.iodepth > max_in_flight)
        complaints.add(place("iodepth"), "numjobs x iodepth is " +
                                             std::to_string(job.numjobs * job.iodepth) +
                                             "; expected at most " + std::to_string(max_in_flight));
    if (job.time_based && !job.runtime)
        notes.push_back({place("time_based"), "time_based",
                         "has no effect without runtime: the job ends when its size is done"});
    if (job.rate_process == RateProcess::poisson) {
        if (!job.rate.read && !job.rate.write && !job.rate_iops.read && !job.rate_iops.write)
            notes.push_back(
                {place("rate_process"), "rate_process", "has no effect without a rate"});
        else if (!job.offload)
            notes.push_back(
                {place("rate_process"), "rate_process",
                 "without io_submit_mode=offload an arrival waits while iodepth I/Os are "
                 "out: the load is not open"});
    }
    // As in fio, a skew or a grid coarser or finer than the blocks turns the random map off.
    if (job.random_distribution.kind != Spread::uniform) job.norandommap = true;
    for (const bool write : {false, true}) {
        const Bytes align = job.blockalign.of(write);
        const bool used = write ? job.writes() : job.reads();
        if (used && align > Bytes() && align != job.block.of(write).smallest())
            job.norandommap = true;
    }
    return job;
}

Depth effective_depth(const Job& job) {
    Depth depth{job.iodepth, 0, {}};
    const auto cap = [&](int64_t at, const char* why) {
        if (depth.per_clone <= at) return;
        depth.per_clone = at;
        depth.reasons.emplace_back(why);
    };
    switch (job.ioengine) {
    case Engine::sync:
    case Engine::psync:
    case Engine::vsync:
    case Engine::pvsync:
    case Engine::pvsync2:
        cap(1, "a synchronous ioengine has one I/O in flight; iodepth has no effect");
        break;
    case Engine::libaio:
        if (!job.direct) cap(1, "libaio without direct=1 is not asynchronous: io_submit waits");
        break;
    case Engine::io_uring:
    case Engine::io_uring_cmd:
    case Engine::posixaio: break;
    }
    if (job.thinktime > Duration()) {
        const bool unset = !job.thinktime_blocks && job.thinktime_iotime == Duration();
        if (unset) cap(1, "thinktime without thinktime_blocks waits after every I/O");
        else if (job.thinktime_blocks && job.thinktime_blocks_type == ThinkAfter::complete)
            cap(*job.thinktime_blocks,
                "thinktime waits until all thinktime_blocks I/Os are complete");
    }
    depth.total = depth.per_clone * job.numjobs;
    return depth;
}

Region region_of(const Job& job, int64_t clone, Bytes device) {
    const int64_t grid = smallest_block(job).count();
    const __int128 whole = device.count();
    __int128 start = job.offset.of(device).count();
    start += static_cast<__int128>(job.offset_increment.of(device).count()) * clone;
    if (job.offset.percent || job.offset_increment.percent)
        start = (start + grid - 1) / grid * grid;
    const auto refuse = [&](const std::string& what) {
        throw InputError(job.place, "job '" + job.name + "', clone " + std::to_string(clone) +
                                        ": " + what + "; the device has " +
                                        bytes_text(device.count()));
    };
    if (start >= whole) refuse("its region starts at or beyond the end of the device");
    __int128 length = whole - start;
    if (job.size) {
        length = job.size->of(device).count();
        // A size in bytes is for all files of the job together, as in fio.
        if (!job.size->percent) length /= std::max<int64_t>(1, std::ssize(job.filename));
        else length -= length % grid;
        const __int128 over = start + length - whole;
        if (job.size->percent && over > 0 && over < grid) length -= grid; // from rounding start up
        else if (over > 0)
            refuse("its region ends " + bytes_text(static_cast<int64_t>(over)) +
                   " beyond the end of the device");
    }
    if (length < largest_block(job).count())
        refuse("its region of " + bytes_text(static_cast<int64_t>(length)) + " holds no block of " +
               bytes_text(largest_block(job).count()));
    return {Bytes(static_cast<int64_t>(start)), Bytes(static_cast<int64_t>(length))};
}

Job at_scale(Job job, int64_t scale, Bytes device) {
    if (scale == 1) return job;
    const int64_t grid = smallest_block(job).count();
    const auto part = [&](Bytes whole) {
        const int64_t n = whole.count() / scale;
        return Bytes(n - n % grid);
    };
    for (Extent* e : {&job.offset, &job.offset_increment}) e->bytes = part(e->bytes);
    for (auto* zones : {&job.random_distribution.zones.read, &job.random_distribution.zones.write})
        for (Zone& z : *zones)
            if (z.space > Bytes()) z.space = std::max(part(z.space), Bytes(grid));
    const Bytes block = largest_block(job);
    if (job.io_size) job.io_size->bytes = std::max(part(job.io_size->bytes), block);
    if (!job.size || job.size->percent) return job;
    const Bytes whole = job.size->bytes;
    if (!job.io_size) job.io_size = Extent{std::max(part(whole), block), {}};
    const Bytes apart = block * (1000 * effective_depth(job).total);
    const Bytes before =
        job.offset.of(device) + job.offset_increment.of(device) * (job.numjobs - 1);
    const Bytes left = Bytes((device - before).count() / grid * grid);
    job.size->bytes = std::max({part(whole), std::min({whole, apart, left}), block});
    return job;
}

} // namespace storlab::fio
