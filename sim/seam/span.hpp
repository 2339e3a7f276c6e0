// Where one I/O spent its time. Each layer says when the I/O enters it; the time since the last
// such moment belongs to the layer left. A null span costs a branch.
#pragma once
#include "sim/base/time.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace storlab {

enum class Layer : uint8_t {
    host,     // the submitting thread: waiting for it and running in it
    lock,     // waiting for and holding the array's lock
    raid,     // stripe queue, worker passes, parity
    members,  // a write's member reads and writes, and reconstruction reads
    card,     // a RAID card's rounds and link
    command,  // the drive's link, command fetch and controller
    flash,    // waiting for and sensing a die
    transfer, // flash channel and host link of the data
    fabric,   // cables, switches and adapters, both ways
    target,   // waiting for and running in the target
    count
};
constexpr size_t layer_count = static_cast<size_t>(Layer::count);
constexpr std::array<std::string_view, layer_count> layer_names = {
    "host", "lock", "raid", "members", "card", "command", "flash", "transfer", "fabric", "target"};

class Span {
public:
    void open(Instant now) {
        spent_ = {};
        since_ = now;
        in_ = Layer::host;
    }
    void enter(Layer layer, Instant now) {
        spent_[static_cast<size_t>(in_)] += (now - since_).count_ps();
        since_ = now;
        in_ = layer;
    }
    void close(Instant now) { enter(Layer::host, now); }
    const std::array<int64_t, layer_count>& spent_ps() const { return spent_; }

private:
    std::array<int64_t, layer_count> spent_{};
    Instant since_;
    Layer in_ = Layer::host;
};

} // namespace storlab
