#include "models/workload/fio/pattern.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace storlab::fio {

Permutation::Permutation(uint64_t n, Random& random) : n_(n) {
    STORLAB_ENSURE(n > 0 && n <= uint64_t{1} << 62);
    const int bits = std::max(2, static_cast<int>(std::bit_width(n - 1)));
    low_bits_ = bits / 2;
    high_bits_ = bits - low_bits_;
    // Four rounds pass for a random permutation (Luby and Rackoff, 1988) if the halves are wide;
    // the few values of a narrow half need more.
    rounds_ = bits < 16 ? most_rounds : 4;
    for (int i = 0; i < rounds_; i++) keys_[i] = random.next();
    shift_ = random.below(n);
}
uint64_t Permutation::operator()(uint64_t i) const {
    STORLAB_ENSURE(i < n_);
    const uint64_t low_mask = (uint64_t{1} << low_bits_) - 1;
    const uint64_t high_mask = (uint64_t{1} << high_bits_) - 1;
    do { // outside [0, n): walk on along the cycle, which comes back in
        uint64_t low = i & low_mask, high = i >> low_bits_;
        for (int round = 0; round < rounds_; round += 2) {
            low ^= mix(high ^ keys_[round]) & low_mask;
            high ^= mix(low ^ keys_[round + 1]) & high_mask;
        }
        i = high << low_bits_ | low;
    } while (i >= n_);
    return i < n_ - shift_ ? i + shift_ : i - (n_ - shift_);
}

namespace {
// (e^t - 1) / t and ln(1 + t) / t, whole at t = 0.
double expm1_over(double t) { return std::abs(t) > 1e-8 ? std::expm1(t) / t : 1 + t / 2; }
double log1p_over(double t) { return std::abs(t) > 1e-8 ? std::log1p(t) / t : 1 - t / 2; }
} // namespace

Zipf::Zipf(uint64_t n, double theta) : n_(static_cast<double>(n)), theta_(theta) {
    STORLAB_ENSURE(n > 0 && theta > 0);
    // Rank k owns the area under x^-theta from k - 1/2 to k + 1/2, of which only its weight
    // k^-theta is used; the first rank's area is cut to exactly its weight, 1.
    area_first_ = integral(1.5) - 1;
    area_last_ = integral(n_ + 0.5);
    accept_ = 2 - inverse(integral(2.5) - std::pow(2, -theta));
}
double Zipf::integral(double x) const {
    const double log_x = std::log(x);
    return expm1_over((1 - theta_) * log_x) * log_x;
}
double Zipf::inverse(double area) const {
    const double t = std::max(area * (1 - theta_), -1.0); // rounding may step below -1
    return std::exp(log1p_over(t) * area);
}
uint64_t Zipf::draw(Random& random) const {
    for (;;) {
        const double area = area_last_ + random.uniform() * (area_first_ - area_last_);
        const double x = inverse(area);
        const double k = std::clamp(std::floor(x + 0.5), 1.0, n_);
        if (k - x <= accept_ || area >= integral(k + 0.5) - std::pow(k, -theta_))
            return static_cast<uint64_t>(k) - 1;
    }
}

AddressPattern::AddressPattern(const Job& job, uint32_t clone, Bytes device, Random random)
    : random_(random), region_(region_of(job, clone, device)), is_random_(job.is_random()),
      map_(!job.norandommap), unaligned_(job.bs_unaligned), sequencer_(job.sequencer),
      random_run_(job.random_run), hole_(static_cast<uint64_t>(job.hole.count())),
      spread_(job.random_distribution.kind) {
    read_share_ = !job.writes() ? 1 : !job.reads() ? 0 : job.rwmixread / 100.0;
    const double parameter = job.random_distribution.parameter;
    // A uniform draw to this power falls into the first s of the ranks with chance s^(1/exponent).
    if (spread_ == Spread::pareto) exponent_ = std::log(parameter) / std::log(1 - parameter);
    if (spread_ == Spread::normal) deviation_ = parameter / 100;
    // Only the directions that are drawn: the other one's sizes need not fit.
    set_up_lane(job, !job.reads());
    if (job.reads() && job.writes()) set_up_lane(job, true);
}

void AddressPattern::set_up_lane(const Job& job, bool write) {
    Lane& lane = lanes_[write];
    const BlockSizes& sizes = job.block.of(write);
    lane.low = static_cast<uint32_t>(sizes.low.count());
    lane.high = static_cast<uint32_t>(sizes.high.count());
    double sum = 0;
    for (const SizeShare& s : sizes.split)
        lane.split.push_back({(sum += s.percent) / 100, static_cast<uint32_t>(s.size.count())});
    if (!lane.split.empty()) lane.split.back().until = 1; // rounding
    const Bytes align = job.blockalign.of(write);
    const Bytes smallest = sizes.smallest();
    lane.align = static_cast<uint64_t>(align > Bytes() ? align.count() : smallest.count());
    lane.starts = static_cast<uint64_t>((region_.length - smallest).count()) / lane.align + 1;
    lane.random_share = job.percentage_random.of(write) / 100.0;
    if (!is_random_) return;
    const bool shares =
        write && job.reads() && lane.starts == lanes_[0].starts && lane.align == lanes_[0].align;
    lane.walk = write && !shares;
    if (!shares) walks_[lane.walk].order = Permutation(lane.starts, random_);
    const Distribution& d = job.random_distribution;
    if (d.center) {
        const double at = std::floor(*d.center * static_cast<double>(lane.starts));
        const uint64_t hottest = std::min(static_cast<uint64_t>(at), lane.starts - 1);
        lane.shift = (hottest + lane.starts - walks_[lane.walk].order(0)) % lane.starts;
    }
    if (d.kind == Spread::zipf) lane.zipf = Zipf(lane.starts, d.parameter);
    if (d.kind == Spread::zoned || d.kind == Spread::zoned_abs) set_up_zones(job, write);
}

