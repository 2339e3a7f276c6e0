#include "sim/report/spans.hpp"
#include "sim/base/error.hpp"
#include "sim/report/histogram.hpp"
#include <algorithm>
#include <bit>

namespace storlab {

namespace {
constexpr size_t per_octave = 8;
constexpr size_t row_count = 61 * per_octave; // up to the longest Duration, 2^63 ps
constexpr double slowest = 0.99;
} // namespace

SpanTable::SpanTable(std::vector<std::string> layer_names)
    : names_(std::move(layer_names)), rows_(row_count), row_layers_ps_(row_count * names_.size()) {}

size_t SpanTable::row_of(Duration total) const {
    const auto ps = static_cast<uint64_t>(total.count_ps());
    const int shift = std::bit_width(ps | per_octave) - 4; // keeps the top bit and three below it
    return static_cast<size_t>(shift) * per_octave + static_cast<size_t>(ps >> shift);
}

void SpanTable::record(const int64_t* ps_by_layer, Duration total) {
    STORLAB_ENSURE(total >= Duration());
    const size_t row = row_of(total);
    ++count_;
    ++rows_[row].count;
    // Doubles: a day at depth 1000 passes 2^63 ps, and 2^-53 of a sum is far below what is shown.
    rows_[row].total_ps += static_cast<double>(total.count_ps());
    double* sums = row_layers_ps_.data() + row * names_.size();
    for (size_t i = 0; i < names_.size(); ++i) sums[i] += static_cast<double>(ps_by_layer[i]);
}

void SpanTable::merge(const SpanTable& other) {
    STORLAB_ENSURE(names_ == other.names_);
    count_ += other.count_;
    for (size_t i = 0; i < rows_.size(); ++i) {
        rows_[i].count += other.rows_[i].count;
        rows_[i].total_ps += other.rows_[i].total_ps;
    }
    for (size_t i = 0; i < row_layers_ps_.size(); ++i) row_layers_ps_[i] += other.row_layers_ps_[i];
}

void SpanTable::clear() {
    std::fill(rows_.begin(), rows_.end(), Row());
    std::fill(row_layers_ps_.begin(), row_layers_ps_.end(), 0.0);
    count_ = 0;
}

double SpanTable::mean_ns(size_t layer) const {
    STORLAB_ENSURE(layer < names_.size());
    if (count_ == 0) return 0;
    double sum = 0;
    for (size_t row = 0; row < rows_.size(); ++row)
        sum += row_layers_ps_[row * names_.size() + layer];
    return sum / static_cast<double>(count_) * 1e-3;
}

double SpanTable::mean_total_ns() const {
    if (count_ == 0) return 0;
    double sum = 0;
    for (const Row& row : rows_) sum += row.total_ps;
    return sum / static_cast<double>(count_) * 1e-3;
}

double SpanTable::mean_unattributed_ns() const {
    double rest = mean_total_ns();
    for (size_t i = 0; i < names_.size(); ++i) rest -= mean_ns(i);
    return rest;
}

size_t SpanTable::p99_row() const {
    // The row of the smallest total that 99 % do not exceed, as Histogram::percentile ranks it.
    const auto beyond = static_cast<uint64_t>((1 - slowest) * static_cast<double>(count_) + 1e-6);
    uint64_t seen = 0;
    for (size_t row = row_count; row-- > 0;) {
        seen += rows_[row].count;
        if (seen > beyond) return row;
    }
    return 0;
}

std::optional<double> SpanTable::p99_share(size_t layer) const {
    STORLAB_ENSURE(layer < names_.size());
    if (count_ < Histogram::samples_needed(slowest)) return std::nullopt;
    double in_layer = 0, in_all = 0;
    for (size_t row = p99_row(); row < row_count; ++row) {
        in_layer += row_layers_ps_[row * names_.size() + layer];
        in_all += rows_[row].total_ps;
    }
    if (in_all <= 0) return std::nullopt;
    return in_layer / in_all;
}

} // namespace storlab
