#include "models/gpu/raid_card.hpp"

namespace storlab {

RaidCard::RaidCard(Calendar& calendar, const PcieOptions& link, const PriceList& prices)
    : Cpu(prices_, ledger_), calendar_(calendar), prices_(prices), link_(link) {}

// Bytes first, then the rounds owed; rounds of different commands overlap freely.
void RaidCard::run(Job& job) {
    Instant at = calendar_.now();
    job.enter(Layer::card, at);
    if (job.work.bytes_in) at = link_.down.serve(at, Bytes(job.work.bytes_in) / link_.read_rate());
    if (job.work
            .bytes_out) // parity leaves once it is there; nobody waits for the link's other side
        link_.up.occupy(at, Bytes(job.work.bytes_out) / link_.write_rate());
    at += job.work.busy;
    job.work = {};
    calendar_.schedule(job, at);
}

void RaidCard::describe(const std::string& name, std::vector<StationDescription>& out) const {
    out.push_back(
        {name + "/link/in", "PCIe link into the RAID card", 1, link_.down.count(calendar_.now())});
    out.push_back(
        {name + "/link/out", "PCIe link out of the RAID card", 1, link_.up.count(calendar_.now())});
}

} // namespace storlab
