// A write-intent bitmap, as Linux md keeps (md-bitmap): a bit for each region of lines, on every
// member, that is set before the first write to the region and cleared some time after the last. If
// the array stops without notice, only regions whose bit is set can have copies or parity that
// disagree. Here is which bits are wanted, on their way and in place; the array moves the blocks.
// Left out: bits kept while a member is away, to bring it back in part; and a bitmap in a file.
#pragma once
#include "models/raid/page_memory.hpp"
#include "sim/base/error.hpp"
#include "sim/seam/clock.hpp"
#include <functional>
#include <vector>

namespace storlab {

class WriteIntents {
public:
    struct Options {
        uint64_t regions;
        uint32_t payload;
        Duration idle;                             // without a write, before a bit is cleared
        std::function<void(uint32_t block)> write; // this block is to be written; see take()
    };
    static uint32_t blocks_for(uint64_t regions, uint32_t payload) {
        const uint64_t bits = uint64_t{payload} * 8;
        return static_cast<uint32_t>((regions + bits - 1) / bits);
    }
    WriteIntents(Clock& clock, Options options);
    uint32_t blocks() const { return static_cast<uint32_t>(blocks_.size()); }
    uint64_t regions() const { return o_.regions; }

    // co_await Begin(intents, region): until the region's bit is in place. Then end().
    class Begin : Resume {
    public:
        Begin(WriteIntents& intents, uint64_t region) : intents_(intents), region_(region) {}
        bool await_ready() { return intents_.begin(region_); }
        void await_suspend(Handle h) {
            waiter = h;
            WriteIntents& intents = intents_; // once written, this awaiter may be gone
            const uint32_t block = intents.block_of(region_);
            intents.blocks_[block].waiters.push(*this);
            intents.start(block);
        }
        void await_resume() const {}

    private:
        friend class WriteIntents;
        WriteIntents& intents_;
        uint64_t region_;
    };
    void end(uint64_t region);

    // For the array, which writes a block when told, to all members, and again as long as landed()
    // says so. The bytes stay as they are until then.
    std::byte* take(uint32_t block);
    bool landed(uint32_t block);
    // A new member has none of it.
    void rewrite(uint32_t block);

    // After a start: bits found on a member, block by block, and then what they ask for.
    void load(uint32_t block, const std::byte* bits);
    void distrust(); // nothing could be read: all regions
    void agree();    // members may not have the same bits
    bool stale(uint64_t region) const { return regions_[region].stale; }
    void trust(uint64_t region); // its lines agree again

private:
    struct Region {
        uint32_t writers = 0;
        bool stale = false; // from before the start, not looked at yet
        Instant last;       // when the last writer left
    };
    struct Block {
        bool writing = false, forced = false;
        EventQueue waiters;
    };
    struct Sweep : Event {
        WriteIntents* intents;
    };
    Clock& clock_;
    Options o_;
    std::vector<Region> regions_;
    std::vector<Block> blocks_;
    PageMemory flying_;                      // what is written, or was last
    std::vector<std::byte> wanted_, landed_; // what is to be on the members, and what surely is
    Sweep sweep_;
    bool sweeping_ = false;

    uint32_t block_of(uint64_t region) const {
        return static_cast<uint32_t>(region / (uint64_t{o_.payload} * 8));
    }
    static bool bit(const std::byte* bits, uint64_t region) {
        return (static_cast<uint32_t>(bits[region / 8]) >> region % 8 & 1) != 0;
    }
    static void set(std::byte* bits, uint64_t region, bool on) {
        const auto mask = static_cast<std::byte>(1u << region % 8);
        if (on) bits[region / 8] |= mask;
        else bits[region / 8] &= ~mask;
    }
    // A bit that is being cleared is in place until who knows when.
    bool in_place(uint64_t region) const {
        return bit(landed_.data(), region) && bit(flying_.get(), region);
    }
    bool differs(uint32_t block) const;
    bool begin(uint64_t region);
    void start(uint32_t block);
    void sweep_later();
    void sweep();
};

} // namespace storlab
