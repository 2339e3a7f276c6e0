// A load that checks itself: many slots, each with one command outstanding, read and write ranges
// of mixed sizes and alignments from memory in pieces, and hold everything against a model disk.
#pragma once
#include "tests/support/model_disk.hpp"
#include <vector>

namespace storlab::test {

struct LoadOptions {
    uint64_t commands = 1000;
    uint32_t outstanding = 32;
    uint32_t largest = 64; // blocks
    uint32_t writes = 60;  // percent
    uint64_t seed = 1;
    Cpu* cpu = nullptr; // that pays for the submission
};

class BlockLoad {
public:
    BlockLoad(BlockDevice& device, ModelDisk& model, const LoadOptions& o)
        : device_(device), model_(model), o_(o), random_(o.seed, "load"), left_(o.commands) {}
    // Runs in the world's loop; then all_done.
    void start() {
        running_ = o_.outstanding;
        for (uint32_t i = 0; i < o_.outstanding; i++)
            slot()
                .detach(this,
                        [](void* c) {
                            static_cast<BlockLoad*>(c)->running_--;
                            return nothing();
                        })
                .resume();
    }
    bool all_done() const { return running_ == 0 && left_ == 0; }

private:
    BlockDevice& device_;
    ModelDisk& model_;
    LoadOptions o_;
    Random random_;
    uint64_t left_;
    uint32_t running_ = 0;

    uint32_t some_size() {
        if (random_.below(2) == 0) return 1;
        return 1 + static_cast<uint32_t>(random_.below(o_.largest));
    }
    // The command's memory: pieces with gaps between, at odd addresses now and then.
    struct Memory {
        std::vector<std::byte> bytes;
        std::vector<Segment> pieces;
    };
    Memory scatter(uint32_t blocks, uint32_t payload) {
        Memory m;
        m.bytes.resize(size_t{blocks} * (payload + 8) + 8);
        std::byte* at = m.bytes.data() + random_.below(2);
        while (blocks > 0) {
            const bool whole = random_.below(2) == 0;
            const auto n = whole ? blocks : 1 + static_cast<uint32_t>(random_.below(blocks));
            m.pieces.push_back({at, n});
            at += size_t{n} * payload + random_.below(8);
            blocks -= n;
        }
        return m;
    }
    static void copy(const Memory& m, uint32_t payload, std::vector<std::byte>& whole, bool out) {
        size_t at = 0;
        for (const Segment& s : m.pieces) {
            const size_t bytes = size_t{s.blocks} * payload;
            if (out) std::memcpy(s.at, whole.data() + at, bytes);
            else std::memcpy(whole.data() + at, s.at, bytes);
            at += bytes;
        }
    }
    Task<void> slot() {
        const uint32_t payload = device_.geometry().payload;
        std::vector<std::byte> whole;
        while (left_ > 0) {
            left_--;
            const uint64_t room = model_.blocks();
            const auto blocks = static_cast<uint32_t>(std::min<uint64_t>(some_size(), room));
            const Lba at{random_.below(room - blocks + 1)};
            const bool writing = random_.below(100) < o_.writes;
            const Memory memory = scatter(blocks, payload);
            whole.assign(size_t{blocks} * payload, std::byte{0});
            ModelDisk::Ticket ticket = writing ? model_.begin_write(at, blocks, whole.data())
                                               : model_.begin_read(at, blocks);
            if (writing) copy(memory, payload, whole, true);
            Io io(&device_, writing ? Op::write : Op::read, at, blocks, memory.pieces.data(),
                  static_cast<uint32_t>(memory.pieces.size()));
            io.cpu = o_.cpu;
            const IoStatus status = co_await io;
            if (writing) {
                model_.end_write(ticket, status);
                continue;
            }
            copy(memory, payload, whole, false);
            model_.end_read(ticket, whole.data(), status);
        }
    }
};

// Writes every block once, one after another.
inline Task<IoStatus> write_all(BlockDevice& device, ModelDisk& model) {
    std::vector<std::byte> data(device.geometry().payload);
    IoStatus worst_seen = IoStatus::ok;
    for (uint64_t at = 0; at < model.blocks(); at++) {
        const ModelDisk::Ticket t = model.begin_write({at}, 1, data.data());
        const IoStatus status = co_await device.write({at}, 1, data.data());
        model.end_write(t, status);
        worst_seen = worst(worst_seen, status);
    }
    co_return worst_seen;
}

// Reads everything once, in steps of `step` blocks.
inline Task<IoStatus> read_back(BlockDevice& device, ModelDisk& model, uint32_t step) {
    const uint32_t payload = device.geometry().payload;
    std::vector<std::byte> data(size_t{step} * payload);
    IoStatus worst_seen = IoStatus::ok;
    for (uint64_t at = 0; at < model.blocks(); at += step) {
        const auto n = static_cast<uint32_t>(std::min<uint64_t>(step, model.blocks() - at));
        const ModelDisk::Ticket t = model.begin_read({at}, n);
        const IoStatus status = co_await device.read({at}, n, data.data());
        model.end_read(t, data.data(), status);
        worst_seen = worst(worst_seen, status);
    }
    co_return worst_seen;
}

} // namespace storlab::test
