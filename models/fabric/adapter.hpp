// The cards at the ends of cables: HBAs, network cards, DPU ports. A card handles a limited number
// of commands and messages a second, shared by its ports, and may collect interrupts. A card that
// runs the protocol itself is an engine that commands are executed on.
//
// A target's port may serve every remote port or machine at a limited pace of its own (an
// association: credits, queue pair, connection context): a time for each answer, and its bytes at a
// share of the link. That is what the reads of the reviewed Fungible array show: 0.125 us and 95 %.
// Left out: PCIe behind the card (models/pcie), its memory and caches of connection contexts.
#pragma once
#include "sim/base/quantity.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/kernel/station.hpp"
#include "sim/seam/cpu.hpp"
#include <string>
#include <vector>

namespace storlab {

struct AdapterOptions {
    Duration per_command = {}; // 0.5 us: 2 million a second, QLogic QLE2772's data sheet
    Duration per_message = {};
    Duration latency = {}; // of a message, either way, beyond that; it limits nothing
};

class Adapter {
public:
    Adapter(std::string name, const AdapterOptions& options)
        : name_(std::move(name)), options_(options) {}
    // When the card has handled a message that leaves by one of its ports; its latency comes on
    // top.
    Instant handle(Instant now, bool is_command) {
        return station_.serve(now, is_command ? options_.per_command + options_.per_message
                                              : options_.per_message);
    }
    const std::string& name() const { return name_; }
    const AdapterOptions& options() const { return options_; }
    const FifoStation& station() const { return station_; }

private:
    std::string name_;
    AdapterOptions options_;
    FifoStation station_;
};

enum class AssociationScope : uint8_t { none, remote_port, remote_machine };
struct AssociationOptions {
    AssociationScope scope = AssociationScope::none;
    Duration per_answer = {}; // of the messages its side of a connection counts
    double link_share = 1;    // bytes at this share of the port's line rate
};

// A card's processors as a place where code runs: first come, first served.
class AdapterEngine final : public Cpu {
public:
    AdapterEngine(Calendar& calendar, uint32_t processors, const PriceList& prices);
    void run(Job& job) override;
    void describe(const std::string& name, std::vector<StationDescription>& out) const;

private:
    Calendar& calendar_;
    PriceList prices_;
    Ledger ledger_{};
    MultiServerStation station_;
};

} // namespace storlab
