// The requests of a run in the order in which they were issued, as fio's write_iolog gives them:
// version 2, which any fio since 2.0 replays with read_iolog. Left out: waits between requests, so
// a replay goes as fast as it can. Source: fio HOWTO, "Trace file format v2".
#pragma once
#include "sim/seam/block_device.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace storlab::fio {

class IoLog {
public:
    // A file of the log; gives its number.
    uint32_t add_file(const std::string& name);
    void issued(uint32_t file, Op op, uint64_t offset, uint32_t bytes) {
        requests_.push_back({offset, bytes, file, op});
    }
    size_t size() const { return requests_.size(); }
    std::string text() const;

private:
    struct Line {
        uint64_t offset;
        uint32_t bytes, file;
        Op op;
    };
    std::vector<std::string> files_;
    std::vector<Line> requests_;
};

} // namespace storlab::fio
