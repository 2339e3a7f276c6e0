#include "models/fabric/frame.hpp"
#include "sim/base/error.hpp"
#include <algorithm>

namespace storlab {

namespace {
constexpr uint32_t ethernet = 14 + 4 + 8 + 12, ethernet_minimum = 84;
constexpr uint32_t ip_tcp = 20 + 20 + 12, mpa_ddp = 2 + 4 + 14;
constexpr uint32_t ip_udp_bth = 20 + 8 + 12 + 4;
constexpr uint32_t smallest_mtu = 576; // what every IPv4 host takes (RFC 791)

std::string with_mtu(const char* what, uint32_t mtu) { return what + (" " + std::to_string(mtu)); }
uint32_t path_mtu(uint32_t room) {
    uint32_t mtu = 4096;
    while (mtu > room) mtu /= 2;
    STORLAB_ENSURE(mtu >= 256);
    return mtu;
}
} // namespace

uint32_t FrameFormat::wire(uint32_t bytes) const {
    const uint32_t all = bytes + frames(bytes) * overhead;
    return std::max(all, minimum) + per_message;
}

double FrameFormat::efficiency() const {
    return static_cast<double>(payload) / static_cast<double>(full_frame());
}

FrameFormat FrameFormat::fibre_channel() { return {"FC", 2048, 24 + 4 + 8 + 24, 0, 0}; }

FrameFormat FrameFormat::tcp(uint32_t mtu) {
    STORLAB_ENSURE(mtu >= smallest_mtu);
    return {with_mtu("TCP", mtu), mtu - ip_tcp, ethernet + ip_tcp, 0, ethernet_minimum};
}

FrameFormat FrameFormat::rocev2(uint32_t mtu) {
    STORLAB_ENSURE(mtu >= smallest_mtu);
    return {with_mtu("RoCEv2", mtu), path_mtu(mtu - ip_udp_bth), ethernet + ip_udp_bth, 0,
            ethernet_minimum};
}

FrameFormat FrameFormat::iwarp(uint32_t mtu) {
    STORLAB_ENSURE(mtu >= smallest_mtu);
    return {with_mtu("iWARP", mtu), mtu - ip_tcp - mpa_ddp, ethernet + ip_tcp + mpa_ddp, 0,
            ethernet_minimum};
}

FrameFormat FrameFormat::infiniband(uint32_t mtu) {
    STORLAB_ENSURE(mtu >= 256 && mtu <= 4096);
    return {with_mtu("InfiniBand", mtu), mtu, 8 + 12 + 4 + 2 + 2, 0, 0};
}

FrameFormat FrameFormat::sas() { return {"SAS", 1024, 24 + 4 + 8, 40 + 4 + 4 + 16, 0}; }

} // namespace storlab
