// How a message is cut into frames, and what they add to it on the wire: headers, checks,
// delimiters and the gap before the next one. All formats pad nothing inside a message; a message's
// last frame is as short as what is left. Sources are named at each format, widths are bytes.
// Left out: optional headers that depend on the command (RETH, AETH, extended FC headers), which
// are below 1 % of a full frame.
#pragma once
#include "sim/base/quantity.hpp"
#include <string>

namespace storlab {

struct FrameFormat {
    std::string name;
    uint32_t payload = 1;     // of a full frame
    uint32_t overhead = 0;    // of every frame, gap included
    uint32_t per_message = 0; // of every message: a connection opened and closed around it
    uint32_t minimum = 0;     // a frame on the wire is at least so long

    uint32_t frames(uint32_t bytes) const {
        return bytes <= payload ? 1 : (bytes - 1) / payload + 1;
    }
    uint32_t full_frame() const { return payload + overhead; }
    uint32_t wire(uint32_t bytes) const; // on the wire, of a message of so many bytes
    double efficiency() const;           // payload of full frames over what they take

    // FC-FS-3: header 24, CRC 4, SOF 4 and EOF 4, six primitive signals (24) before the next frame.
    // A frame may carry 2112; SCSI and NVMe data travel in 2048 (FCP-4).
    static FrameFormat fibre_channel();
    // IEEE 802.3: header 14, FCS 4, preamble 8, gap 12; IPv4 20, TCP 20 and its time stamps 12.
    // An Ethernet frame has at least 64 bytes: 84 with preamble and gap.
    static FrameFormat tcp(uint32_t mtu);
    // InfiniBand Annex A17: Ethernet as above, IPv4 20, UDP 8, BTH 12, ICRC 4. The path MTU is the
    // largest of 256 to 4096 that fits.
    static FrameFormat rocev2(uint32_t mtu);
    // RFC 5040, 5041, 5044 over TCP: MPA length 2 and CRC 4, DDP and RDMAP 14; no markers.
    static FrameFormat iwarp(uint32_t mtu);
    // InfiniBand volume 1: LRH 8, BTH 12, ICRC 4, VCRC 2, start and end of packet 2.
    static FrameFormat infiniband(uint32_t mtu);
    // SAS-3 (SPL-3): SSP frame of 1024, header 24, CRC 4, SOF 4 and EOF 4. A connection: OPEN
    // address frame 40 with its delimiters, answer 4, credit 4, two DONE and two CLOSE 16.
    static FrameFormat sas();
};

} // namespace storlab
