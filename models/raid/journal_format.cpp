// What is on the journal's device.
#include "models/raid/checksum.hpp"
#include "models/raid/journal.hpp"
#include "sim/base/error.hpp"
#include <bit>

namespace storlab {

namespace {
constexpr uint64_t line_mask = (uint64_t{1} << 40) - 1;
constexpr uint64_t sequence_mask = (uint64_t{1} << 24) - 1, life_mask = sequence_mask;
constexpr uint64_t generation_mask = 0xff;
constexpr uint64_t half = 0xffffffff;

struct Meta { // a meta block as it is on the device
    uint64_t low, high;
};
static_assert(sizeof(Meta) == 16);

Meta meta_in(const std::byte* block) {
    Meta m;
    std::memcpy(&m, block, sizeof m);
    return m;
}
uint32_t check_of_checkpoint(const Meta& m) { // no checkpoint is all zeros
    return static_cast<uint32_t>(mix(m.low ^ mix((m.high & ~half) ^ 0x6a6f75726e616c31ull)) >> 32);
}
} // namespace

uint32_t Journal::check_of(uint64_t low, uint64_t position, const Entry& e) const {
    uint64_t sum = mix(mix(mix(life_ + 1) ^ low) + position) + e.columns;
    for (uint32_t left = e.columns; left; left &= left - 1)
        sum = checksum(sum, e.pages + size_t(std::countr_zero(left)) * payload_, payload_);
    return static_cast<uint32_t>(sum >> 32);
}

void Journal::seal(std::byte* meta, uint64_t start, uint64_t number, const Entry& e) const {
    STORLAB_ENSURE(e.line <= line_mask && e.columns != 0);
    Meta m{e.line | (number & sequence_mask) << 40, uint64_t{e.columns} << 32};
    m.high |= check_of(m.low, position_of(start), e);
    std::memset(meta, 0, payload_);
    std::memcpy(meta, &m, sizeof m);
}

// The entry of that number, if a meta block says it is one; its pages decide.
std::optional<Journal::Entry> Journal::parse(const std::byte* meta, uint64_t number,
                                             std::byte* pages) const {
    const Meta m = meta_in(meta);
    const auto columns = static_cast<uint32_t>(m.high >> 32);
    if (columns == 0 || uint64_t{columns} >> columns_) return std::nullopt;
    if (m.low >> 40 != (number & sequence_mask)) return std::nullopt;
    return Entry{m.low & line_mask, columns, pages};
}
bool Journal::whole(const std::byte* meta, uint64_t start, const Entry& e) const {
    const Meta m = meta_in(meta);
    return (m.high & half) == check_of(m.low, position_of(start), e);
}

std::optional<Journal::Checkpoint> Journal::checkpoint(const std::byte* block) const {
    const Meta m = meta_in(block);
    if ((m.high & half) != check_of_checkpoint(m)) return std::nullopt;
    const Checkpoint c{m.low & half, m.low >> 32 & sequence_mask, m.high >> 40 & life_mask,
                       m.high >> 32 & generation_mask};
    if (c.position >= ring_) return std::nullopt; // of some other journal
    return c;
}

// The log goes on where the later checkpoint says. False: one of them cannot be read, and it may
// have been the later one.
Task<bool> Journal::load_checkpoint() {
    std::optional<Checkpoint> latest;
    uint64_t unreadable = 0;
    const PageMemory block(payload_);
    for (uint64_t i = 0; i < checkpoints; i++) {
        const IoStatus status = co_await device_.read(Lba{i}, 1, block.get());
        if (status == IoStatus::no_device) fail();
        if (status != IoStatus::ok) {
            unreadable++;
            continue;
        }
        const std::optional<Checkpoint> c = checkpoint(block.get());
        // Generations of the two are neighbours, in a circle.
        if (c && (!latest || ((latest->generation + 1) & generation_mask) == c->generation))
            latest = c;
    }
    if (latest) {
        tail_ = head_ = latest->position;
        first_ = latest->sequence;
        life_ = latest->life;
        generation_ = latest->generation;
    }
    done_ = stable_ = landed_ = next_ = first_;
    if (unreadable == checkpoints) fail(); // nothing says which entries are dead
    co_return unreadable == 0;
}

// From now on the log begins with that entry. False: the device has failed.
Task<bool> Journal::write_checkpoint(uint64_t start, uint64_t number) {
    generation_ = (generation_ + 1) & generation_mask;
    Meta m{position_of(start) | (number & sequence_mask) << 32,
           generation_ << 32 | (life_ & life_mask) << 40};
    m.high |= check_of_checkpoint(m);
    std::memset(checkpoint_.get(), 0, payload_);
    std::memcpy(checkpoint_.get(), &m, sizeof m);
    written_checkpoints_++;
    const Lba at{generation_ % checkpoints};
    IoStatus status = co_await device_.write(at, 1, checkpoint_.get());
    if (status == IoStatus::ok) status = co_await flush();
    if (status != IoStatus::ok) fail();
    co_return status == IoStatus::ok;
}

} // namespace storlab
