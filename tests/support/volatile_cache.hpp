// A drive whose acknowledged writes a loss of power may undo until they have been flushed: of each
// block any of the contents it has had since may be there afterwards.
#pragma once
#include "sim/base/random.hpp"
#include "sim/faults/faulty_device.hpp"
#include <map>
#include <vector>

namespace storlab::test {

class VolatileCache final : public DeviceFilter {
public:
    // The medium is what is left after the loss.
    VolatileCache(BlockDevice& inner, BlockDevice& medium, uint64_t seed)
        : DeviceFilter(inner), medium_(medium), random_(seed, "cache") {}
    Handle submit(Request& r) override {
        r.device = this;
        if (r.op == Op::read) return inner_.submit(r);
        return run(r, r.op == Op::write ? write(r) : flush(r));
    }
    Task<IoStatus> lose() {
        IoStatus seen = IoStatus::ok;
        for (auto& [block, history] : histories_) {
            std::vector<Bytes>& versions = history.versions;
            const uint64_t which = random_.below(versions.size());
            if (which + 1 == versions.size()) continue;
            seen = worst(seen, co_await medium_.write(Lba{block}, 1, versions[which].data()));
            hits_++;
        }
        histories_.clear();
        co_return seen;
    }

private:
    using Bytes = std::vector<std::byte>;
    struct History {
        uint64_t flushed = 0;        // versions before the first of these
        std::vector<Bytes> versions; // the first is on the medium for sure
    };
    BlockDevice& medium_;
    Random random_;
    std::map<uint64_t, History> histories_; // by block

    Task<IoStatus> write(Request& r) {
        const uint32_t payload = geometry().payload;
        std::vector<std::pair<uint64_t, Bytes>> fresh;
        for_each_segment(r, [&](uint32_t offset, std::byte* at, uint32_t blocks) {
            for (uint32_t b = 0; b < blocks; b++, at += payload)
                fresh.push_back({r.lba.block + offset + b, Bytes(at, at + payload)});
        });
        for (const auto& [block, bytes] : fresh) {
            if (histories_.contains(block)) continue;
            Bytes before(payload);
            const IoStatus status = co_await medium_.read(Lba{block}, 1, before.data());
            if (status != IoStatus::ok) co_return status;
            histories_[block].versions.push_back(before);
        }
        const IoStatus status = co_await copy_of(r);
        if (status == IoStatus::ok)
            for (auto& [block, bytes] : fresh)
                histories_[block].versions.push_back(std::move(bytes));
        co_return status;
    }
    Task<IoStatus> flush(Request& r) {
        std::map<uint64_t, uint64_t> acknowledged;
        for (const auto& [block, h] : histories_)
            acknowledged[block] = h.flushed + h.versions.size() - 1;
        const IoStatus status = co_await copy_of(r);
        if (status != IoStatus::ok) co_return status;
        for (const auto& [block, upto] : acknowledged) {
            History& h = histories_[block];
            if (upto <= h.flushed) continue; // by another flush meanwhile
            h.versions.erase(h.versions.begin(),
                             h.versions.begin() + static_cast<std::ptrdiff_t>(upto - h.flushed));
            h.flushed = upto;
        }
        co_return status;
    }
};

} // namespace storlab::test
