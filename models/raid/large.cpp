// Requests over several chunks or lines. Their submission runs in the caller, a row at a time;
// member commands that are neighbours on their member leave as one, as md's plug merges them.
#include "models/raid/gather.hpp"
#include <algorithm>

namespace storlab {

namespace {
constexpr size_t plug_limit =
    32; // finished commands that leave the plug at once (Linux BLK_MAX_REQUEST_COUNT)
}

// One member command that is still growing.
struct Raid::Extent {
    BlockDevice* device; // now: a spare that takes its place later holds nothing yet
    Lba at;
    uint32_t blocks = 0;
    std::vector<Segment> segments;
    std::optional<Io> io;
};

class Raid::ExtentList {
public:
    explicit ExtentList(const Raid& raid)
        : raid_(raid), open_(raid.members_.size(), nullptr),
          payload_(raid.member_geometry_.payload) {}

    void add(const Place& p, uint32_t blocks, std::byte* data) {
        Extent*& e = open_[p.member];
        if (!e || e->at + e->blocks != p.at) e = &begin(p);
        e->blocks += blocks;
        e->segments.push_back({data, blocks});
    }
    // Reads on over blocks nobody asked for, if that joins the member's extent to `next`.
    void bridge(uint32_t member, Lba next, uint32_t most) {
        Extent* const e = open_[member];
        if (!e || e->at + e->blocks >= next || next - (e->at + e->blocks) > most) return;
        const auto gap = static_cast<uint32_t>(next - (e->at + e->blocks));
        scratch_.emplace_back(size_t{gap} * payload_);
        e->blocks += gap;
        e->segments.push_back({scratch_.back().data(), gap});
    }
    size_t finished() const { return extents_.size() - issued_ - growing(); }
    // Submits everything collected so far.
    void flush(Gather& gather, Op op, Cpu* cpu) {
        for (; issued_ < extents_.size(); issued_++) {
            Extent& e = extents_[issued_];
            e.io.emplace(e.device, op, e.at, e.blocks, e.segments.data(),
                         static_cast<uint32_t>(e.segments.size()));
            e.io->cpu = cpu;
            gather.expect(*e.io);
            e.device->submit(*e.io).resume();
        }
        std::fill(open_.begin(), open_.end(), nullptr);
    }
    const std::deque<Extent>& extents() const { return extents_; }

private:
    const Raid& raid_;
    std::deque<Extent> extents_;
    std::deque<std::vector<std::byte>> scratch_;
    std::vector<Extent*> open_;
    uint32_t payload_;
    size_t issued_ = 0;

