// A RAID card with a GPU as an engine for the RAID code: every step of a command is a round through
// its driver and kernel queue, which takes a fixed time whatever is under way beside it; bytes it
// works on come in over its own link, and parity leaves by it. Healthy reads go from the drive to
// the host's memory and cross nothing here (GRAID SupremeRAID, "data path": StorageReview 2021).
// Left out: a limit of the GPU itself, which no published row shows.
#pragma once
#include "models/pcie/link.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/seam/cpu.hpp"
#include <string>

namespace storlab {

class RaidCard final : public Cpu {
public:
    // prices: raid_pass and raid_parity are rounds of the card, everything else is free there.
    RaidCard(Calendar& calendar, const PcieOptions& link, const PriceList& prices);
    void run(Job& job) override;
    void describe(const std::string& name, std::vector<StationDescription>& out) const;
    const PcieLink& link() const { return link_; }

private:
    Calendar& calendar_;
    PriceList prices_;
    Ledger ledger_{};
    PcieLink link_;
};

} // namespace storlab
