// A RAID card with a GPU as an engine for the RAID code: every step of a command is a round through
// its driver and kernel queue, which takes a fixed time whatever is under way beside it; bytes it
// works on come in over its own link, and parity leaves by it. Healthy reads go from the drive to
// the host's memory and cross nothing here (GRAID SupremeRAID, "data path": StorageReview 2021).
// Left out: a limit of the GPU itself, which no published row shows.
#pragma once
#include "models/pcie/link.hpp"
#include "models/pcie/route.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/seam/cpu.hpp"
#include <memory>
#include <string>
#include <vector>

namespace storlab {

class RaidCard final : public Cpu {
public:
    // prices: raid_pass and raid_parity are rounds of the card, everything else is free there.
    // memory: the way to the memory of each socket; its bytes lie interleaved, so jobs take turns.
    RaidCard(Calendar& calendar, const PcieOptions& link, const PriceList& prices,
             std::vector<const PcieRoute*> memory = {&PcieRoute::direct()});
    void run(Job& job) override;
    void describe(const std::string& name, std::vector<StationDescription>& out) const;
    const PcieLink& link() const { return link_; }

private:
    struct Transfer : Event { // bytes at a station beyond the card's own link
        RaidCard* card;
        Job* job; // null: parity on its way out, which nobody waits for
        const PcieWay* way;
        const PcieRoute* route;
        Bytes data;
        uint8_t hop;
    };
    Calendar& calendar_;
    PriceList prices_;
    Ledger ledger_{};
    PcieLink link_;
    const std::vector<const PcieRoute*> memory_;
    size_t turn_ = 0;
    std::vector<std::unique_ptr<Transfer>> transfers_;
    std::vector<Transfer*> free_transfers_;

    void arrived(Job& job, const PcieRoute& route);
    void leave(Instant at, Bytes data, const PcieRoute& route);
    Transfer& take(Job* job, const PcieRoute& route, const PcieWay& way, Bytes data);
    static void at_hop(Event& e);
};

} // namespace storlab