    size_t growing() const {
        return static_cast<size_t>(
            std::count_if(open_.begin(), open_.end(), [](auto* e) { return e; }));
    }
    Extent& begin(const Place& p) {
        extents_.push_back({raid_.members_[p.member].device, p.at, 0, {}, {}});
        return extents_.back();
    }
};

Task<IoStatus> Raid::read_large(Request& r) {
    const uint32_t piece = o_.piece_blocks ? o_.piece_blocks : r.blocks;
    const uint32_t payload = member_geometry_.payload, batch = layout_.data_columns();
    SegmentCursor to(r, payload);
    Cpu* const caller = o_.through_engine ? nullptr : r.cpu;
    Work debt = std::exchange(r.work, {});
    if (r.cpu && o_.through_engine) {
        r.cpu->owe(debt, Operation::card_submit);
        co_await charge(*r.cpu, debt);
    }
    IoStatus status = IoStatus::ok;
    for (uint32_t from = 0; from < r.blocks; from += piece) {
        const uint32_t until = std::min(r.blocks, from + piece);
        r.enter(o_.through_engine ? Layer::card : Layer::host, clock_.now());
        if (o_.through_engine) co_await pass();
        ExtentList extents(*this);
        std::deque<Io> lost; // blocks that must be recovered from their line
        Gather gather;
        for (uint32_t at = from; at < until;) {
            uint32_t chunks = 0;
            for (; chunks < batch && at < until; chunks++) {
                const Lba lba = r.lba + at;
                uint32_t blocks = std::min(layout_.place(lba).left, until - at);
                const std::optional<Place> p = readable_copy(lba, blocks);
                for (at += blocks; blocks > 0;) {
                    const uint32_t n = std::min(blocks, to.contiguous()), done = at - from;
                    const Lba here = r.lba + (from + done - blocks);
                    if (p) {
                        const Place place{p->row, p->column, p->member, p->left,
                                          p->at + (here - lba)};
                        if (o_.reads_through_parity)
                            extents.bridge(p->member, place.at, layout_.chunk_blocks());
                        extents.add(place, n, to.at());
                    } else {
                        for (uint32_t i = 0; i < n; i++)
                            lost.emplace_back(this, Op::read, here + i, 1,
                                              to.at() + size_t{i} * payload);
                    }
                    to.advance(n);
                    blocks -= n;
                }
            }
            if (caller) {
                caller->owe(debt, Operation::raid_read_chunk, chunks);
                if (o_.lock) caller->owe_locked(debt, o_.lock, Operation::raid_lock_chunk, chunks);
                co_await charge(*caller, std::exchange(debt, {}));
            }
            if (extents.finished() >= plug_limit) extents.flush(gather, Op::read, caller);
        }
        r.enter(Layer::members, clock_.now());
        extents.flush(gather, Op::read, caller);
        for (Io& io : lost) {
            gather.expect(io);
            if (parity()) accept(io);
            else io.finish(IoStatus::failed).resume();
        }
        co_await gather;
        for (const Io& io : lost) status = worst(status, io.status);
        bool again = false;
        for (const Extent& e : extents.extents()) again |= e.io->status != IoStatus::ok;
        if (again) co_return co_await read_again(r);
    }
    co_return status;
}

// Reads block by block, each from its member, a copy or the rest of its line: after a failure, or
// when the member is out.
Task<IoStatus> Raid::read_again(Request& r) {
    const uint32_t payload = member_geometry_.payload;
    SegmentCursor to(r, payload);
    IoStatus status = IoStatus::ok;
    if (r.work.owed()) co_await charge(*r.cpu, std::exchange(r.work, {}));
    for (uint32_t i = 0; i < r.blocks; i++, to.advance(1)) {
        const Lba lba = r.lba + i;
        if (parity()) {
            Io io(this, Op::read, lba, 1, to.at());
            io.span = r.blocks == 1 ? r.span : nullptr;
            Gather gather;
            gather.expect(io);
            accept(io);
            co_await gather;
            status = worst(status, io.status);
            continue;
        }
        uint64_t tried = 0, bad = 0;
        IoStatus one = IoStatus::failed;
        while (one != IoStatus::ok) {
            const std::optional<Place> p = readable_copy(lba, 1, tried);
            if (!p) break;
            tried |= uint64_t{1} << p->member;
            BlockDevice& device = *members_[p->member].device;
            one = co_await device.read(p->at, 1, to.at());
            if (one == IoStatus::no_device) kick(p->member, device);
            if (one == IoStatus::failed) bad |= uint64_t{1} << p->member;
        }
        // A request that was sent on does not tell which member failed it.
        if (!bad && one == IoStatus::ok) bad = co_await find_bad_copies(lba, tried);
        if (bad && one == IoStatus::ok) co_await rewrite_copies(lba, bad);
        status = worst(status, one);
    }
    co_return status;
}

// Puts one block's write on its stripe and keeps the stripe plugged.
Task<void> Raid::enqueue(Request& child, std::vector<Stripe*>& plugged) {
    const uint64_t line = layout_.place(child.lba).at.block;
    Stripe* s = cache_.get(line);
    while (!s) { // all stripes are busy: let go of ours, then sleep
        unplug(plugged);
        co_await Room(cache_);
        s = cache_.get(line);
    }
    plug(child, *s);
    plugged.push_back(s);
}

Task<IoStatus> Raid::write_large(Request& r) {
    const uint32_t piece = o_.piece_blocks ? o_.piece_blocks : r.blocks;
    const uint32_t payload = member_geometry_.payload, batch = layout_.data_columns();
    SegmentCursor data(r, payload);
    IoStatus status = IoStatus::ok;
    Work debt = std::exchange(r.work, {});
    if (!parity()) { // RAID 0: extents as for a read
        if (debt.owed()) co_await charge(*r.cpu, debt);
        ExtentList extents(*this);
        Gather gather;
        for (uint32_t at = 0; at < r.blocks;) {
            const Place p = layout_.place(r.lba + at);
            const uint32_t n = std::min({p.left, r.blocks - at, data.contiguous()});
            if (writable(p.member)) extents.add(p, n, data.at());
            else status = IoStatus::failed;
            data.advance(n);
            at += n;
        }
        extents.flush(gather, Op::write, r.cpu);
        co_await gather;
        for (const Extent& e : extents.extents()) status = worst(status, e.io->status);
        co_return status;
    }
    bool first = true;
    for (uint32_t from = 0; from < r.blocks; from += piece) {
        const uint32_t until = std::min(r.blocks, from + piece);
        std::vector<Io> children;
        children.reserve(until - from);
        std::vector<Stripe*> plugged;
        Gather gather;
        for (uint32_t at = from; at < until;) {
            const uint32_t n = std::min(batch, until - at);
            if (r.cpu && (first || !o_.through_engine)) {
                if (first)
                    r.cpu->owe(debt,
                               o_.through_engine ? Operation::card_submit : Operation::raid_write);
                if (!o_.through_engine) {
                    r.cpu->owe(debt, Operation::raid_write_page, n);
                    if (o_.lock) r.cpu->owe_locked(debt, o_.lock, Operation::raid_lock_chunk, n);
                }
                first = false;
                co_await charge(*r.cpu, std::exchange(debt, {}));
            }
            for (uint32_t i = 0; i < n; i++, at++, data.advance(1)) {
                Io& child = children.emplace_back(this, Op::write, r.lba + at, 1, data.at());
                gather.expect(child);
                co_await enqueue(child, plugged);
            }
        }
        r.enter(Layer::raid, clock_.now());
        unplug(plugged);
        co_await gather;
        for (const Io& child : children) status = worst(status, child.status);
    }
    co_return status;
}

} // namespace storlab
