// What a disk may return. Beside every device under test stands this model: for each block the
// versions that may be its present contents. Overlapping writes may land in either order, a write
// that failed may be there or not; a read must return a version that was possible at some instant
// between its issue and its completion, and once a read has shown which, all later ones agree.
// A version's contents are a function of block and version; version 0 is a new disk's zeros.
#pragma once
#include "sim/base/error.hpp"
#include "sim/base/random.hpp"
#include "sim/seam/block_device.hpp"
#include <algorithm>
#include <vector>

namespace storlab::test {

class ModelDisk {
public:
    // A command under way; the moments are steps of the model's own clock.
    struct Ticket {
        Lba first;
        uint32_t blocks = 0;
        uint64_t began = 0;
        std::vector<uint64_t> versions; // of a write
    };
    ModelDisk(uint64_t blocks, uint32_t payload) : payload_(payload), blocks_(blocks) {
        STORLAB_ENSURE(payload % sizeof(uint64_t) == 0 && payload >= 2 * sizeof(uint64_t));
    }
    uint64_t blocks() const { return blocks_.size(); }

    Ticket begin_write(Lba first, uint32_t blocks, std::byte* into) {
        Ticket t{first, blocks, ++time_, {}};
        for (uint32_t i = 0; i < blocks; i++) {
            const uint64_t version = ++versions_;
            Block& b = at(t, i);
            b.possible.push_back({version, t.began});
            b.writers++;
            b.changed = t.began;
            t.versions.push_back(version);
            fill(first.block + i, version, into + size_t{i} * payload_);
        }
        return t;
    }
    void end_write(const Ticket& t, IoStatus status) {
        time_++;
        if (status != IoStatus::ok) failed_writes++;
        for (uint32_t i = 0; i < t.blocks; i++) {
            Block& b = at(t, i);
            b.writers--;
            b.changed = time_;
            for (Version& v : b.possible) {
                if (v.number == t.versions[i]) v.ended = time_;
                else if (status == IoStatus::ok && v.ended < t.began)
                    v.gone = std::min(v.gone, time_);
            }
            forget(b);
        }
    }
    Ticket begin_read(Lba first, uint32_t blocks) {
        Ticket t{first, blocks, ++time_, {}};
        for (uint32_t i = 0; i < blocks; i++) at(t, i).readers++;
        return t;
    }
    void end_read(const Ticket& t, const std::byte* data, IoStatus status) {
        time_++;
        for (uint32_t i = 0; i < t.blocks; i++) {
            Block& b = at(t, i);
            b.readers--;
            if (status == IoStatus::ok) check(b, t, i, data + size_t{i} * payload_);
            forget(b);
        }
        if (status != IoStatus::ok) failed_reads++;
    }

    uint64_t checked = 0, mismatches = 0;         // blocks
    uint64_t failed_reads = 0, failed_writes = 0; // commands

private:
    static constexpr uint64_t never = ~uint64_t{0};
    struct Version {
        uint64_t number, began;
        uint64_t ended = never; // of the write
        uint64_t gone = never;  // no longer possible from here on
    };
    struct Block {
        std::vector<Version> possible = {{0, 0, 0}};
        uint64_t changed = 0; // when a write last began or ended
        uint32_t writers = 0, readers = 0;
    };
    uint32_t payload_;
    std::vector<Block> blocks_;
    uint64_t time_ = 0, versions_ = 0;

    Block& at(const Ticket& t, uint32_t i) { return blocks_.at(t.first.block + i); }
    void fill(uint64_t block, uint64_t version, std::byte* into) const {
        std::memset(into, 0, payload_);
        if (version == 0) return;
        std::memcpy(into, &version, sizeof version);
        for (size_t at = sizeof version; at < payload_; at += sizeof version) {
            const uint64_t word = mix(mix(block + 1) + version * 0x9e3779b97f4a7c15ull + at);
            std::memcpy(into + at, &word, sizeof word);
        }
    }
    void check(Block& b, const Ticket& t, uint32_t i, const std::byte* data) {
        checked++;
        uint64_t number = 0;
        std::memcpy(&number, data, sizeof number);
        const auto found =
            std::find_if(b.possible.begin(), b.possible.end(),
                         [&](const Version& v) { return v.number == number && v.gone > t.began; });
        std::vector<std::byte> expected(payload_);
        fill(t.first.block + i, number, expected.data());
        if (found == b.possible.end() || std::memcmp(expected.data(), data, payload_) != 0) {
            mismatches++;
            return;
        }
        if (b.writers > 0 || b.changed > t.began) return;
        for (Version& v : b.possible) // nobody wrote: this is what has been there all along
            if (v.number != number) v.gone = std::min(v.gone, b.changed);
    }
    // Versions that are gone matter only to reads under way.
    static void forget(Block& b) {
        if (b.readers == 0)
            std::erase_if(b.possible, [](const Version& v) { return v.gone != never; });
    }
};

} // namespace storlab::test
