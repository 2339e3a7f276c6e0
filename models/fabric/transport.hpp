// What a transport does about what the fabric lost. Fibre Channel and SAS do nothing: the protocol
// times out. TCP sends again, in a window of bytes under way that it only needs where a full buffer
// drops: slow start and additive increase (RFC 5681) from ten segments (RFC 6928), a gap seen by
// what was sent later (RFC 8985) a round trip after, otherwise a time-out that doubles (RFC 6298).
// InfiniBand's reliable connection waits a fixed time and gives up after a few.
// Left out: acknowledgements as load on the way back, delayed ones, CUBIC, ECN and DCQCN, the
// go-back-N of older RDMA cards, round trips in the time-out (it is at its minimum in a data
// centre).
#pragma once
#include "sim/base/time.hpp"
#include <cstdint>

namespace storlab {

enum class TransportKind : uint8_t { exchange, tcp, reliable_connection };

struct TransportOptions {
    TransportKind kind = TransportKind::exchange;
    uint32_t segment = 0;       // TCP's: payload of a frame
    uint32_t first_window = 10; // segments
    uint64_t window = 6u << 20; // most bytes under way: Linux, tcp_rmem's third value
    Duration timeout_min = {}, timeout_max = {};
    uint32_t retries = 0;       // times sent again before the connection ends
    Duration user_timeout = {}; // without an acknowledgement; zero: only retries count

    static TransportOptions exchange() { return {}; }
    // Linux: TCP_RTO_MIN 200 ms, TCP_RTO_MAX 120 s, tcp_retries2 15; that is 924.6 s in all.
    static TransportOptions tcp(uint32_t segment) {
        TransportOptions o{.kind = TransportKind::tcp, .segment = segment};
        o.timeout_min = Duration::ms(200);
        o.timeout_max = Duration::s(120);
        o.retries = 15;
        return o;
    }
    // Local ACK timeout 14 is 4.096 us x 2^14 = 67 ms; retry count 7 (what Linux's NVMe host asks).
    static TransportOptions reliable_connection() {
        TransportOptions o{.kind = TransportKind::reliable_connection};
        o.timeout_min = o.timeout_max = Duration::ns(4096) * (1 << 14);
        o.retries = 7;
        return o;
    }
};

} // namespace storlab