void AddressPattern::set_up_zones(const Job& job, bool write) {
    Lane& lane = lanes_[write];
    const bool by_percent = spread_ == Spread::zoned;
    double access = 0, space = 0;
    uint64_t first = 0, bytes = 0;
    for (const Zone& zone : job.random_distribution.zones.of(write)) {
        space += zone.space_percent;
        bytes += std::min(static_cast<uint64_t>(zone.space.count()), uint64_t{1} << 62);
        bytes = std::min(bytes, static_cast<uint64_t>(region_.length.count()));
        uint64_t end = bytes / lane.align;
        if (by_percent)
            end = static_cast<uint64_t>(space / 100 * static_cast<double>(lane.starts) + 1e-6);
        else if (zone.space == Bytes()) end = lane.starts; // the rest
        end = std::min(end, lane.starts);
        if (end <= first && zone.access_percent > 0)
            throw InputError(job.place, "job '" + job.name +
                                            "': a zone of its random_distribution " +
                                            "holds no block in a region of " +
                                            std::to_string(region_.length.count()) + " bytes");
        access += zone.access_percent;
        if (zone.access_percent > 0) lane.zones.push_back({access / 100, first, end - first});
        first = end;
    }
    if (!lane.zones.empty()) lane.zones.back().until = 1; // rounding
}

uint32_t AddressPattern::draw_size(const Lane& lane) {
    if (!lane.split.empty()) {
        const double u = random_.uniform();
        for (const SizeCut& cut : lane.split)
            if (u < cut.until) return cut.bytes;
    }
    if (lane.low == lane.high) return lane.low;
    if (unaligned_) { // the highest size gets what goes beyond it (fio 3.33, measured)
        const uint64_t drawn = lane.low + random_.below(lane.high);
        return static_cast<uint32_t>(std::min<uint64_t>(drawn, lane.high));
    }
    return lane.low * static_cast<uint32_t>(1 + random_.below(lane.high / lane.low));
}

uint64_t AddressPattern::draw_mapped(Walk& walk) {
    if (walk.next == walk.order.size()) walk = {Permutation(walk.order.size(), random_), 0};
    return walk.order(walk.next++);
}

uint64_t AddressPattern::draw_rank(const Lane& lane) {
    const double n = static_cast<double>(lane.starts);
    if (spread_ == Spread::zipf) return lane.zipf.draw(random_);
    if (spread_ == Spread::pareto) {
        const double rank = n * std::pow(random_.uniform(), exponent_);
        return std::min(static_cast<uint64_t>(rank), lane.starts - 1);
    }
    // Normal, by Box and Muller; both sides of the centre wrap around.
    const double radius = std::sqrt(-2 * std::log(1 - random_.uniform()));
    const double gauss = radius * std::cos(2 * std::numbers::pi * random_.uniform());
    const double turns = gauss * deviation_;
    const double rank = std::floor((turns - std::floor(turns)) * n + 0.5);
    return static_cast<uint64_t>(rank) % lane.starts;
}

uint64_t AddressPattern::draw_index(const Lane& lane) {
    switch (spread_) {
    case Spread::zipf:
    case Spread::pareto:
    case Spread::normal: {
        const uint64_t scattered = walks_[lane.walk].order(draw_rank(lane)) + lane.shift;
        return scattered < lane.starts ? scattered : scattered - lane.starts;
    }
    case Spread::zoned:
    case Spread::zoned_abs:
        if (!lane.zones.empty()) {
            const double u = random_.uniform();
            for (const ZoneRange& zone : lane.zones)
                if (u < zone.until) return zone.first + random_.below(zone.count);
        }
        break; // a direction without zones
    case Spread::uniform: break;
    }
    return map_ ? draw_mapped(walks_[lane.walk]) : random_.below(lane.starts);
}

// The start itself, or the last one on the grid from which the block does not cross the end.
uint64_t AddressPattern::fitted(const Lane& lane, uint64_t start, uint32_t bytes) const {
    const uint64_t last = static_cast<uint64_t>(region_.length.count()) - bytes;
    return start <= last ? start : last / lane.align * lane.align;
}
uint64_t AddressPattern::draw_start(const Lane& lane, uint32_t bytes) {
    if (run_left_ > 0) {
        run_left_--;
        if (sequencer_ == Sequencer::identical) return fitted(lane, lane.last, bytes);
        return sequential(lane, bytes);
    }
    run_left_ = random_run_ - 1;
    if (lane.random_share < 1 && random_.uniform() >= lane.random_share)
        return sequential(lane, bytes);
    return fitted(lane, draw_index(lane) * lane.align, bytes);
}
uint64_t AddressPattern::sequential(const Lane& lane, uint32_t bytes) const {
    const uint64_t length = static_cast<uint64_t>(region_.length.count());
    return lane.position + bytes <= length ? lane.position : 0;
}

Draw AddressPattern::next() {
    return next(mixed() ? random_.uniform() >= read_share_ : read_share_ == 0);
}

Draw AddressPattern::next(bool write) {
    Lane& lane = lanes_[write];
    const uint32_t bytes = draw_size(lane);
    const uint64_t start = is_random_ ? draw_start(lane, bytes) : sequential(lane, bytes);
    lane.last = start;
    lane.position = start + bytes + hole_;
    return {static_cast<uint64_t>(region_.start.count()) + start, bytes, write};
}

} // namespace storlab::fio
