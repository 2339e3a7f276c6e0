// Where the time of an I/O went, layer by layer, in the mean and for the slowest hundredth.
// Sums are kept over all I/Os and per eighth of an octave of total latency, so that the share of
// each layer at or above the 99th percentile is known after the run without keeping a single I/O.
// Left out: which layers there are (the names come from outside), and overlap: layers that work at
// the same time must be attributed by the caller so that their sum does not exceed the total.
#pragma once
#include "sim/base/time.hpp"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace storlab {

class SpanTable {
public:
    explicit SpanTable(std::vector<std::string> layer_names);

    // One I/O: picoseconds in each layer, in the order of the names. O(layers), no allocation.
    void record(const int64_t* ps_by_layer, Duration total);
    void merge(const SpanTable& other); // same names
    void clear();

    size_t layers() const { return names_.size(); }
    const std::string& name(size_t layer) const { return names_.at(layer); }
    uint64_t count() const { return count_; }
    double mean_ns(size_t layer) const;
    double mean_total_ns() const;
    double mean_unattributed_ns() const; // total less the sum of the layers
    // The layer's part of the time of the I/Os in the buckets at or above the 99th percentile; the
    // bucket of the percentile itself counts whole. Blank below 1000 I/Os, as the percentile is.
    std::optional<double> p99_share(size_t layer) const;

private:
    struct Row {
        uint64_t count = 0;
        double total_ps = 0;
    };
    size_t row_of(Duration total) const;
    size_t p99_row() const;

    std::vector<std::string> names_;
    std::vector<Row> rows_;
    std::vector<double> row_layers_ps_; // rows x layers
    uint64_t count_ = 0;
};

} // namespace storlab
