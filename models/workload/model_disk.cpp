#include "models/workload/model_disk.hpp"
#include "sim/base/error.hpp"
#include <algorithm>

namespace storlab {

namespace {
constexpr size_t mismatches_kept = 8;
constexpr size_t superseded_kept = 64; // for reads in flight that may still see them
} // namespace

ModelDisk::ModelDisk(uint64_t sectors, uint32_t payload, Start start, uint64_t first)
    : payload_(payload), start_(start), numbered_from_(first), entries_(sectors, 0) {}

bool ModelDisk::holds(const std::byte* data, uint64_t sector, uint32_t version) const {
    if (version == 0 && start_ == Start::zeros)
        return std::all_of(data, data + payload_, [](std::byte b) { return b == std::byte{0}; });
    if (payload_ == 16) { // a sketch: two words, no call
        uint64_t want[2], found[2];
        fill_sector(reinterpret_cast<std::byte*>(want), 16, numbered_from_ + sector, version);
        std::memcpy(found, data, 16);
        return ((want[0] ^ found[0]) | (want[1] ^ found[1])) == 0;
    }
    std::vector<std::byte> want(payload_);
    fill_sector(want.data(), payload_, numbered_from_ + sector, version);
    return std::memcmp(data, want.data(), payload_) == 0;
}

// The sector's candidates, made from its entry when a second write overlaps the first.
ModelDisk::Overlap& ModelDisk::overlap(uint64_t sector) {
    Overlap& o = overlaps_of_[sector];
    uint32_t& entry = entries_[sector];
    if ((entry & 3) == several) return o;
    const uint32_t version = entry >> 2;
    o.writes.push_back({version, 0, 1});
    o.newest = o.first = version;
    o.began = moment_;
    if ((entry & 3) == writing) o.writes.push_back({++o.newest, moment_, 0});
    entry = several;
    return o;
}

void ModelDisk::begin_write(uint64_t sector, uint32_t count, std::byte* data) {
    moment_++;
    for (uint32_t i = 0; i < count; i++, data += payload_) {
        uint32_t& entry = entries_[sector + i];
        uint32_t version;
        if ((entry & 3) == settled) {
            entry |= writing;
            version = (entry >> 2) + 1;
            STORLAB_ENSURE(version < 1u << 30);
        } else {
            overlaps_++;
            Overlap& o = overlap(sector + i);
            version = ++o.newest;
            o.writes.push_back({version, moment_, 0});
        }
        fill_sector(data, payload_, numbered_from_ + sector + i, version);
    }
}

void ModelDisk::end_write(uint64_t sector, uint32_t count, const std::byte* data, bool ok) {
    moment_++;
    for (uint32_t i = 0; i < count; i++, data += payload_) {
        uint32_t& entry = entries_[sector + i];
        if ((entry & 3) == writing) {
            if (ok) entry = ((entry >> 2) + 1) << 2;
            else overlap(sector + i); // for ever possible
            continue;
        }
        if (!ok) continue;
        Overlap& o = overlap(sector + i);
        const auto w = std::find_if(o.writes.begin(), o.writes.end(), [&](const Write& candidate) {
            return candidate.completed == 0 && holds(data, sector + i, candidate.version);
        });
        STORLAB_ENSURE(w != o.writes.end());
        complete(sector + i, o, w->version);
    }
}

void ModelDisk::complete(uint64_t sector, Overlap& o, uint32_t version) {
    auto done = std::find_if(o.writes.begin(), o.writes.end(),
                             [&](const Write& w) { return w.version == version; });
    done->completed = moment_;
    // What was complete before this one was issued is gone.
    for (Write& w : o.writes)
        if (w.completed && !w.superseded && w.completed < done->issued) w.superseded = moment_;
    while (o.writes.size() > superseded_kept) {
        const auto oldest = std::find_if(o.writes.begin(), o.writes.end(),
                                         [](const Write& w) { return w.superseded != 0; });
        if (oldest == o.writes.end()) break;
        o.writes.erase(oldest);
    }
    size_t possible = 0;
    for (const Write& w : o.writes) possible += w.superseded == 0;
    // One candidate, and the newest version: simple again. Reads in flight saw at most the kept
    // ones.
    if (possible == 1 && done->superseded == 0 && version == o.newest) {
        overlaps_of_.erase(sector);
        entries_[sector] = version << 2;
    }
}

void ModelDisk::begin_read(uint64_t sector, uint32_t count, ReadMark& mark) {
    mark.moment = moment_++;
    mark.since.resize(count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t entry = entries_[sector + i];
        if ((entry & 3) != several) {
            mark.since[i] = entry >> 2;
            continue;
        }
        uint32_t oldest = ~0u;
        for (const Write& w : overlaps_of_[sector + i].writes)
            if (w.superseded == 0) oldest = std::min(oldest, w.version);
        mark.since[i] = oldest;
    }
}

uint32_t ModelDisk::end_read(uint64_t sector, uint32_t count, const std::byte* data,
                             const ReadMark& mark) {
    moment_++;
    verified_++;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; i++, data += payload_) {
        const uint32_t entry = entries_[sector + i];
        if ((entry & 3) == several) {
            if (read_overlap(sector + i, data, mark.moment, mark.since[i])) continue;
            report(sector + i, data, mark.since[i], overlaps_of_[sector + i].newest);
            wrong++;
            continue;
        }
        const uint32_t newest = (entry >> 2) + ((entry & 3) == writing);
        bool found = false;
        for (uint32_t v = newest + 1; !found && v-- > mark.since[i];)
            found = holds(data, sector + i, v);
        if (found) continue;
        report(sector + i, data, mark.since[i], newest);
        wrong++;
    }
    mismatches_ += wrong > 0;
    return wrong;
}

bool ModelDisk::read_overlap(uint64_t sector, const std::byte* data, uint64_t issued,
                             uint32_t since) {
    Overlap& o = overlaps_of_[sector];
    for (uint32_t v = since; issued < o.began && v < o.first; v++)
        if (holds(data, sector, v)) return true;
    Write* seen = nullptr;
    bool quiet = true; // nothing was in flight while this was read
    for (Write& w : o.writes) {
        quiet = quiet && w.completed && w.completed <= issued;
        if (w.superseded && w.superseded <= issued) continue;
        if (!seen && holds(data, sector, w.version)) seen = &w;
    }
    if (!seen) return false;
    if (quiet) // the order is known now: all later reads must agree
        for (Write& w : o.writes)
            if (&w != seen && !w.superseded) w.superseded = moment_;
    return true;
}

void ModelDisk::report(uint64_t sector, const std::byte* data, uint32_t oldest, uint32_t newest) {
    if (first_.size() >= mismatches_kept) return;
    std::string what = "sector " + std::to_string(sector) + ": expected version ";
    what += oldest == newest ? std::to_string(newest)
                             : std::to_string(oldest) + " to " + std::to_string(newest);
    what += ", found ";
    constexpr uint32_t furthest = 1000;
    for (uint32_t v = newest + 1; v-- > 0 && newest - v < furthest;)
        if (holds(data, sector, v)) {
            first_.push_back(what + (v < oldest ? "stale version " : "overwritten version ") +
                             std::to_string(v));
            return;
        }
    first_.push_back(what + "contents of no version of this sector");
}

} // namespace storlab
