// Levels with copies: a write goes to every copy, and is done when all have it.
#include "models/raid/gather.hpp"
#include <algorithm>

namespace storlab {

Task<IoStatus> Raid::write_copies(Request& r) {
    const uint32_t payload = member_geometry_.payload;
    SegmentCursor data(r, payload);
    IoStatus status = IoStatus::ok;
    for (uint32_t at = 0; at < r.blocks;) {
        const Lba lba = r.lba + at;
        const Place first = layout_.place(lba);
        const uint32_t n = std::min({first.left, r.blocks - at, data.contiguous()});
        if (r.cpu) {
            Work work;
            r.cpu->owe(work, Operation::raid_write);
            if (o_.lock) r.cpu->owe_locked(work, o_.lock, Operation::raid_lock_chunk);
            co_await charge(*r.cpu, work);
        }
        OverlapLocks::Held held(mirrors_, lba.block / layout_.chunk_blocks(), lba.block, n);
        co_await held;
        r.enter(Layer::members, clock_.now());
        std::deque<Io> ios;
        std::vector<std::pair<uint32_t, BlockDevice*>> targets;
        Gather gather;
        for (uint32_t c = 0; c < layout_.copies(); c++) {
            const Place p = layout_.place_copy(lba, c);
            if (!writable(p.member)) continue;
            Io& io = ios.emplace_back(members_[p.member].device, Op::write, p.at, n, data.at());
            io.cpu = r.cpu;
            targets.push_back({p.member, io.device});
            gather.expect(io);
            io.device->submit(io).resume();
        }
        co_await gather;
        bool any = false;
        for (size_t i = 0; i < ios.size(); i++) {
            if (ios[i].status == IoStatus::ok) any = true;
            else kick(targets[i].first, *targets[i].second); // its copy is stale from here on
        }
        if (!any) status = IoStatus::failed;
        data.advance(n);
        at += n;
    }
    co_return status;
}

// Durable on every member that is there.
Task<IoStatus> Raid::flush_members(Request&) {
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
