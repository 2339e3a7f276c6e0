#include "sim/base/text.hpp"
#include "sim/report/table.hpp"
#include "sim/scenario/sensitivity.hpp"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace storlab {

namespace {
using Json = nlohmann::ordered_json;
constexpr double little = 0.01; // moves below are counted, not listed

std::string percent(const std::optional<Move>& m, double Move::*of) {
    return m ? fmt::format("{:+.1f} %", *m.*of * 100) : "-";
}
std::vector<std::string> row_of(const SensitivityReport& r, const Influence& i) {
    const auto less = move_of(r, i.less), more = move_of(r, i.more);
    return {i.value,
            i.is,
            i.from,
            percent(less, &Move::iops),
            percent(more, &Move::iops),
            percent(less, &Move::latency),
            percent(more, &Move::latency)};
}
Json side_json(const SensitivityReport& r, const std::optional<RunAnswer>& side) {
    const auto m = move_of(r, side);
    if (!m) return nullptr;
    return {{"iops", m->iops}, {"mean_latency", m->latency}, {"binds", side->binds}};
}
} // namespace

std::string sensitivity_text(const SensitivityReport& r, size_t top) {
    std::string out = r.title + "\n";
    if (!r.base.failure.empty()) return out + "no answer to vary: " + r.base.failure + "\n";
    for (const auto& [name, f] : r.base.loads)
        if (name.find('/') == std::string::npos)
            out += fmt::format("{}: {} IOPS{}, mean {}\n", name, format_count(f.iops),
                               f.iops_ci95 ? fmt::format(" ±{:.1f} %", *f.iops_ci95 * 100) : "",
                               format_duration(Duration::seconds(f.mean_s)));
    out += fmt::format("binds: {}\n\neach value alone, {:.0f} % less and {:.0f} % more:\n",
                       r.base.binds.empty() ? "nothing" : r.base.binds, r.by * 100, r.by * 100);
    std::vector<std::vector<std::string>> rows{
        {"value", "is", "from", "IOPS, less", "more", "latency, less", "more"}};
    size_t small = 0, more = 0;
    std::string not_varied;
    for (const Influence& i : r.values) {
        if (!i.less && !i.more) not_varied += (not_varied.empty() ? "" : ", ") + i.value;
        else if (strength(r, i) < little) small++;
        else if (rows.size() > top) more++;
        else rows.push_back(row_of(r, i));
    }
    if (rows.size() > 1) out += text_table(rows);
    if (more) out += fmt::format("{} more move it by {:.0f} % or more\n", more, little * 100);
    out += fmt::format("{} of {} values move it by less than {:.0f} %\n", small, r.values.size(),
                       little * 100);
    if (!not_varied.empty()) out += "not varied: " + not_varied + "\n";
    return out;
}

std::string sensitivity_json(const SensitivityReport& r) {
    Json values = Json::array();
    for (const Influence& i : r.values)
        values.push_back({{"value", i.value},
                          {"is", i.is},
                          {"from", i.from},
                          {"source", i.source},
                          {"less", side_json(r, i.less)},
                          {"more", side_json(r, i.more)},
                          {"why_not", i.why_not}});
    const Json j{{"scenario", r.scenario}, {"hash", r.hash},
                 {"seed", r.seed},         {"by", r.by},
                 {"binds", r.base.binds},  {"failure", r.base.failure},
                 {"values", values}};
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace storlab
