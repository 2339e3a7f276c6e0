// The speed of a cable as people write it ("32GFC", "100GbE", "56Gb-IB", "12Gb-SAS") and the bytes
// a second that are left of it after line coding. The figure in the name is a class: 16GFC signals
// at 14.025 Gbaud and carries 1.7 GB/s, 56Gb-IB carries 54.5 Gb/s.
// Sources: FC-PI-4 to FC-PI-6 (FCIA speed table), IEEE 802.3 (named by what is left after coding),
// InfiniBand volume 2 (FDR, EDR, four lanes), SPL-3 (SAS-3 codes 8b/10b).
#pragma once
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

enum class FabricKind : uint8_t { fibre_channel, ethernet, infiniband, sas };

struct LinkSpeed {
    std::string_view name;
    FabricKind kind;
    double gigabaud; // all lanes
    int coded_from, coded_to;
    Rate rate() const { return Rate::bits_per_second(gigabaud * 1e9 * coded_from / coded_to); }
};

// InputError that lists the known ones.
const LinkSpeed& parse_link_speed(std::string_view text, const SourcePlace& place);
std::vector<std::string> link_speed_names();

} // namespace storlab
