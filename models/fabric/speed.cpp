#include "models/fabric/speed.hpp"
#include "sim/base/text.hpp"

namespace storlab {

namespace {
constexpr auto fibre_channel = FabricKind::fibre_channel, ethernet = FabricKind::ethernet,
               infiniband = FabricKind::infiniband, sas = FabricKind::sas;
constexpr LinkSpeed speeds[] = {{"8GFC", fibre_channel, 8.5, 8, 10},
                                {"16GFC", fibre_channel, 14.025, 64, 66},
                                {"32GFC", fibre_channel, 28.05, 64, 66},
                                {"10GbE", ethernet, 10.3125, 64, 66},
                                {"25GbE", ethernet, 25.78125, 64, 66},
                                {"40GbE", ethernet, 4 * 10.3125, 64, 66},
                                {"100GbE", ethernet, 4 * 25.78125, 64, 66},
                                {"56Gb-IB", infiniband, 4 * 14.0625, 64, 66},
                                {"100Gb-IB", infiniband, 4 * 25.78125, 64, 66},
                                {"12Gb-SAS", sas, 12, 8, 10}};
} // namespace

const LinkSpeed& parse_link_speed(std::string_view text, const SourcePlace& place) {
    for (const LinkSpeed& s : speeds)
        if (s.name == text) return s;
    const std::vector<std::string> names = link_speed_names();
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    throw InputError(place, in_quotes(text) + " is no speed of a cable; known are " + list +
                                did_you_mean(text, names));
}

std::vector<std::string> link_speed_names() {
    std::vector<std::string> names;
    for (const LinkSpeed& s : speeds) names.emplace_back(s.name);
    return names;
}

} // namespace storlab
