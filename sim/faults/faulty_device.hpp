// What drives do wrong, as devices that wrap any other, in either world: lost writes, stale data,
// delays, unreadable sectors, death, and an old write that lands after a newer one. No device has a
// fault flag of its own; a scenario or a test puts the fault in front of it. Each class is one
// fault; they stack. Left out: bit flips within a block (a stale block is found the same way).
#pragma once
#include "sim/base/random.hpp"
#include "sim/seam/block_device.hpp"
#include "sim/seam/clock.hpp"
#include <map>
#include <set>
#include <vector>

namespace storlab {

struct BlockRange {
    uint64_t first = 0, blocks = ~uint64_t{0};
    bool overlaps(Lba at, uint32_t n) const {
        return at.block < first + std::min(blocks, ~first) && first < at.block + n;
    }
};

// Which of the commands that qualify are hit: the `first`-th (from 1), then every `every`-th after
// it; 0: only the first.
struct Nth {
    uint64_t first = 1, every = 0;
    bool hits(uint64_t count) const {
        if (count <= first || every == 0) return count == first;
        return (count - first) % every == 0;
    }
};

// Hands every command on as it is; a fault overrides submit for those it wants.
class DeviceFilter : public BlockDevice {
public:
    explicit DeviceFilter(BlockDevice& inner) : inner_(inner) {}
    Geometry geometry() const override { return inner_.geometry(); }
    Handle submit(Request& request) override { return inner_.submit(request); }
    uint64_t hits() const { return hits_; } // how often the fault showed

protected:
    BlockDevice& inner_;
    uint64_t hits_ = 0;

    // A command of our own to the device behind, for who must see its completion.
    Io copy_of(Request& r);
    static Handle run(Request& r, Task<IoStatus> task);
};

// A write that is acknowledged and never reaches the medium.
class LostWrites final : public DeviceFilter {
public:
    LostWrites(BlockDevice& inner, Nth which) : DeviceFilter(inner), which_(which) {}
    Handle submit(Request& request) override;

private:
    Nth which_;
    uint64_t writes_ = 0;
};

// Reads in the range return what the blocks held before their latest write.
class StaleReads final : public DeviceFilter {
public:
    StaleReads(BlockDevice& inner, BlockRange where) : DeviceFilter(inner), where_(where) {}
    Handle submit(Request& request) override;

private:
    BlockRange where_;
    std::map<uint64_t, std::vector<std::byte>> before_; // by block

    Task<IoStatus> write(Request& r);
    Task<IoStatus> read(Request& r);
};

// Every command waits before it is handed on: `least`, and up to `spread` more, uniform.
struct DelayOptions {
    Duration least, spread;
    uint64_t seed = 1;
};
class DelayedDevice final : public DeviceFilter {
public:
    DelayedDevice(BlockDevice& inner, Clock& clock, DelayOptions options)
        : DeviceFilter(inner), clock_(clock), o_(options), random_(o_.seed, "delay") {}
    Handle submit(Request& request) override;
    void set(Duration least, Duration spread) { o_.least = least, o_.spread = spread; }

private:
    Clock& clock_;
    DelayOptions o_;
    Random random_;

    Task<IoStatus> late(Request& r, Instant when);
};

// Sectors that cannot be read. Written again, a sector is good: the drive replaces it.
struct UnreadableOptions {
    BlockRange where;
    uint32_t times = 0; // reads that fail before the rest succeed; 0: all
    bool healed_by_write = true;
};
class UnreadableSectors final : public DeviceFilter {
public:
    UnreadableSectors(BlockDevice& inner, UnreadableOptions options)
        : DeviceFilter(inner), o_(options) {}
    Handle submit(Request& request) override;

private:
    UnreadableOptions o_;
    std::set<uint64_t> healed_; // blocks of the range that were written since
    bool bad(Lba at, uint32_t blocks) const;
};

// What devices that die together share: one drive, or all drives of an enclosure that loses power.
// It gives out after a number of commands, or when told to.
struct PowerSupply {
    uint64_t commands_left = ~uint64_t{0};
    bool off = false;
};
// Without power nothing is carried out; who asks, or still waits for an answer, gets no_device. A
// command on its way when the power goes may or may not be carried out.
class PoweredDevice final : public DeviceFilter {
public:
    PoweredDevice(BlockDevice& inner, PowerSupply& supply) : DeviceFilter(inner), supply_(supply) {}
    Handle submit(Request& request) override;

private:
    PowerSupply& supply_;
    Task<IoStatus> powered(Request& r);
};

// A write that was acknowledged is carried out once more after a newer one to the same blocks: a
// duplicate that lingered in a queue, as after a path failover without a fence.
class LingeringWrites final : public DeviceFilter {
public:
    LingeringWrites(BlockDevice& inner, Nth which) : DeviceFilter(inner), which_(which) {}
    Handle submit(Request& request) override;

private:
    struct Old {
        Lba at;
        uint32_t blocks;
        std::vector<std::byte> data;
    };
    Nth which_;
    uint64_t writes_ = 0;
    std::vector<Old> lingering_;

    void remember(const Request& r);
    Task<IoStatus> write_then_old(Request& r, Old old);
};

} // namespace storlab
