// SCSI over a network: FCP, iSCSI and iSER, as profiles of the exchange engine. A session is an I_T
// nexus. Left out: unsolicited data of FCP (first burst), digests, iSCSI error recovery levels
// 1, 2. Sources: INCITS FCP-4 (information units: section 9), RFC 7143 (iSCSI; PDUs: section 11,
// keys: section 13), RFC 7145 (iSER), SPC-4 (sense data, target port groups).
#pragma once
#include "models/exchange/profile.hpp"
#include "sim/base/quantity.hpp"

namespace storlab {

// What initiator and target have agreed on. The defaults are RFC 7143's, which are also those of
// LIO; open-iscsi offers more (FirstBurstLength 256 KiB, MaxBurstLength 16 MiB - 1 KiB, 256 KiB
// segments, InitialR2T No) and gets it where the target agrees.
struct IscsiOptions {
    bool immediate_data = true;
    bool initial_r2t = true;
    Bytes first_burst = Bytes::kib(64), max_burst = Bytes::kib(256);
    Bytes initiator_segment = Bytes::kib(8),
          target_segment = Bytes::kib(8); // either's
                                          // MaxRecvDataSegmentLength
    uint32_t outstanding_r2t = 1;
};
IscsiOptions open_iscsi(); // met by a target that takes all it offers, as arrays do

Profile fcp();
Profile iscsi(IscsiOptions options = {});
Profile iser(IscsiOptions options = {});

namespace iscsi_wire {
constexpr uint32_t header = 48; // basic header segment
constexpr uint32_t sense = 20;  // two bytes of length and fixed-format sense of 18
constexpr uint32_t inquiry_data = 36, capacity_data = 32;
constexpr uint32_t groups_header = 4, group = 8 + 4; // REPORT TARGET PORT GROUPS, one port a group
constexpr uint32_t padded(uint32_t n) { return (n + 3) & ~3u; }

// The text of a login's two requests and answers, each key ended by a zero byte.
struct LoginText {
    std::string_view request, answer;
};
inline constexpr std::string_view depth_key = "X-org.storlab.Depth=";
LoginText login_text(uint32_t step);
} // namespace iscsi_wire

} // namespace storlab
