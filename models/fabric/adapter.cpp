#include "models/fabric/adapter.hpp"

namespace storlab {

AdapterEngine::AdapterEngine(Calendar& calendar, uint32_t processors, const PriceList& prices)
    : Cpu(prices_, ledger_), calendar_(calendar), prices_(prices), station_(processors) {}

void AdapterEngine::run(Job& job) {
    const Duration service = job.work.busy;
    job.work = {};
    calendar_.schedule(job, station_.serve(calendar_.now(), service));
}

void AdapterEngine::describe(const std::string& name, std::vector<StationDescription>& out) const {
    out.push_back({name, "processors of an adapter", station_.servers(), station_.count()});
}

} // namespace storlab
