#include "sim/scenario/conductor.hpp"
#include "sim/base/text.hpp"
#include <algorithm>
#include <chrono>

namespace storlab {

namespace {
// A window holds this many I/Os and an eighth of what is in flight. Short windows cost nothing: the
// monitor merges them until neighbours are independent.
constexpr uint64_t ios_a_window = 50;
constexpr uint64_t most_ios = 60'000'000; // a run that is not confident by then says so
constexpr Duration most_simulated = Duration::s(600);
constexpr Duration longest_pilot = Duration::s(20);
constexpr double warm = 0.5; // the interval only has to exist: no trend is left

int64_t wall_ms() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}
// 1, 2 or 5 times a power of ten.
Duration rounded_up(Duration d) {
    for (int64_t unit = 1000;; unit *= 10)
        for (const int64_t step : {1, 2, 5})
            if (Duration::ps(step * unit) >= d) return Duration::ps(step * unit);
}
} // namespace

Conductor::Conductor(const RunSchema& run, const RunControl& control, Clock& clock, Stage& stage,
                     std::vector<std::unique_ptr<LoadObserver>>& loads,
                     std::function<void()> begin_measuring)
    : run_(run), control_(control), clock_(clock), stage_(stage), loads_(loads),
      begin_measuring_(std::move(begin_measuring)),
      monitor_(SteadyMonitor::Options{warm, 0.95, 100}) {
    tick_.conductor = this;
    tick_.phase = Phase::report;
    tick_.fire = [](Event& e) { static_cast<Tick&>(e).conductor->window_over(); };
}

uint64_t Conductor::total_ios() const {
    uint64_t n = 0;
    for (const auto& l : loads_) n += l->completed_total();
    return n;
}
Duration Conductor::total_latency() const {
    Duration d;
    for (const auto& l : loads_) d += l->latency_total();
    return d;
}

void Conductor::start(Duration fixed_length) {
    fixed_ = fixed_length;
    if (fixed_ > Duration{}) { // no trend to wait for: the length was asked for
        const Duration warm_up = run_.warm_up.value_or(Duration{});
        window_ = run_.step > Duration{} ? run_.step : rounded_up(fixed_ / 200);
        part_ = Part::warming_up;
        warm_at_ = clock_.now() + warm_up;
        if (warm_up == Duration{}) measure();
    } else if (run_.until == Until::load && !run_.warm_up) { // all of a load that ends by itself
        window_ = run_.step > Duration{} ? run_.step : Duration::ms(10);
        measure();
    }
    next_window();
}

// A length that was asked for is kept, however long a window is.
void Conductor::next_window() {
    Instant at = clock_.now() + window_;
    if (fixed_ > Duration{})
        at = std::min(at, part_ == Part::measuring ? from_ + fixed_ : warm_at_);
    clock_.wake(tick_, at);
}

bool Conductor::go_on() {
    const int64_t now = wall_ms();
    if (!control_.progress || now - told_ms_ < 200) return true;
    told_ms_ = now;
    Progress p;
    p.simulated = clock_.now().since_start();
    p.ios = total_ios();
    p.phase = part_ == Part::measuring ? "measuring" : "warming up";
    if (part_ == Part::measuring) {
        const double seconds = (clock_.now() - from_).in_seconds();
        uint64_t measured = 0;
        for (const auto& l : loads_)
            measured += iops(l->load_result(clock_.now() - from_)) * seconds;
        p.iops = seconds > 0 ? static_cast<double>(measured) / seconds : 0;
        if (const auto ci = iops_ci95())
            p.phase += ", +-" + std::to_string(*ci * 100).substr(0, 4) + " %";
    }
    return control_.progress(p);
}

void Conductor::window_over() {
    if (part_ == Part::over) return;
    if (!go_on()) return finish(StopReason::interrupted, true);
    const Instant now = clock_.now();
    if (part_ == Part::pilot) return pilot();
    if (fixed_ > Duration{}) {
        if (part_ == Part::warming_up) {
            if (now >= warm_at_) measure();
            else return next_window();
        } else if (now >= from_ + fixed_)
            return finish(
                run_.until == Until::timeline ? StopReason::timeline : StopReason::duration, false);
    }
    const uint64_t ios = total_ios();
    const Duration latency = total_latency();
    const double in_window = static_cast<double>(ios - ios_);
    monitor_.add(in_window / window_.in_seconds(),
                 in_window > 0 ? (latency - latency_).in_seconds() / in_window : 0);
    ios_ = ios;
    latency_ = latency;
    if (fixed_ > Duration{}) return next_window();

    const SteadyMonitor::Verdict v = monitor_.verdict();
    const bool steady =
        v.state == SteadyMonitor::State::confident || v.state == SteadyMonitor::State::wide;
    if (run_.until != Until::load) {
        if (ios > most_ios) detail_ = format_count(double(most_ios)) + " I/Os";
        else if (now.since_start() > most_simulated) detail_ = format_duration(most_simulated);
        if (!detail_.empty()) {
            detail_ += " were not enough for the confidence asked for";
            return finish(StopReason::limit, true);
        }
    }
    if (part_ == Part::warming_up) {
        const bool asked = run_.warm_up && now.since_start() >= *run_.warm_up;
        if (run_.warm_up ? asked : steady) measure();
    } else if (v.confident() && run_.until == Until::confident)
        return finish(StopReason::confident, false);
    next_window();
}

// Doubles the window until it holds enough I/Os.
void Conductor::pilot() {
    const uint64_t ios = total_ios(), in_window = ios - ios_;
    double in_flight = 0;
    const Duration so_far = clock_.now().since_start();
    for (const auto& l : loads_) in_flight += l->mean_in_flight(so_far);
    const uint64_t wanted = ios_a_window + static_cast<uint64_t>(in_flight / 8);
    ios_ = ios;
    latency_ = total_latency();
    if (in_window < wanted && so_far < longest_pilot) {
        window_ = window_ * 2;
        return next_window();
    }
    if (in_window > 2 * wanted)
        window_ = window_.scaled(static_cast<double>(wanted) / static_cast<double>(in_window));
    window_ = rounded_up(window_);
    if (run_.step > Duration{}) window_ = run_.step;
    part_ = Part::warming_up;
    next_window();
}

void Conductor::measure() {
    part_ = Part::measuring;
    from_ = clock_.now();
    const double target = control_.quick ? run_.confidence * 10 : run_.confidence;
    monitor_ = SteadyMonitor(SteadyMonitor::Options{target, 0.95, 60});
    ios_ = total_ios();
    latency_ = total_latency();
    for (auto& l : loads_) {
        l->use_step(window_, from_);
        l->restart(from_);
    }
    begin_measuring_();
}

void Conductor::finish(StopReason reason, bool partial) {
    if (part_ == Part::over) return;
    if (part_ != Part::measuring) from_ = Instant(); // all there is
    part_ = Part::over;
    reason_ = reason;
    partial_ = partial;
    ended_ = clock_.now();
    stage_.stop();
}

void Conductor::overflow(const std::string& load, uint64_t in_flight) {
    detail_ = load + " has " + format_count(static_cast<double>(in_flight)) +
              " I/Os in flight, and more arrive than end: it asks for more than can be served";
    finish(StopReason::limit, true);
}

void Conductor::load_ended() { finish(StopReason::load_ended, false); }

std::optional<double> Conductor::iops_ci95() const {
    const auto v = monitor_.verdict();
    if (!v.throughput) return std::nullopt;
    return v.throughput->relative();
}

} // namespace storlab
