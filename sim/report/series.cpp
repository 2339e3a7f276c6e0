#include "sim/report/series.hpp"
#include "sim/base/error.hpp"
#include "sim/report/json_parts.hpp"
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace storlab {

namespace {
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
}

std::vector<double>& Series::column(const std::string& name) {
    const auto at = std::find_if(columns.begin(), columns.end(),
                                 [&](const auto& column) { return column.first == name; });
    if (at != columns.end()) return at->second;
    return columns.emplace_back(name, std::vector<double>()).second;
}

const std::vector<double>* Series::find(const std::string& name) const {
    for (const auto& [column_name, values] : columns)
        if (column_name == name) return &values;
    return nullptr;
}

nlohmann::ordered_json series_json(const Series& series) {
    nlohmann::ordered_json columns = nlohmann::ordered_json::object();
    for (const auto& [name, values] : series.columns) columns[name] = values; // NaN prints as null
    return {{"step_ns", in_ns(series.step)},
            {"start_ns", in_ns(series.start.since_start())},
            {"columns", columns}};
}

std::string to_json(const Series& series) { return series_json(series).dump(); }

LoadSeries::LoadSeries(Duration step, Instant start) : step_(step), end_of_window_(start + step) {
    STORLAB_ENSURE(step > Duration());
}

void LoadSeries::close_window() {
    LoadWindow window;
    window.ios = current_.count();
    window.iops = static_cast<double>(window.ios) / step_.in_seconds();
    window.bandwidth_bytes = static_cast<double>(bytes_.count()) / step_.in_seconds();
    window.mean_ns = current_.empty() ? no_value : current_.mean_ns();
    const auto p99 = current_.percentile(0.99);
    window.p99_ns = p99 ? static_cast<double>(p99->count_ps()) * 1e-3 : no_value;
    windows_.push_back(window);
    closed_.merge(current_);
    current_.clear();
    all_bytes_ += bytes_;
    bytes_ = Bytes();
    end_of_window_ += step_;
}

void LoadSeries::advance(Instant now) {
    STORLAB_ENSURE(now >= end_of_window_ - step_);
    while (now >= end_of_window_) close_window();
}

Histogram LoadSeries::total() const {
    Histogram all = closed_;
    all.merge(current_);
    return all;
}

void LoadSeries::restart(Instant now) {
    current_.clear();
    closed_.clear();
    bytes_ = all_bytes_ = Bytes();
    windows_.clear();
    end_of_window_ = now + step_;
}

void LoadSeries::append_to(Series& series, const std::string& prefix) const {
    const auto add = [&](const char* what, double LoadWindow::*value) {
        std::vector<double>& column = series.column(prefix + what);
        for (const LoadWindow& window : windows_) column.push_back(window.*value);
    };
    add("/iops", &LoadWindow::iops);
    add("/bandwidth_bytes", &LoadWindow::bandwidth_bytes);
    add("/mean_ns", &LoadWindow::mean_ns);
    add("/p99_ns", &LoadWindow::p99_ns);
}

} // namespace storlab
