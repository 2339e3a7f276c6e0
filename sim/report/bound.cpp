#include "sim/report/bound.hpp"
#include "sim/base/text.hpp"
#include <fmt/format.h>

namespace storlab {

namespace {
std::string rate(double bytes_per_s) { return format_rate(Rate::bytes_per_second(bytes_per_s)); }

std::string sentence(const std::string& load, const char* verb, const BoundFlow& flow) {
    std::string text = fmt::format("{} can {} at most {}", load, verb, rate(flow.bytes_per_s));
    if (flow.block > Bytes(0))
        text += fmt::format(
            ", {} IOPS", format_count(flow.bytes_per_s / static_cast<double>(flow.block.count())));
    std::string between = ": ";
    for (const BoundLimit& l : flow.cut) {
        text += between + l.name + " (";
        if (l.count > 1) text += std::to_string(l.count) + " x ";
        text += rate(l.bytes_per_s) + ")";
        between = " + ";
    }
    if (flow.carried > 1) text += fmt::format(", {:.3g} bytes written for each", flow.carried);
    return text;
}
} // namespace

std::vector<std::string> in_words(const BoundResult& bound) {
    std::vector<std::string> all;
    if (bound.read) all.push_back(sentence(bound.load, "read", *bound.read));
    if (bound.write) all.push_back(sentence(bound.load, "write", *bound.write));
    return all;
}

} // namespace storlab
