// A RAID array over block devices, as an array would run it: layout, stripe cache, parity updates
// by read-modify-write or reconstruction, degraded operation, rebuild and scrub; a partial parity
// log, a journal or a write-intent bitmap for the time after a loss of power. It has md's
// structure; on a RAID card the same code runs with the card as its engine. Left out: a superblock.
// An array made anew over the same members has to be told which of them are out.
//
// Healthy reads within a chunk are forwarded and touch no stripe. Everything that involves parity
// goes through stripes (stripe_cache.hpp), one line at a time.
#pragma once
#include "models/erasure/code.hpp"
#include "models/raid/journal.hpp"
#include "models/raid/layout.hpp"
#include "models/raid/overlap_lock.hpp"
#include "models/raid/parity_log.hpp"
#include "models/raid/stripe_cache.hpp"
#include "models/raid/write_intents.hpp"
#include "sim/seam/clock.hpp"
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace storlab {

struct RaidOptions {
    RaidLevel level = RaidLevel::raid5;
    uint32_t chunk_blocks = 16;
    uint32_t stripes = 256;      // of the stripe cache; md's default
    bool through_engine = false; // every command goes to the engine first, as to a RAID card
    uint32_t piece_blocks = 0;   // a large request is carried out in pieces of this, one after
                                 // another; 0: whole
    bool reads_through_parity = false; // a sequential read does not skip parity chunks
    SpinLock* lock = nullptr;          // what submitters and workers contend for
    // Partial parity log and bitmap take blocks at the end of every member; the journal has a
    // device, with blocks like those of the members. When that fails writes fail, and reads go on.
    Consistency consistency = Consistency::none;
    uint32_t log_slots = 128;   // of a member's partial parity log: 1 MiB of 4 KiB blocks, as in md
    uint32_t bitmap_region = 0; // lines for which there is one bit, whole chunks; 0: no bitmap.
                                // Not with ppl or journal, not on RAID 0
    Duration bitmap_idle = Duration::s(5); // until a bit is cleared; md's default
    BlockDevice* journal = nullptr;
};

struct RebuildOptions {
    Rate speed_min = Rate::bytes_per_second(1000.0 * 1024); // md's defaults: 1000 and 200000 KiB/s
    Rate speed_max = Rate::bytes_per_second(200000.0 * 1024); // a member
    uint32_t window_lines = 32;                               // reconstructed at once
};
struct RebuildReport {
    uint64_t lines = 0, failed = 0;
    Instant started, ended;
};
struct ScrubReport {
    uint64_t lines = 0, mismatches = 0, unreadable = 0;
};

// What was done after a stop without notice.
struct RecoveryReport {
    uint64_t entries = 0, replayed = 0; // of the log: not surely done, and done now
    uint64_t undecided = 0;  // entries that cannot be replayed: a member they need is out
    uint64_t unreadable = 0; // blocks of the log that cannot be read: nothing replayed from there
    uint64_t regions = 0;    // of the bitmap that were looked through
    ScrubReport scrub;       // what was found in them
};

// Of a member's commands those in `rewritten`, `log_writes` and `bitmap_writes` are nobody's data.
struct RaidCounters {
    uint64_t read_modify = 0, reconstruct = 0, full_line = 0, recover = 0, degraded_reads = 0;
    uint64_t rewritten = 0; // blocks that could not be read and were recovered
    uint64_t log_writes = 0, bitmap_writes = 0;
};

class Raid final : public BlockDevice {
public:
    Raid(Clock& clock, Cpu& engine, std::vector<BlockDevice*> members, const RaidOptions& options);
    Geometry geometry() const override;
    Handle submit(Request& request) override;

    void fail(uint32_t member);
    // Told when a member is found dead or failed by fail().
    void on_failure(std::function<void(uint32_t member)> f) { on_failure_ = std::move(f); }
    // Told when the journal's device has failed: the array takes no more writes.
    void on_journal_failure(std::function<void()> f) { on_journal_failure_ = std::move(f); }
    // Writes the member's contents to a spare, which takes its place at once for writes and line by
    // line for reads. Members are rebuilt independently of each other.
    Task<RebuildReport> rebuild(uint32_t member, BlockDevice& spare, RebuildOptions options);
    // Reads every line in the range and compares parity or copies; `repair` rewrites what differs,
    // and what cannot be read.
    Task<ScrubReport> scrub(uint64_t first_line, uint64_t lines, bool repair);

    // For an array made anew over members that an array was on: to be called before the first
    // write. Replays the partial parity log or the journal; without one, makes copies and parity
    // agree in the regions of the bitmap; without that, and if the journal cannot be read,
    // everywhere. After an orderly stop it finds nothing to do but costs as much as there is log.
    Task<RecoveryReport> recover();

    // While stopped, rebuilds and scrubs under way end soon, unfinished.
    void stop_repairs(bool stopped) { repairs_stopped_ = stopped; }

    const Layout& layout() const { return layout_; }
    const RaidCounters& counters() const { return counters_; }
    const Journal* journal() const { return journal_.get(); }
    bool degraded() const { return missing_ > 0; }
    bool failed() const; // some of the data is on no member any more
    bool in_sync(uint32_t member) const { return members_[member].state == State::in_sync; }
    uint64_t rebuilt_lines(uint32_t member) const { return members_[member].rebuilt; }
    uint64_t stripes_exhausted() const { return cache_.exhausted; }
    uint64_t lines() const { return layout_.rows() * layout_.chunk_blocks(); }

private:
    enum class State : uint8_t { in_sync, failed, rebuilding };
    struct Member {
        BlockDevice* device;
        State state = State::in_sync;
        uint64_t rebuilt = 0; // lines below this are good, while it is being rebuilt
    };
    struct Gather;
    struct Extent;
    class ExtentList;
    class IoList;
    struct Change;

    Clock& clock_;
    Cpu& engine_;
    const RaidOptions o_;
    std::vector<Member> members_;
    Layout layout_;
    Geometry member_geometry_;
    uint64_t reserved_at_ = 0; // of every member: log or bitmap
    uint64_t blocks_used_ = 0;
    std::optional<ErasureCode> code_;
    StripeCache cache_;
    OverlapLocks mirrors_;
    RaidCounters counters_;
    uint32_t missing_ = 0;   // members that are not in sync
    uint64_t user_ios_ = 0;  // for the rebuild, to know whether the array is idle
    uint32_t next_copy_ = 0; // read balancing of mirrors
    std::function<void(uint32_t)> on_failure_;
    std::function<void()> on_journal_failure_;
    bool repairs_stopped_ = false;
    std::unique_ptr<ParityLog> log_;
    std::unique_ptr<Journal> journal_;
    std::unique_ptr<WriteIntents> intents_;

    bool parity() const { return code_.has_value(); }
    bool readable(uint32_t member, uint64_t line) const {
        const Member& m = members_[member];
        return m.state == State::in_sync || (m.state == State::rebuilding && line < m.rebuilt);
    }
    bool readable(uint32_t member, Lba at, uint32_t blocks) const {
        return readable(member, at.block + blocks - 1); // lines are rebuilt in order
    }
    bool writable(uint32_t member) const { return members_[member].state != State::failed; }
    uint64_t missing_columns(uint64_t line) const; // that cannot be read
    bool nothing_to_compare(uint64_t line) const;
    uint64_t absent_columns(uint64_t line) const; // that cannot be written either
    uint32_t columns() const { return layout_.members(); }
    uint64_t row_of(uint64_t line) const { return line / layout_.chunk_blocks(); }
    BlockDevice& device_of(uint64_t line, uint32_t column) {
        return *members_[layout_.column_member(row_of(line), column)].device;
    }
    std::byte* page(const Stripe& s, uint32_t column) const { return cache_.page(s, column); }

    // raid.cpp: the front door
    Handle run(Request& r, Task<IoStatus> task);
    Handle read(Request& r, const Place& p);
    Handle write(Request& r, const Place& p);
    Handle forward(Request& r);
    Handle send(Request& r, const Place& p);
    Task<IoStatus> send_copy(Request& r, Place p);
    static Handle forwarded(Request& r);
    static void reached_engine(Event& e);
    static void passed_engine(Event& e);
    // Where so many blocks, all of one chunk, can be read from one member.
    std::optional<Place> readable_copy(Lba lba, uint32_t blocks, uint64_t not_members = 0);
    void pay_then(Request& r, void (*next)(Event&));

    // stripes.cpp: stripes and who works on them
    static void accept(Event& e);
    void start(Stripe& s);
    Handle settle(Stripe& s);
    void plug(Request& r, Stripe& s);
    void unplug(std::vector<Stripe*>& plugged);
    void kick(uint64_t line, uint32_t column, const BlockDevice& device);
    void kick(uint32_t member, const BlockDevice& device);
    void enter_taken(Stripe& s, Layer layer);
    void finish_taken(Stripe& s, IoStatus status);

    // line.cpp: one line
    Task<void> update_line(Stripe& s);
    void take(Stripe& s, Op op);
    bool plan_reads(Stripe& s, Change& c);
    uint64_t note_reads(Stripe& s, const IoList& ios);
    void plan_writes(Stripe& s, Change& c);
    Work price_of(const Stripe& s, const Change& c);
    void change_pages(Stripe& s, const Change& c);
    IoStatus note_writes(Stripe& s, Change& c);
    void apply_change(Stripe& s, uint64_t parities);
    void apply_anew(Stripe& s, uint64_t recover);
    bool recover_lost(Stripe& s, uint64_t lost);
    Charge pass(bool deferred = false);
    std::vector<std::byte*> all_pages(const Stripe& s) const;

    // degraded.cpp: a line of which something cannot be read
    Task<void> read_line(Stripe& s);
    uint64_t columns_to_read(const Stripe& s, uint64_t wanted, uint64_t bad) const;
    Work price_of_recovery(uint32_t sources);
    Task<bool> read_survivors(Stripe& s, uint64_t own, uint64_t& bad);
    Task<void> rewrite(Stripe& s, uint64_t columns);

    // large.cpp: requests over several chunks or lines
    Task<IoStatus> read_large(Request& r);
    Task<IoStatus> write_large(Request& r);
    Task<IoStatus> read_again(Request& r);
    Task<void> enqueue(Request& child, std::vector<Stripe*>& plugged);

    // mirror.cpp: levels with copies
    Task<IoStatus> write_copies(Request& r);
    Task<uint64_t> find_bad_copies(Lba lba, uint64_t tried);
    Task<void> rewrite_copies(Lba lba, uint64_t bad_members);
    Task<void> write_block(Lba lba, std::byte* data, uint64_t members, uint64_t bad_members);
    Place last_copy(Lba lba) const { return layout_.place_copy(lba, layout_.copies() - 1); }
    Task<IoStatus> flush_members(Request& r);

    // repair.cpp
    Task<Stripe*> lock_line(uint64_t line);
    Task<bool> prepare_spare(uint32_t member);
    Task<bool> rebuild_line(uint64_t line, uint32_t member);
    Task<bool> recover_line(uint64_t line, uint32_t member);
    Task<bool> copy_line(uint64_t line, uint32_t member);

    // scrub.cpp; columns or members that differ, all bits: some could not be read
    Task<void> make_agree(uint64_t first, uint64_t end, ScrubReport& report);
    Task<uint64_t> check(uint64_t line, bool repair);
    Task<uint64_t> check_line(uint64_t line, bool repair);
    uint64_t compare_parity(Stripe& s);
    Task<void> write_parity(Stripe& s);
    Task<void> heal_line(Stripe& s);
    Task<uint64_t> check_copies(uint64_t line, bool repair);
    Task<uint64_t> compare_copies(Lba lba, bool repair);

    // consistency.cpp: after a stop without notice, and what it takes before
    static uint64_t reserved_blocks(const RaidOptions& o, uint64_t of, const Geometry& member);
    void make_consistency(uint64_t member_blocks);
    Task<void> log_line(Stripe& s, uint64_t columns, ParityLog::Ticket& ticket);
    Task<bool> journal_line(Stripe& s, uint64_t columns, Journal::Ticket& ticket);
    Task<void> settle_members();
    Task<void> write_intent(uint32_t block);
    uint64_t region_of(uint64_t line) const { return line / o_.bitmap_region; }
    Task<void> replay_log(uint32_t member, RecoveryReport& report);
    Task<bool> replay(ParityLog::Entry entry, const std::byte* partial);
    Task<void> replay_journal(RecoveryReport& report);
    Task<bool> replay(const Journal::Entry& entry);
    Task<void> load_bitmap();
    Task<void> resync(RecoveryReport& report);
};

} // namespace storlab
