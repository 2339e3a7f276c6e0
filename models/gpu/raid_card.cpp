#include "models/gpu/raid_card.hpp"

namespace storlab {

RaidCard::RaidCard(Calendar& calendar, const PcieOptions& link, const PriceList& prices,
                   std::vector<const PcieRoute*> memory)
    : Cpu(prices_, ledger_), calendar_(calendar), prices_(prices), link_(link),
      memory_(std::move(memory)) {
    STORLAB_ENSURE(!memory_.empty());
}

// Bytes first, then the rounds owed; rounds of different commands overlap freely.
void RaidCard::run(Job& job) {
    job.enter(Layer::card, calendar_.now());
    const bool moves = job.work.bytes_in || job.work.bytes_out;
    if (moves && ++turn_ >= memory_.size()) turn_ = 0;
    const PcieRoute& route = *memory_[turn_];
    if (job.work.bytes_in == 0 || route.down.count == 0) return arrived(job, route);
    Transfer& t = take(&job, route, route.down, Bytes(job.work.bytes_in));
    at_hop(t);
}

void RaidCard::arrived(Job& job, const PcieRoute& route) {
    Instant at = calendar_.now();
    if (job.work.bytes_in) at = link_.down.serve(at, Bytes(job.work.bytes_in) / link_.read_rate());
    // Parity leaves once it is there; nobody waits for the link's other side.
    if (job.work.bytes_out) leave(at, Bytes(job.work.bytes_out), route);
    at += job.work.busy;
    job.work = {};
    calendar_.schedule(job, at);
}

void RaidCard::leave(Instant at, Bytes data, const PcieRoute& route) {
    const Duration here = data / link_.write_rate();
    link_.up.occupy(at, here);
    if (route.up.count == 0) return;
    Transfer& t = take(nullptr, route, route.up, data);
    calendar_.schedule(
        t, PcieWay::reaches(link_.up.free_at(), link_.hop(), here, route.up.hops[0].time(data)));
}

void RaidCard::at_hop(Event& e) {
    auto& t = static_cast<Transfer&>(e);
    RaidCard& c = *t.card;
    if (t.job && t.hop == t.way->count) { // at the card's own link
        c.free_transfers_.push_back(&t);
        return c.arrived(*t.job, *t.route);
    }
    const PcieHop& hop = t.way->hops[t.hop++];
    const bool last = t.hop == t.way->count;
    const Duration here = hop.time(t.data);
    const Instant now = c.calendar_.now();
    if (!t.job) hop.station->occupy(now, here);
    else hop.station->serve(now, here);
    if (!t.job && last) return c.free_transfers_.push_back(&t);
    const Duration then = last ? t.data / c.link_.read_rate() : t.way->hops[t.hop].time(t.data);
    c.calendar_.schedule(t, PcieWay::reaches(hop.station->free_at(), hop.latency, here, then));
}

RaidCard::Transfer& RaidCard::take(Job* job, const PcieRoute& route, const PcieWay& way,
                                   Bytes data) {
    if (free_transfers_.empty()) {
        transfers_.push_back(std::make_unique<Transfer>());
        transfers_.back()->card = this;
        transfers_.back()->fire = at_hop;
        free_transfers_.push_back(transfers_.back().get());
    }
    Transfer& t = *free_transfers_.back();
    free_transfers_.pop_back();
    t.job = job;
    t.route = &route;
    t.way = &way;
    t.data = data;
    t.hop = 0;
    return t;
}

void RaidCard::describe(const std::string& name, std::vector<StationDescription>& out) const {
    out.push_back(
        {name + "/link/in", "PCIe link into the RAID card", 1, link_.down.count(calendar_.now())});
    out.push_back(
        {name + "/link/out", "PCIe link out of the RAID card", 1, link_.up.count(calendar_.now())});
}

} // namespace storlab
