#include "sim/faults/faulty_device.hpp"
#include <algorithm>

namespace storlab {

Io DeviceFilter::copy_of(Request& r) {
    Io io(&inner_, r.op, r.lba, r.blocks, r.segments(), r.segment_count);
    io.cpu = r.cpu;
    io.span = r.span;
    io.work = std::exchange(r.work, {}); // the debt goes with the command
    return io;
}
Handle DeviceFilter::run(Request& r, Task<IoStatus> task) {
    return std::move(task).detach(
        &r, [](void* c, IoStatus s) { return static_cast<Request*>(c)->finish(s); });
}

Handle LostWrites::submit(Request& r) {
    if (r.op != Op::write || !which_.hits(++writes_)) return inner_.submit(r);
    hits_++;
    r.device = this;
    return r.finish(IoStatus::ok);
}

Handle StaleReads::submit(Request& r) {
    if (r.op == Op::flush || !where_.overlaps(r.lba, r.blocks)) return inner_.submit(r);
    r.device = this;
    return run(r, r.op == Op::write ? write(r) : read(r));
}
Task<IoStatus> StaleReads::write(Request& r) {
    const size_t payload = geometry().payload;
    std::vector<std::byte> old(payload * r.blocks);
    const IoStatus found = co_await inner_.read(r.lba, r.blocks, old.data());
    if (found != IoStatus::ok) co_return found;
    const IoStatus status = co_await copy_of(r);
    for (uint32_t b = 0; b < r.blocks; b++)
        if (where_.overlaps(r.lba + b, 1))
            before_[r.lba.block + b].assign(old.data() + b * payload,
                                            old.data() + (b + 1) * payload);
    co_return status;
}
Task<IoStatus> StaleReads::read(Request& r) {
    const size_t payload = geometry().payload;
    const IoStatus status = co_await copy_of(r);
    for_each_segment(r, [&](uint32_t offset, std::byte* at, uint32_t blocks) {
        for (uint32_t b = 0; b < blocks; b++) {
            const auto old = before_.find(r.lba.block + offset + b);
            if (old == before_.end()) continue;
            hits_++;
            std::memcpy(at + b * payload, old->second.data(), payload);
        }
    });
    co_return status;
}

Handle DelayedDevice::submit(Request& r) {
    Duration wait = o_.least;
    if (o_.spread > Duration())
        wait += Duration::ps(
            static_cast<int64_t>(random_.below(static_cast<uint64_t>(o_.spread.count_ps()) + 1)));
    if (wait == Duration()) return inner_.submit(r);
    hits_++;
    r.device = this;
    return run(r, late(r, clock_.now() + wait));
}
Task<IoStatus> DelayedDevice::late(Request& r, Instant when) {
    co_await sleep_until(clock_, when);
    co_return co_await copy_of(r);
}

bool UnreadableSectors::bad(Lba at, uint32_t blocks) const {
    for (uint32_t b = 0; b < blocks; b++)
        if (o_.where.overlaps(at + b, 1) && !healed_.contains(at.block + b)) return true;
    return false;
}
Handle UnreadableSectors::submit(Request& r) {
    if (r.op == Op::write && o_.healed_by_write && o_.where.overlaps(r.lba, r.blocks))
        for (uint32_t b = 0; b < r.blocks; b++) healed_.insert(r.lba.block + b);
    if (r.op != Op::read || !bad(r.lba, r.blocks) || (o_.times && hits_ >= o_.times))
        return inner_.submit(r);
    hits_++;
    r.device = this;
    return r.finish(IoStatus::failed);
}

Handle PoweredDevice::submit(Request& r) {
    if (supply_.commands_left == 0) supply_.off = true;
    r.device = this;
    if (!supply_.off) {
        supply_.commands_left--;
        return run(r, powered(r));
    }
    hits_++;
    return r.finish(IoStatus::no_device);
}
Task<IoStatus> PoweredDevice::powered(Request& r) {
    const IoStatus status = co_await copy_of(r);
    co_return supply_.off ? IoStatus::no_device : status;
}

void LingeringWrites::remember(const Request& r) {
    const size_t payload = geometry().payload;
    Old old{r.lba, r.blocks, std::vector<std::byte>(payload * r.blocks)};
    for_each_segment(r, [&](uint32_t offset, std::byte* at, uint32_t blocks) {
        std::memcpy(old.data.data() + offset * payload, at, blocks * payload);
    });
    lingering_.push_back(std::move(old));
}
Handle LingeringWrites::submit(Request& r) {
    if (r.op != Op::write) return inner_.submit(r);
    const auto old = std::find_if(lingering_.begin(), lingering_.end(), [&](const Old& o) {
        return BlockRange{o.at.block, o.blocks}.overlaps(r.lba, r.blocks);
    });
    if (old != lingering_.end()) {
        Old late = std::move(*old);
        lingering_.erase(old);
        hits_++;
        r.device = this;
        return run(r, write_then_old(r, std::move(late)));
    }
    if (which_.hits(++writes_)) remember(r);
    return inner_.submit(r);
}
Task<IoStatus> LingeringWrites::write_then_old(Request& r, Old old) {
    const IoStatus status = co_await copy_of(r);
    if (status != IoStatus::ok) co_return status;
    co_return co_await inner_.write(old.at, old.blocks, old.data.data());
}

} // namespace storlab
