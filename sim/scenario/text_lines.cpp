#include "sim/scenario/text_lines.hpp"
#include <algorithm>
#include <fmt/format.h>

namespace storlab {

namespace {
constexpr size_t label_width = 10;
} // namespace

void put(std::string& out, std::string_view label, const std::vector<std::string>& pieces,
         std::string_view between) {
    std::string line = fmt::format("{:<{}}", label, label_width);
    size_t used = line.size();
    bool fresh = true;
    for (const std::string& piece : pieces) {
        if (!fresh && used + between.size() + piece.size() > screen_width) {
            out += line + '\n';
            line = std::string(label_width, ' ');
            used = label_width;
            fresh = true;
        }
        if (!fresh) line += between;
        used += piece.size() + (fresh ? 0 : between.size());
        line += piece;
        fresh = false;
    }
    out += line + '\n';
}
std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> all;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(' ', at), text.size());
        if (end > at) all.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return all;
}
std::string counted(size_t n, const std::string& noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}
std::string level_text(RaidLevel level) {
    switch (level) {
    case RaidLevel::raid0: return "RAID 0";
    case RaidLevel::raid1: return "RAID 1";
    case RaidLevel::raid10: return "RAID 10";
    case RaidLevel::raid5: return "RAID 5";
    case RaidLevel::raid6: break;
    }
    return "RAID 6";
}
std::string titled(const Part& p) {
    return p.title().empty() ? p.name() : p.title() + " (" + p.name() + ")";
}

std::string ranges(const std::vector<std::string>& paths) {
    std::string out;
    for (size_t i = 0; i < paths.size();) {
        const size_t slash = paths[i].rfind('/') + 1;
        const std::string group = paths[i].substr(0, slash), first = paths[i].substr(slash);
        size_t last = i;
        const auto number = [&](size_t at) { return paths[at].substr(slash); };
        const bool numbered = slash > 0 && !first.empty() &&
                              first.find_first_not_of("0123456789") == std::string::npos;
        const size_t from = numbered ? std::stoul(first) : 0;
        while (numbered && last + 1 < paths.size() && paths[last + 1].starts_with(group) &&
               number(last + 1) == std::to_string(from + last + 1 - i))
            last++;
        out += (out.empty() ? "" : " ") + paths[i];
        if (last > i) out += "-" + number(last);
        i = last + 1;
    }
    return out;
}

} // namespace storlab
