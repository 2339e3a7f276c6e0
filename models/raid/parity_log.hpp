// A partial parity log, the idea of Linux md's raid5-ppl (Documentation/driver-api/md/
// raid5-ppl.rst): it closes RAID 5's write hole without a device of its own. Before data and parity
// of a line are written, the member that holds the line's parity gets an entry in a ring at its
// end: which data columns change, and the XOR of those that do not. Whatever subset of the writes
// lands, parity is that XOR and what the changing columns hold. Here is the bookkeeping and the
// format; the array moves the blocks. Left out: drives whose acknowledged writes a loss of power
// undoes.
#pragma once
#include "models/raid/page_memory.hpp"
#include "sim/seam/event.hpp"
#include <optional>
#include <vector>

namespace storlab {

// A slot is a header block and a block of partial parity. The header takes 16 bytes, what a sketch
// holds: line 40 bits, lap 16, columns 32, check of the partial parity 24, check of all that 16.
// The slot's number and the lap give the entry's sequence; sequences wrap, but those in a ring are
// never further apart than a few laps.
//
// A slot is used again in strict order, and only when the writes of its entry are done. So with M
// the latest sequence and N slots, an entry at or before M - N is done; and of the entries of one
// line all but the latest are done, as a line is changed by one at a time. Only what is neither is
// replayed. For that every change of a line is logged, a full one too.
class ParityLog {
public:
    static constexpr uint32_t slot_blocks = 2;
    static constexpr uint32_t most_data_columns = 32;
    struct Shape {
        uint32_t members, data_columns, slots, payload;
    };
    struct Entry {
        uint32_t slot;
        uint32_t columns; // data columns that change
        uint64_t line, sequence;
        bool whole; // the partial parity is this entry's, not torn
    };
    // The use of one slot, while the writes of its line are under way.
    struct Ticket {
        uint32_t member = 0;
        uint64_t sequence = 0;
        bool held = false;
    };

    explicit ParityLog(const Shape& shape);
    uint32_t slots() const { return shape_.slots; }
    uint32_t blocks() const { return shape_.slots * slot_blocks; } // of a member

    // co_await Reserve(log, member): a ticket, in order of arrival.
    class Reserve : Resume {
    public:
        Reserve(ParityLog& log, uint32_t member) : log_(log), ticket_{member, 0, false} {}
        bool await_ready() { return log_.take(ticket_); }
        void await_suspend(Handle h) {
            waiter = h;
            log_.rings_[ticket_.member].waiters.push(*this);
        }
        Ticket await_resume() const { return ticket_; }

    private:
        friend class ParityLog;
        ParityLog& log_;
        Ticket ticket_;
    };
    void release(Ticket& ticket);

    uint32_t slot_of(const Ticket& t) const {
        return static_cast<uint32_t>(t.sequence % shape_.slots);
    }
    std::byte* header(const Ticket& t) const {
        const size_t slot = size_t{t.member} * shape_.slots + slot_of(t);
        return memory_.get() + slot * slot_blocks * shape_.payload;
    }
    std::byte* partial(const Ticket& t) const { return header(t) + shape_.payload; }
    // Columns that are all there are have no partial parity.
    bool has_partial(uint32_t columns) const {
        return columns != (uint64_t{1} << shape_.data_columns) - 1;
    }
    // Writes the header in memory; the partial parity is in place.
    void seal(const Ticket& t, uint64_t line, uint32_t columns);

    // What the slot of a member says; nothing if it is no entry.
    std::optional<Entry> read(uint32_t slot, const std::byte* slot_bytes) const;
    // Those of a member's entries that may not be done, in order; the member's log goes on after
    // the latest.
    std::vector<Entry> unfinished(uint32_t member, std::vector<Entry> found);

private:
    struct Ring {
        uint64_t next; // sequence
        std::vector<bool> busy;
        EventQueue waiters;
    };
    Shape shape_;
    std::vector<Ring> rings_;
    PageMemory memory_;

    bool take(Ticket& t);
    uint32_t check_of(const std::byte* partial) const;
};

} // namespace storlab
