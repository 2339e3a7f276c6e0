#include "models/pcie/link.hpp"
#include "sim/base/error.hpp"

namespace storlab {

namespace {
constexpr double write_overhead = 24, completion_overhead = 20; // bytes a packet
double efficiency(Bytes payload, double overhead) {
    const auto p = static_cast<double>(payload.count());
    return p / (p + overhead);
}
} // namespace

Rate PcieLink::raw(int generation, int lanes) {
    STORLAB_ENSURE(generation >= 3 && generation <= 5 && lanes > 0);
    const double transfers = 8e9 * static_cast<double>(1 << (generation - 3)); // a second and lane
    return Rate::bits_per_second(transfers * lanes * 128 / 130);
}

PcieLink::PcieLink(const PcieOptions& o)
    : write_rate_(raw(o.generation, o.lanes)
                      .scaled(efficiency(o.max_payload, write_overhead) * (1 - o.dllp_share))),
      read_rate_(
          raw(o.generation, o.lanes)
              .scaled(efficiency(o.read_completion, completion_overhead) * (1 - o.dllp_share))),
      hop_(o.hop), command_time_(Bytes(64 + 24) / raw(o.generation, o.lanes)) {}

} // namespace storlab
