// What a volume must return. Every write of a sector carries a version, and the contents follow
// from (sector, version), so only versions are kept. A read is right if, per sector, it returns a
// version that was current at some instant between its issue and its completion. Overlapping writes
// may land in either order, but reads that come after must agree; a write that failed may be there
// or not.
#pragma once
#include "sim/base/random.hpp"
#include "sim/seam/block_device.hpp"
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace storlab {

// The contents of a sector at a version; any prefix of it identifies both.
inline void fill_sector(std::byte* at, uint32_t payload, uint64_t sector, uint32_t version) {
    uint64_t x = mix(sector * 0x9e3779b97f4a7c15ull + version);
    for (uint32_t i = 0; i < payload; i += 8) {
        x += 0x9e3779b97f4a7c15ull;
        const uint64_t word = mix(x);
        std::memcpy(at + i, &word, payload - i < 8 ? payload - i : 8);
    }
}

class ModelDisk {
public:
    // What a volume holds at version 0: fill_sector(.., 0) in every sector, or zeros, as a new
    // file.
    enum class Start : uint8_t { filled, zeros };
    // first: what the contents of sector 0 are numbered by, so that two volumes differ in theirs.
    ModelDisk(uint64_t sectors, uint32_t payload, Start start, uint64_t first = 0);

    void expect(uint64_t sector) const { __builtin_prefetch(&entries_[sector]); }
    // Gives a write its versions and fills `data` with their contents.
    void begin_write(uint64_t sector, uint32_t count, std::byte* data);
    void end_write(uint64_t sector, uint32_t count, const std::byte* data, bool ok);

    // A read remembers what was current when it was issued: one word a sector.
    struct ReadMark {
        uint64_t moment = 0;
        std::vector<uint32_t> since;
    };
    void begin_read(uint64_t sector, uint32_t count, ReadMark& mark);
    // Sectors whose contents are wrong.
    uint32_t end_read(uint64_t sector, uint32_t count, const std::byte* data, const ReadMark& mark);

    uint64_t verified() const { return verified_; }     // reads compared
    uint64_t mismatches() const { return mismatches_; } // reads that differed
    const std::vector<std::string>& first_mismatches() const { return first_; }
    uint64_t overlaps() const { return overlaps_; } // writes issued onto a write in flight
    bool written(uint64_t sector) const { return entries_[sector] != 0; }

private:
    // entry = version << 2 | state
    enum : uint32_t { settled = 0, writing = 1, several = 2 };
    struct Write {
        uint32_t version;
        uint64_t issued,
            completed;           // moments; completed 0: in flight, or failed and forever possible
        uint64_t superseded = 0; // the moment from which reads issued later must not see it
    };
    struct Overlap { // a sector with more than one candidate
        uint32_t newest;
        // Who reads since before this began may see what was there, as far back as it remembers.
        uint64_t began;
        uint32_t first;
        std::vector<Write> writes;
    };
    uint32_t payload_;
    Start start_;
    uint64_t numbered_from_;
    std::vector<uint32_t> entries_;
    std::unordered_map<uint64_t, Overlap> overlaps_of_;
    uint64_t moment_ = 1, verified_ = 0, mismatches_ = 0, overlaps_ = 0;
    std::vector<std::string> first_;

    bool holds(const std::byte* data, uint64_t sector, uint32_t version) const;
    Overlap& overlap(uint64_t sector);
    void complete(uint64_t sector, Overlap& o, uint32_t version);
    bool read_overlap(uint64_t sector, const std::byte* data, uint64_t issued, uint32_t since);
    void report(uint64_t sector, const std::byte* data, uint32_t oldest, uint32_t newest);
};

} // namespace storlab
