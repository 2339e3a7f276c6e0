// A solid-state drive behind its PCIe link: command fetch, one controller, a power-safe write
// buffer, a page map with its collector, channels and dies. A command is a chain of handlers on the
// request itself; a read that touches several flash pages uses one pooled event for each.
//
// Controller time is one budget: every command costs some, and every page programmed (the host's
// and the collector's) costs its bytes at the back end's rate. Left out: map pages on flash, SLC
// cache, several namespaces, trim.
#pragma once
#include "models/nand/die.hpp"
#include "models/pcie/link.hpp"
#include "models/pcie/route.hpp"
#include "models/ssd/ftl.hpp"
#include "sim/kernel/calendar.hpp"
#include "sim/kernel/store.hpp"
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace storlab {

enum class SsdState : uint8_t { fresh, filled, steady };

struct SsdOptions {
    uint64_t blocks = 0;          // of this simulated slice
    Bytes block{4096};            // logical block: 4 KiB, or 512 B
    uint32_t payload = 16;        // sketch bytes a block
    double over_provisioning = 0; // raw capacity / capacity - 1
    uint32_t channels = 8, dies = 64, planes = 2;
    Bytes flash_page = Bytes::kib(16);
    uint32_t program_pages = 1; // flash pages a plane programs in one shot
    uint32_t block_pages = 256; // flash pages in an erase block of one plane
    NandTiming nand;
    Rate channel_rate, backend_rate;
    Duration command_read, command_write; // controller time a command
    Duration write_latency;               // from a command's decoding until the buffer has it safe
    uint32_t buffer_pages = 2048;         // map pages of 4 KiB
    PcieOptions link;
    SsdState state = SsdState::fresh;
    Bytes aged_by{4096}; // extent of the random overwrites that led to the steady state
    uint64_t seed = 1;
};

struct SsdCounters {
    uint64_t host_pages = 0, moved_pages = 0, buffer_waits = 0, programs = 0, erases = 0;
};

class Ssd final : public BlockDevice {
public:
    Ssd(Calendar& calendar, const SsdOptions& options)
        : Ssd(calendar, std::make_shared<const SsdOptions>(options), options.seed, nullptr) {}
    // Drives of one kind share their options: a thousand of them then touch one copy. `aged` is
    // their common start state (aged_map); the seed tells them apart.
    Ssd(Calendar& calendar, std::shared_ptr<const SsdOptions> options, uint64_t seed,
        const Ftl* aged);
    Geometry geometry() const override { return {o_.blocks, o_.block, o_.payload}; }
    Handle submit(Request& request) override { return submit(request, direct_); }
    // The drive for commands whose data lies at the end of a route; the drive itself is for data
    // that its own link reaches. Routes are shared by many drives and outlive them.
    BlockDevice& reached_by(const PcieRoute& route);

    std::byte* peek(Lba lba) { return store_.at(lba); } // no time passes: start state and scrub
    void fail() { failed_ = true; }
    bool failed() const { return failed_; }

    static Ftl aged_map(const SsdOptions& options); // the map of the options' start state
    const SsdCounters& counters() const { return counters_; }
    void describe(const std::string& name, std::vector<StationDescription>& out) const;
    const Ftl& ftl() const { return ftl_; }

private:
    struct Port final : BlockDevice {
        Ssd& ssd;
        const PcieRoute& route;
        Port(Ssd& s, const PcieRoute& r) : ssd(s), route(r) {}
        Geometry geometry() const override { return ssd.geometry(); }
        Handle submit(Request& r) override { return ssd.submit(r, *this); }
    };
    struct FlashRead : Event { // one sense of a larger read
        Ssd* ssd;
        Request* request;
        uint32_t die, pages;
    };
    struct Program : Event {
        Ssd* ssd;
        uint32_t die;
        Duration postponed;
    };
    Calendar& calendar_;
    Port direct_{*this, PcieRoute::direct()};
    const std::shared_ptr<const SsdOptions> options_;
    const SsdOptions& o_;
    const uint32_t unit_pages_;  // map pages one program holds
    const uint32_t sense_pages_; // map pages one sense brings
    const uint64_t units_per_erase_;
    const Duration backend_page_;
    PcieLink link_;
    FifoStation controller_;
    std::vector<Die> dies_;
    std::vector<FifoStation> channels_;
    std::vector<uint32_t> programmed_; // units since the die's last erase
    Store store_;
    Ftl ftl_;
    SsdCounters counters_;
    uint32_t credits_; // map pages of room in the buffer
    uint32_t last_host_page_ = Ftl::unmapped;
    EventQueue waiting_; // writes waiting for room in the buffer
    std::vector<std::unique_ptr<FlashRead>> reads_;
    std::vector<FlashRead*> free_reads_;
    std::vector<std::unique_ptr<Program>> programs_;
    std::vector<Program*> free_programs_;
    FlashWork work_;
    bool failed_ = false;
    std::deque<Port> ports_;

    // A command under way belongs to the port it came in by.
    static Port& port_of(Event& e) { return static_cast<Port&>(*static_cast<Request&>(e).device); }
    static Ssd& of(Event& e) { return port_of(e).ssd; }
    Handle submit(Request& r, Port& port);
    void next(Request& r, Instant at, void (*step)(Event&)) {
        r.fire = step;
        calendar_.schedule(r, at);
    }
    static void fetched(Event& e);
    static void fetching(Event& e);
    static void sending(Event& e);
    static void decoded(Event& e);
    static void buffered(Event& e);
    static void sensed(Event& e);
    static void transferred(Event& e);
    static void answered(Event& e);
    static void page_sensed(Event& e);
    static void page_transferred(Event& e);
    static void programmed(Event& e);
    void send(Request& r, Bytes data);
    Bytes data_in(const Request& r) const { return r.op == Op::write ? data_of(r) : Bytes(0); }
    Bytes data_of(const Request& r) const { return o_.block * r.blocks; }
    void start_read(Request& r);
    void start_write(Request& r);
    bool admit(Request& r);
    void write_page(uint64_t page);
    void program(uint32_t physical, bool host);
    void read_large(Request& r, uint64_t first, uint64_t last);
    void abandon(Request& r);
    uint64_t page_of(Lba lba) const { return lba.block * uint64_t(o_.block.count()) / 4096; }
    uint32_t sense_of(uint32_t physical) const { return physical / sense_pages_; }
    uint32_t die_of(uint32_t physical) const {
        return (physical / unit_pages_) % static_cast<uint32_t>(dies_.size());
    }
    bool in_buffer(uint32_t physical) const; // of the unit being filled: no die is needed
    FlashRead& take_read();
};

} // namespace storlab
