// A RAID array over block devices, as an array would run it: layout, stripe cache, parity updates
// by read-modify-write or reconstruction, degraded operation, rebuild and scrub. It has md's
// structure; on a RAID card the same code runs with the card as its engine.
//
// Healthy reads within a chunk are forwarded and touch no stripe. Everything that involves parity
// goes through stripes (stripe_cache.hpp), one line at a time.
#pragma once
#include "models/erasure/code.hpp"
#include "models/raid/layout.hpp"
#include "models/raid/overlap_lock.hpp"
#include "models/raid/stripe_cache.hpp"
#include "sim/seam/clock.hpp"
#include <functional>
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

struct RaidCounters {
    uint64_t read_modify = 0, reconstruct = 0, full_line = 0, recover = 0, degraded_reads = 0;
};

class Raid final : public BlockDevice {
public:
    Raid(Clock& clock, Cpu& engine, std::vector<BlockDevice*> members, const RaidOptions& options);
    Geometry geometry() const override;
    Handle submit(Request& request) override;

    void fail(uint32_t member);
    // Told when a member is found dead or failed by fail().
    void on_failure(std::function<void(uint32_t member)> f) { on_failure_ = std::move(f); }
    // Writes the member's contents to a spare, which takes its place at once for writes and line by
    // line for reads. One rebuild at a time.
    Task<RebuildReport> rebuild(uint32_t member, BlockDevice& spare, RebuildOptions options);
    // Reads every line in the range and compares parity or copies; `repair` rewrites what differs.
    Task<ScrubReport> scrub(uint64_t first_line, uint64_t lines, bool repair);

    const Layout& layout() const { return layout_; }
    const RaidCounters& counters() const { return counters_; }
    bool degraded() const { return missing_ > 0; }
    bool failed() const; // some of the data is on no member any more
    bool in_sync(uint32_t member) const { return members_[member].state == State::in_sync; }
    uint64_t rebuilt_lines() const { return rebuilt_; }
    uint64_t stripes_exhausted() const { return cache_.exhausted; }
    uint64_t lines() const { return layout_.rows() * layout_.chunk_blocks(); }

private:
    enum class State : uint8_t { in_sync, failed, rebuilding };
    struct Member {
        BlockDevice* device;
        State state = State::in_sync;
    };
    struct Gather;
    struct Extent;
    class ExtentList;
    class IoList;

    Clock& clock_;
    Cpu& engine_;
    const RaidOptions o_;
    std::vector<Member> members_;
    Layout layout_;
    Geometry member_geometry_;
    std::optional<ErasureCode> code_;
    StripeCache cache_;
    OverlapLocks mirrors_;
    RaidCounters counters_;
    uint32_t missing_ = 0;   // members that are not in sync
    uint64_t rebuilt_ = 0;   // lines below this are good on the member being rebuilt
    uint64_t user_ios_ = 0;  // for the rebuild, to know whether the array is idle
    uint32_t next_copy_ = 0; // read balancing of mirrors
    std::function<void(uint32_t)> on_failure_;

    bool parity() const { return code_.has_value(); }
    bool readable(uint32_t member, uint64_t line) const {
        const State s = members_[member].state;
        return s == State::in_sync || (s == State::rebuilding && line < rebuilt_);
    }
    bool writable(uint32_t member) const { return members_[member].state != State::failed; }
    uint64_t missing_columns(uint64_t line) const; // that cannot be read
    uint64_t absent_columns(uint64_t line) const;  // that cannot be written either
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
    static Handle forwarded(Request& r);
    static void reached_engine(Event& e);
    static void passed_engine(Event& e);
    std::optional<Place> readable_copy(Lba lba, uint64_t not_members = 0);
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
    Task<void> read_line(Stripe& s);
    void take(Stripe& s, Op op);
    void apply_change(Stripe& s, uint64_t parities);
    void apply_anew(Stripe& s, uint64_t recover);
    bool recover_lost(Stripe& s, uint64_t lost);
    Charge pass(bool deferred = false);
    std::vector<std::byte*> all_pages(const Stripe& s) const;

    // large.cpp: requests over several chunks or lines
    Task<IoStatus> read_large(Request& r);
    Task<IoStatus> write_large(Request& r);
    Task<IoStatus> read_again(Request& r);
    Task<void> enqueue(Request& child, std::vector<Stripe*>& plugged);

    // mirror.cpp: levels with copies
    Task<IoStatus> write_copies(Request& r);
    Task<IoStatus> flush_members(Request& r);

    // repair.cpp
    Task<Stripe*> lock_line(uint64_t line);
    Task<bool> rebuild_line(uint64_t line, uint32_t member);
    Task<bool> recover_line(uint64_t line, uint32_t member);
    Task<bool> read_survivors(Stripe& s, uint64_t own);
    Task<bool> copy_line(uint64_t line, uint32_t member);
    Task<uint64_t> check_line(uint64_t line,
                              bool repair); // columns that could not be read: all bits
    Task<uint64_t> check_copies(uint64_t line, bool repair);
};

} // namespace storlab
