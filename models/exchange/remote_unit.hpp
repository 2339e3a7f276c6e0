// A logical unit or namespace behind a session, as the host's block layer sees it: one path to a
// volume. It must be known to the initiator for as long as commands are under way.
#pragma once
#include "models/exchange/initiator.hpp"

namespace storlab {

class RemoteUnit final : public BlockDevice {
public:
    RemoteUnit(Initiator& initiator, uint16_t number, Geometry geometry)
        : initiator_(initiator), geometry_(geometry), number_(number),
          block_(static_cast<uint32_t>(geometry.block.count())) {
        if (initiator_.units_.size() <= number) initiator_.units_.resize(number + size_t{1});
        STORLAB_ENSURE(!initiator_.units_[number].remote && block_ > 0);
        initiator_.units_[number].remote = this;
    }
    RemoteUnit(const RemoteUnit&) = delete;
    RemoteUnit& operator=(const RemoteUnit&) = delete;

    Geometry geometry() const override { return geometry_; }
    Handle submit(Request& r) override { return initiator_.submit(r, number_); }
    Initiator& initiator() const { return initiator_; }
    uint16_t number() const { return number_; }
    Access access() const { return initiator_.access(number_); }

private:
    friend class Initiator;
    Initiator& initiator_;
    Geometry geometry_;
    uint16_t number_;
    uint32_t block_; // bytes
};

} // namespace storlab
