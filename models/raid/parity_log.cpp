#include "models/raid/parity_log.hpp"
#include "models/raid/checksum.hpp"
#include "sim/base/error.hpp"
#include <algorithm>
#include <cstring>
#include <set>

namespace storlab {

namespace {
constexpr uint64_t laps = 1 << 16;
constexpr uint64_t line_mask = (uint64_t{1} << 40) - 1;

// A header as it is on the member.
struct Header {
    uint64_t low, high;
    uint16_t check() const { // of everything but itself; no header is all zeros
        return static_cast<uint16_t>(
            mix(low ^ mix((high & ~uint64_t{0xffff}) ^ 0x70706c2d656e7472ull)) >> 48);
    }
};
static_assert(sizeof(Header) == 16);
} // namespace

ParityLog::ParityLog(const Shape& shape)
    : shape_(shape), memory_(size_t{shape.members} * shape.slots * slot_blocks * shape.payload) {
    STORLAB_ENSURE(shape.data_columns <= most_data_columns && shape.slots > 0);
    STORLAB_ENSURE(shape.payload >= sizeof(Header));
    for (uint32_t m = 0; m < shape.members; m++)
        rings_.push_back({0, std::vector<bool>(shape.slots), {}});
}

bool ParityLog::take(Ticket& t) {
    Ring& ring = rings_[t.member];
    const auto slot = static_cast<size_t>(ring.next % shape_.slots);
    if (!ring.waiters.empty() || ring.busy[slot]) return false;
    ring.busy[slot] = true;
    t.sequence = ring.next++;
    return t.held = true;
}
void ParityLog::release(Ticket& t) {
    if (!t.held) return;
    t.held = false;
    Ring& ring = rings_[t.member];
    ring.busy[slot_of(t)] = false;
    while (!ring.waiters.empty()) {
        const auto slot = static_cast<size_t>(ring.next % shape_.slots);
        if (ring.busy[slot]) return;
        auto& first = static_cast<Reserve&>(static_cast<Resume&>(ring.waiters.pop()));
        ring.busy[slot] = true;
        first.ticket_.sequence = ring.next++;
        first.ticket_.held = true;
        first.waiter.resume();
    }
}

uint32_t ParityLog::check_of(const std::byte* partial) const {
    return static_cast<uint32_t>(checksum(1, partial, shape_.payload) >> 40);
}

void ParityLog::seal(const Ticket& t, uint64_t line, uint32_t columns) {
    STORLAB_ENSURE(line <= line_mask);
    const uint64_t lap = t.sequence / shape_.slots % laps;
    const uint64_t sum = has_partial(columns) ? check_of(partial(t)) : 0;
    Header h{line | lap << 40 | sum << 56, uint64_t{columns} << 32 | sum >> 8 << 16};
    h.high |= h.check();
    std::memset(header(t), 0, shape_.payload);
    std::memcpy(header(t), &h, sizeof h);
}

std::optional<ParityLog::Entry> ParityLog::read(uint32_t slot, const std::byte* bytes) const {
    Header h;
    std::memcpy(&h, bytes, sizeof h);
    if ((h.high & 0xffff) != h.check()) return std::nullopt;
    const uint64_t lap = h.low >> 40 & (laps - 1);
    const auto columns = static_cast<uint32_t>(h.high >> 32);
    const auto sum = static_cast<uint32_t>(h.low >> 56 | (h.high >> 16 & 0xffff) << 8);
    if (uint64_t{columns} >> shape_.data_columns) return std::nullopt; // of some other array
    const bool whole = !has_partial(columns) || sum == check_of(bytes + shape_.payload);
    return Entry{slot, columns, h.low & line_mask, lap * shape_.slots + slot, whole};
}

std::vector<ParityLog::Entry> ParityLog::unfinished(uint32_t member, std::vector<Entry> found) {
    std::vector<Entry> live;
    if (found.empty()) return live;
    const uint64_t span = laps * shape_.slots, origin = found.front().sequence;
    // How long after `origin`, in a circle.
    const auto since = [&](uint64_t sequence) {
        const uint64_t d = (sequence + span - origin) % span;
        return static_cast<int64_t>(d) - static_cast<int64_t>(d > span / 2 ? span : 0);
    };
    std::sort(found.begin(), found.end(), [&](const Entry& a, const Entry& b) {
        return since(a.sequence) > since(b.sequence);
    });
    const int64_t latest = since(found.front().sequence);
    rings_[member].next = found.front().sequence + 1;
    std::set<uint64_t> seen;
    for (const Entry& e : found) {
        if (since(e.sequence) <= latest - int64_t{shape_.slots}) break;
        if (seen.insert(e.line).second && e.whole) live.push_back(e);
    }
    std::reverse(live.begin(), live.end());
    return live;
}

} // namespace storlab
