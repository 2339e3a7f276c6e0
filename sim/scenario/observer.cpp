#include "sim/scenario/observer.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace storlab {

namespace {
std::vector<std::string> names_of_layers() { return {layer_names.begin(), layer_names.end()}; }
constexpr int input_output_error = 5; // EIO, as fio reports it

// "4KiB", "4KiB to 64KiB", "50% 4KiB, 50% 1MiB": a mean would say nothing about a mix.
std::string describe(const fio::BlockSizes& b) {
    constexpr size_t easily_listed = 3;
    if (b.split.empty())
        return format_size(b.low) + (b.low == b.high ? "" : " to " + format_size(b.high));
    if (b.split.size() > easily_listed)
        return std::to_string(b.split.size()) + " sizes of " + format_size(b.smallest()) + " to " +
               format_size(b.largest());
    std::string text;
    for (const fio::SizeShare& s : b.split) {
        char percent[32];
        std::snprintf(percent, sizeof percent, "%.3g%% ", s.percent);
        text += (text.empty() ? "" : ", ") + (percent + format_size(s.size));
    }
    return text;
}
std::string describe(const fio::Job& j) {
    static constexpr const char* names[] = {"read",      "write", "randread",
                                            "randwrite", "rw",    "randrw"};
    std::string text = names[static_cast<int>(j.rw)];
    if (!j.reads() || !j.writes()) return text + " " + describe(j.block.of(j.writes()));
    text += " " + std::to_string(j.rwmixread) + "/" + std::to_string(100 - j.rwmixread) + " ";
    if (j.block.read == j.block.write) return text + describe(j.block.read);
    return text + describe(j.block.read) + " / " + describe(j.block.write);
}
std::string describe(const LoadSchema& load) {
    std::vector<std::string> different;
    for (const fio::Job& j : load.jobs) {
        std::string text = describe(j);
        if (std::count(different.begin(), different.end(), text) == 0)
            different.push_back(std::move(text));
    }
    std::string all;
    constexpr size_t easily_read = 3;
    for (size_t i = 0; i < different.size() && i < easily_read; i++)
        all += (i ? "; " : "") + different[i];
    if (different.size() > easily_read)
        all += "; " + std::to_string(different.size() - easily_read) + " more";
    if (!load.open) return all;
    double offered = 0;
    for (const fio::Job& j : load.jobs)
        for (const auto& [rate, used] :
             {std::pair{j.rate_iops.read, j.reads()}, std::pair{j.rate_iops.write, j.writes()}})
            if (rate && used) offered += rate->per_second() * static_cast<double>(j.numjobs);
    return all + ", " + format_count(offered) + " a second offered";
}
} // namespace

LoadObserver::LoadObserver(const LoadSchema& load, Duration step)
    : load_(load), jobs_(load.jobs.size()), spans_(names_of_layers()) {
    if (step > Duration{}) series_.emplace(step, Instant{});
}

void LoadObserver::use_step(Duration step, Instant now) { series_.emplace(step, now); }

void LoadObserver::completed(const IoRecord& io) {
    const Instant now = io.completed;
    integrate(now);
    in_flight_--;
    completed_total_++;
    const Duration latency = now - io.issued;
    latency_total_ += latency;
    if (is_followed(io.issued)) {
        followed_--;
        followed_latency_ += latency.in_seconds();
    }
    if (now > until_ && io.issued <= until_)
        oldest_at_end_ = std::max(oldest_at_end_, until_ - io.issued);
    if (now <= until_ && !phases_.empty()) count_in_phase(io, latency);
    JobCount& job = jobs_[io.job];
    if (io.op == Op::flush) return job.flushes.record(latency);
    Direction& d = io.op == Op::read ? job.read : job.write;
    d.last = now;
    d.job.ios++;
    if (io.status != IoStatus::ok) {
        d.flow.errors++;
        job.error = input_output_error;
        return;
    }
    d.flow.bytes += io.bytes;
    if (io.op == Op::write) written_total_ += io.bytes;
    d.flow.latency.record(latency);
    if (io.span) spans_.record(io.span->spent_ps().data(), latency);
    if (series_) series_->record(now, latency, Bytes(io.bytes));
}

