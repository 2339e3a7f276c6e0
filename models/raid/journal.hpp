// A journal on a device of its own, the idea of Linux md's raid5-cache in write-through mode
// (Documentation/driver-api/md/raid5-cache.rst): it closes the write hole of RAID 5 and 6, degraded
// or not. Whatever a change of a line writes to members goes into a log first; when that is stable,
// and all that precedes it, the members are written. After a loss of power what the log holds is
// written again. Left out: md's write-back mode, several lines in one entry, and a superblock: who
// starts an array has to know that the journal is its own.
#pragma once
#include "models/raid/page_memory.hpp"
#include "sim/seam/block_device.hpp"
#include <deque>
#include <functional>
#include <optional>

namespace storlab {

// The device has two checkpoints, written in turn, and a ring of entries. An entry is a meta block
// and the pages of the columns it changes. Both kinds of meta block take 16 bytes, what a sketch
// holds. A checkpoint: position 32 bits, sequence 24, life 24, generation 8, check 32. An entry:
// line 40, sequence 24, columns 32, check 32; its check also covers pages, position and life, which
// is another after each start, so that what a former life left beyond a torn entry stays dead.
//
// Entries are handed out in order, become stable in order and are given up in order: at a
// checkpoint, once the members have written them and have flushed their caches.
class Journal {
public:
    static constexpr uint32_t most_columns = 32;
    static constexpr uint32_t checkpoints = 2;
    static constexpr uint64_t most_blocks = uint64_t{1} << 24; // of a device that are used
    // Room for eight changes of whole lines.
    static uint64_t least_blocks(uint32_t columns) { return checkpoints + 8 * (columns + 1); }

    struct Entry {
        uint64_t line;
        uint32_t columns;
        std::byte* pages; // column c at c times the payload of a block
    };
    struct Ticket { // an entry, while the members are being written
        uint64_t number = 0;
        bool held = false;
    };
    struct Found {
        uint64_t entries = 0, applied = 0, unreadable = 0;
    };
    // What the journal needs of the array.
    struct Hooks {
        std::function<Task<void>()> settle; // what members have acknowledged becomes stable
        std::function<Task<bool>(const Entry&)> apply; // write to the members; false: cannot
        std::function<void()> lost;                    // the device has failed
    };

    Journal(BlockDevice& device, uint32_t columns, Hooks hooks);

    // Logs an entry, whose pages stay as they are meanwhile. True: it is stable, and the ticket is
    // to be released when the members have it. False: the device has failed; nothing is logged any
    // more.
    Task<bool> append(Entry e, Ticket& ticket);
    void release(Ticket& ticket);
    // Before the first entry: applies what is in the log, in order. Nothing if some of it cannot be
    // read, because something later may be among that. What the array cannot take stays in the log,
    // which then takes no entries.
    Task<Found> recover();
    // Until all entries there are now have been given up; false: the device has failed.
    Task<bool> drain();

    bool failed() const { return failed_; }
    uint64_t checkpoints_written() const { return written_checkpoints_; }

private:
    struct Slot { // an entry of this life
        uint64_t start;
        uint32_t blocks;
        bool landed = false, done = false;
        Handle waiter = {};
    };
    struct Checkpoint {
        uint64_t position, sequence, life, generation;
    };
    class Reserve;
    class Stable;
    class Drained;
    static constexpr uint64_t refused = ~uint64_t{0};

    BlockDevice& device_;
    uint32_t columns_, payload_;
    uint64_t ring_; // blocks
    Hooks hooks_;
    bool open_ = false, opening_ = false, failed_ = false;
    bool committing_ = false, reclaiming_ = false, thirsty_ = false;
    // Entries by number: first_ <= done_ <= stable_ <= landed_ <= next_ are those given up, written
    // to the members, stable in the log, acknowledged by it and handed out, each a prefix.
    uint64_t first_ = 0, done_ = 0, stable_ = 0, landed_ = 0, next_ = 0;
    uint64_t tail_ = 0, head_ = 0; // of the ring, in blocks, never wrapped
    uint64_t drain_to_ = 0;
    uint64_t life_ = 0, generation_ = 1, written_checkpoints_ = 0;
    std::deque<Slot> slots_; // from first_ on
    EventQueue rooms_, drains_;
    PageMemory checkpoint_;

    Slot& slot(uint64_t number) { return slots_[static_cast<size_t>(number - first_)]; }
    uint64_t position_of(uint64_t block) const { return block % ring_; }
    static void begin(Task<void> task);
    void grant(Reserve& r);
    bool take(Reserve& r);
    void admit();
    void landed(uint64_t number);
    void close();
    void fail();
    uint64_t reclaimable();
    bool wants_reclaim();
    void reclaim_if_wanted();

    Task<void> open();
    Task<void> begin_life(bool known);
    Task<void> apply_all(Found& found);
    Task<IoStatus> read(uint64_t start, uint64_t number, std::byte* pages,
                        std::optional<Entry>& entry);
    Task<void> commit();
    Task<void> reclaim();
    Task<IoStatus> flush();
    Task<IoStatus> move(Op op, uint64_t start, std::byte* meta, const Entry& e);

    // journal_format.cpp
    uint32_t check_of(uint64_t low, uint64_t position, const Entry& e) const;
    void seal(std::byte* meta, uint64_t start, uint64_t number, const Entry& e) const;
    std::optional<Entry> parse(const std::byte* meta, uint64_t number, std::byte* pages) const;
    bool whole(const std::byte* meta, uint64_t start, const Entry& e) const;
    std::optional<Checkpoint> checkpoint(const std::byte* block) const;
    Task<bool> load_checkpoint();
    Task<bool> write_checkpoint(uint64_t start, uint64_t number);
};

} // namespace storlab
