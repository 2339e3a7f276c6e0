#include "sim/scenario/bench_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/report/table.hpp"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace storlab {

namespace {
using Json = nlohmann::ordered_json;

struct Growth {
    const char *name, *small, *large, *what;
};
constexpr std::array<Growth, 2> growths{
    {{"drives", "growth_drives_1", "growth_drives_1000", "1 to 1000 drives"},
     {"depth", "growth_depth_32", "growth_depth_4096", "32 to 4096 in flight"}}};
constexpr double most_growth = 1.5;

constexpr const char* garbage_case = "one_drive_gc";
constexpr const char* plain_case = "one_drive_randread";
constexpr double most_for_garbage = 5; // times the CPU of a plain read

double ratio(uint64_t a, uint64_t b) {
    return b ? static_cast<double>(a) / static_cast<double>(b) : 0;
}
std::string verdict(bool ok) { return ok ? "OK" : "below"; }

using Row = std::vector<std::string>;

Row row_of(const BenchCase& c) {
    const BenchFigures& f = c.median();
    const bool io = f.ios > 0;
    const std::string none = "-";
    return {c.name,
            io ? format_count(f.rate()) : none,
            c.floor ? format_count(*c.floor) : none,
            c.floor ? verdict(f.rate() >= *c.floor) : "",
            format_count(f.per_cpu_second(f.events)),
            io ? fmt::format("{:.1f}", ratio(f.events, f.ios)) : none,
            f.outstanding ? fmt::format("{:.0f} B", ratio(f.frame_bytes, f.outstanding)) : none,
            fmt::format("{:.0f} MB", static_cast<double>(f.peak_rss) * 1e-6),
            c.unverified ? format_count(c.unverified->rate()) : none};
}

Json json_of(const BenchCase& c) {
    if (!c.failure.empty()) return {{"failure", c.failure}};
    const BenchFigures& f = c.median();
    const bool io = f.ios > 0;
    Json j;
    j["ios_per_cpu_s"] = io ? Json(f.rate()) : Json();
    j["events_per_cpu_s"] = f.per_cpu_second(f.events);
    j["events_per_io"] = io ? Json(ratio(f.events, f.ios)) : Json();
    j["bytes_per_outstanding_io"] =
        f.outstanding ? Json(ratio(f.frame_bytes, f.outstanding)) : Json();
    j["outstanding"] = f.outstanding;
    j["peak_rss_bytes"] = f.peak_rss;
    j["unverified"] = c.unverified ? Json(c.unverified->rate()) : Json();
    j["floor"] = c.floor ? Json(*c.floor) : Json();
    j["runs"] = Json::array();
    for (const BenchFigures& run : c.runs) j["runs"].push_back(run.rate());
    return j;
}

double median_of(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[(all.size() - 1) / 2];
}
} // namespace

const BenchFigures& BenchCase::median() const {
    STORLAB_ENSURE(!runs.empty());
    std::vector<const BenchFigures*> order;
    for (const BenchFigures& f : runs) order.push_back(&f);
    std::sort(order.begin(), order.end(),
              [](const auto* a, const auto* b) { return a->rate() < b->rate(); });
    return *order[(order.size() - 1) / 2];
}

const BenchCase* BenchReport::find(const std::string& name) const {
    for (const BenchCase& c : cases)
        if (c.name == name && c.failure.empty()) return &c;
    return nullptr;
}
std::optional<double> BenchReport::growth(const std::string& small,
                                          const std::string& large) const {
    const BenchCase *a = find(small), *b = find(large);
    if (!a || !b || b->median().rate() <= 0) return std::nullopt;
    return a->median().rate() / b->median().rate();
}
bool BenchReport::failed() const {
    return std::any_of(cases.begin(), cases.end(), [](auto& c) { return !c.failure.empty(); });
}

std::string bench_text(const BenchReport& report) {
    std::vector<Row> rows{{"case", "I/Os", "floor", "", "events", "events/I/O", "frames/I/O",
                           "peak RSS", "unverified"}};
    for (const BenchCase& c : report.cases)
        if (c.failure.empty()) rows.push_back(row_of(c));
    std::string out = "per second of CPU time, median of the runs\n\n";
    if (rows.size() > 1) out += text_table(rows) + '\n';
    for (const BenchCase& c : report.cases)
        if (!c.failure.empty()) out += fmt::format("{} FAILED: {}\n", c.name, c.failure);
    if (const auto r = report.growth(plain_case, garbage_case))
        out +=
            fmt::format("garbage collection: an I/O costs {:.1f} times a plain read; wanted up to "
                        "{:g}  {}\n",
                        *r, most_for_garbage, *r <= most_for_garbage ? "OK" : "above");
    for (const Growth& g : growths)
        if (const auto r = report.growth(g.small, g.large))
            out += fmt::format(
                "growth, {}: an I/O costs {:.2f} times as much; wanted below {:g}  {}\n", g.what,
                *r, most_growth, *r < most_growth ? "OK" : "above");
    if (!report.reference_loop.empty())
        out += fmt::format("reference loop: {} steps per CPU second, to compare machines with\n",
                           format_count(median_of(report.reference_loop)));
    out += "\nfloors are for a quiet machine like the one they were set on. frames/I/O: bytes of "
           "coroutine\n"
           "frames at their most, over the I/Os the loads keep in flight. unverified: without "
           "checking\n"
           "the contents of reads.\n";
    return out;
}

std::string bench_json(const BenchReport& report) {
    Json j;
    j["version"] = STORLAB_VERSION;
    j["cases"] = Json::object();
    for (const BenchCase& c : report.cases) j["cases"][c.name] = json_of(c);
    j["growth"] = Json::object();
    for (const Growth& g : growths)
        if (const auto r = report.growth(g.small, g.large)) j["growth"][g.name] = *r;
    j["reference_loop"] =
        report.reference_loop.empty() ? Json() : Json(median_of(report.reference_loop));
    return j.dump(2) + "\n";
}

} // namespace storlab