void LoadObserver::restart(Instant now) {
    integrate(now);
    integral_ = followed_integral_ = followed_latency_ = 0;
    followed_ = 0;
    since_ = now;
    jobs_.assign(jobs_.size(), {});
    spans_.clear();
    last_end_ = now;
    phases_.clear();
    if (series_) series_->restart(now);
}

void LoadObserver::close(Instant now) {
    integrate(now);
    until_ = now;
    in_flight_at_end_ = in_flight_;
    end_phase(now);
    if (series_) series_->advance(now);
}

void LoadObserver::limit_in_flight(uint64_t most, std::function<void()> overflow) {
    most_in_flight_ = most;
    on_overflow_ = std::move(overflow);
}
void LoadObserver::overflow() {
    most_in_flight_ = ~uint64_t{0};
    on_overflow_();
}

void LoadObserver::begin_phase(Instant now) {
    end_phase(now);
    phases_.push_back({now, {}, {}});
}
// A gap that an event falls into counts before it as far as it had come, and after it as a whole.
void LoadObserver::end_phase(Instant now) {
    if (phases_.empty()) return;
    Duration& longest = phases_.back().longest_gap;
    longest = std::max(longest, now - last_end_);
}
void LoadObserver::count_in_phase(const IoRecord& io, Duration latency) {
    PhaseCount& phase = phases_.back();
    if (io.status != IoStatus::ok) {
        phase.flow.errors++;
        return;
    }
    if (io.op == Op::flush) return;
    phase.flow.bytes += io.bytes;
    phase.flow.latency.record(latency);
    phase.longest_gap = std::max(phase.longest_gap, io.completed - last_end_);
    last_end_ = io.completed;
}
void LoadObserver::phase_results(const std::vector<std::string>& ends,
                                 std::vector<PhaseResult>& out) const {
    for (size_t i = 0; i < phases_.size(); i++) {
        const bool last = i + 1 == phases_.size();
        const PhaseCount& p = phases_[i];
        out.push_back({load_.name, last ? "" : ends[i], p.from, last ? until_ : phases_[i + 1].from,
                       p.flow, p.longest_gap});
    }
}

void LoadObserver::add_unfinished(LoadResult& r) const {
    r.in_flight_at_end = in_flight_at_end_;
    r.oldest_at_end = oldest_at_end_;
}

double LoadObserver::littles_law_gap() const {
    return followed_integral_ > 0 ? std::abs(followed_latency_ / followed_integral_ - 1) : 0;
}

LoadResult LoadObserver::load_result(Duration measured) const {
    LoadResult r;
    r.name = load_.name;
    r.what = describe(load_);
    r.loop = load_.open ? Loop::open : Loop::closed;
    r.reads = std::any_of(load_.jobs.begin(), load_.jobs.end(),
                          [](const fio::Job& j) { return j.reads(); });
    r.measured = measured;
    r.effective_depth = mean_in_flight(measured);
    for (const JobCount& j : jobs_)
        for (const auto& [from, to] :
             {std::pair{&j.read, &r.read}, std::pair{&j.write, &r.write}}) {
            to->errors += from->flow.errors;
            to->bytes += from->flow.bytes;
            to->latency.merge(from->flow.latency);
        }
    return r;
}

void LoadObserver::job_results(Duration measured, std::vector<JobResult>& out) const {
    for (size_t i = 0; i < jobs_.size(); i++) {
        JobResult r;
        r.name = load_.jobs[i].name;
        r.group = static_cast<int>(out.size());
        r.error = jobs_[i].error;
        r.elapsed = r.job_runtime = measured;
        r.options = load_.options;
        r.sync = jobs_[i].flushes;
        for (const auto& [from, to] :
             {std::pair{&jobs_[i].read, &r.read}, std::pair{&jobs_[i].write, &r.write}}) {
            *to = from->job;
            to->bytes = from->flow.bytes;
            to->completion = to->latency = from->flow.latency;
            to->runtime = from->job.ios ? measured : Duration{};
        }
        out.push_back(std::move(r));
    }
}

void LoadObserver::append_series(Series& series, const std::string& prefix) const {
    if (series_) series_->append_to(series, prefix);
}

} // namespace storlab
