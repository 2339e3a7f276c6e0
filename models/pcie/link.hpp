// A PCI Express link: lanes, generation and the bytes that are not data. Both directions are FIFO
// stations of their own.
//
// Line coding 128b/130b (PCI Express Base Specification 3.0 and 4.0, section 4.2.2). A memory write
// carries up to max_payload of data in 24 bytes of framing, sequence, header and CRC (64-bit
// address); a read of host memory comes back in completions of read_completion bytes with 20 bytes
// around each. A share of the link goes to acknowledgements and credits (DLLPs).
#pragma once
#include "sim/base/quantity.hpp"
#include "sim/kernel/station.hpp"

namespace storlab {

struct PcieOptions {
    int generation = 4, lanes = 4;
    Bytes max_payload{128}, read_completion{64};
    double dllp_share = 0;
    Duration hop = Duration::ns(150); // root port and wire, one way
};

class PcieLink {
public:
    explicit PcieLink(const PcieOptions& options);
    static Rate raw(int generation, int lanes);     // one way, after line coding
    Rate write_rate() const { return write_rate_; } // device writes host memory
    Rate read_rate() const { return read_rate_; }   // device reads host memory
    Duration hop() const { return hop_; }
    // How long a command with so much data has the link.
    Duration write_time(Bytes data) const { return command_time_ + data / write_rate_; }
    Duration read_time(Bytes data) const { return command_time_ + data / read_rate_; }

    // Date at which the device has written (read) this much of host memory, hop included.
    Instant to_host(Instant now, Bytes data) { return up.serve(now, write_time(data)) + hop_; }
    Instant from_host(Instant now, Bytes data) { return down.serve(now, read_time(data)) + hop_; }

    FifoStation up, down;

private:
    Rate write_rate_, read_rate_;
    Duration hop_;
    Duration command_time_; // a 64-byte command fetched, or a 16-byte completion and an interrupt
                            // written
};

} // namespace storlab
