// Levels with copies: a write goes to every copy, and is done when all have it.
#include "models/raid/gather.hpp"
#include <algorithm>

namespace storlab {

Task<IoStatus> Raid::write_copies(Request& r) {
    const uint32_t payload = member_geometry_.payload;
    SegmentCursor data(r, payload);
    IoStatus status = IoStatus::ok;
    Work debt = std::exchange(r.work, {});
    for (uint32_t at = 0; at < r.blocks;) {
        const Lba lba = r.lba + at;
        const Place first = layout_.place(lba);
        const uint32_t n = std::min({first.left, r.blocks - at, data.contiguous()});
        if (r.cpu) {
            r.cpu->owe(debt, Operation::raid_write);
            if (o_.lock) r.cpu->owe_locked(debt, o_.lock, Operation::raid_lock_chunk);
            co_await charge(*r.cpu, std::exchange(debt, {}));
        }
        OverlapLocks::Held held(mirrors_, lba.block / layout_.chunk_blocks(), lba.block, n);
        co_await held;
        r.enter(Layer::members, clock_.now());
        // Copies are in one region or, where an odd RAID 10 begins a new row, in two.
        const uint64_t region = intents_ ? region_of(first.at.block) : 0;
        const uint64_t last_region = intents_ ? region_of(last_copy(lba).at.block) : 0;
        if (intents_) co_await WriteIntents::Begin(*intents_, region);
        if (last_region != region) co_await WriteIntents::Begin(*intents_, last_region);
        std::deque<Io> ios;
        std::vector<std::pair<Place, BlockDevice*>> targets;
        Gather gather;
        for (uint32_t c = 0; c < layout_.copies(); c++) {
            const Place p = layout_.place_copy(lba, c);
            if (!writable(p.member)) continue;
            Io& io = ios.emplace_back(members_[p.member].device, Op::write, p.at, n, data.at());
            io.cpu = r.cpu;
            targets.push_back({p, io.device});
            gather.expect(io);
            io.device->submit(io).resume();
        }
        co_await gather;
        if (intents_) intents_->end(region);
        if (last_region != region) intents_->end(last_region);
        for (size_t i = 0; i < ios.size(); i++) // a copy that was not written is stale from here on
            if (ios[i].status != IoStatus::ok) kick(targets[i].first.member, *targets[i].second);
        // A spare that is not read here yet does not count: it goes when its source is gone.
        bool any = false;
        for (size_t i = 0; i < ios.size(); i++) {
            const Place& p = targets[i].first;
            any |= ios[i].status == IoStatus::ok && readable(p.member, p.at, n);
        }
        if (!any) status = IoStatus::failed;
        data.advance(n);
        at += n;
    }
    co_return status;
}

// Which copies besides those tried cannot be read; who does not answer is out.
Task<uint64_t> Raid::find_bad_copies(Lba lba, uint64_t tried) {
    const PageMemory block(member_geometry_.payload);
    uint64_t bad = 0;
    for (uint32_t c = 0; c < layout_.copies(); c++) {
        const Place p = layout_.place_copy(lba, c);
        if ((tried >> p.member & 1) || !readable(p.member, p.at.block)) continue;
        BlockDevice& device = *members_[p.member].device;
        const IoStatus status = co_await device.read(p.at, 1, block.get());
        if (status == IoStatus::failed) bad |= uint64_t{1} << p.member;
        if (status == IoStatus::no_device) kick(p.member, device);
    }
    co_return bad;
}

// Puts a block back to copies that could not be read, as it is now.
Task<void> Raid::rewrite_copies(Lba lba, uint64_t bad) {
    OverlapLocks::Held held(mirrors_, lba.block / layout_.chunk_blocks(), lba.block, 1);
    co_await held;
    const std::optional<Place> p = readable_copy(lba, 1, bad);
    if (!p) co_return;
    const PageMemory block(member_geometry_.payload);
    BlockDevice& source = *members_[p->member].device;
    if (co_await source.read(p->at, 1, block.get()) == IoStatus::ok)
        co_await write_block(lba, block.get(), bad, bad);
}

// Writes a block to some members. Of those that are `bad` it could not be read.
Task<void> Raid::write_block(Lba lba, std::byte* data, uint64_t members, uint64_t bad) {
    for (uint32_t c = 0; c < layout_.copies(); c++) {
        const Place p = layout_.place_copy(lba, c);
        if (!(members >> p.member & 1) || !readable(p.member, p.at.block)) continue;
        BlockDevice& device = *members_[p.member].device;
        const bool ok = co_await device.write(p.at, 1, data) == IoStatus::ok;
        if (!ok) kick(p.member, device);
        counters_.rewritten += ok && (bad >> p.member & 1);
    }
}

// Durable on every member that is there.
Task<IoStatus> Raid::flush_members(Request& r) {
    if (r.work.owed()) co_await charge(*r.cpu, std::exchange(r.work, {}));
    std::deque<Io> ios;
    std::vector<std::pair<uint32_t, BlockDevice*>> targets;
    Gather gather;
    for (uint32_t m = 0; m < members_.size(); m++) {
        if (!writable(m)) continue;
        targets.push_back({m, members_[m].device});
        Io& io = ios.emplace_back(members_[m].device, Op::flush, Lba{0}, 1, nullptr);
        gather.expect(io);
        io.device->submit(io).resume();
    }
    co_await gather;
    IoStatus status = IoStatus::ok;
    for (size_t i = 0; i < ios.size(); i++) {
        if (ios[i].status == IoStatus::failed) status = IoStatus::failed;
        if (ios[i].status == IoStatus::no_device) kick(targets[i].first, *targets[i].second);
    }
    co_return failed() ? IoStatus::failed : status;
}

} // namespace storlab
