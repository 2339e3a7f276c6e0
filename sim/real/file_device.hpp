// A drive that is a file: blocks of real bytes, read and written through the world's ring, past the
// page cache where the file system allows it. Several processes may open one file as a shared
// drive. Sizing makes the file sparse; a file that is larger already keeps its size. Left out: more
// than one file a drive, trim.
#pragma once
#include "sim/real/real_world.hpp"
#include "sim/seam/block_device.hpp"
#include <memory>
#include <string>
#include <vector>

namespace storlab {

struct FileOptions {
    std::string path;
    uint64_t blocks = 0;
    Bytes block{4096};
    bool direct = true; // O_DIRECT if the file system can
};

class FileDevice final : public BlockDevice {
public:
    FileDevice(RealWorld& world, const FileOptions& options); // InputError, with the path
    ~FileDevice() override;                                   // nothing may be in flight
    FileDevice(const FileDevice&) = delete;
    FileDevice& operator=(const FileDevice&) = delete;

    Geometry geometry() const override {
        return {o_.blocks, o_.block, static_cast<uint32_t>(o_.block.count())};
    }
    Handle submit(Request& request) override;

    // As if pulled out: every command from now on, and those in flight, ends with no_device.
    void fail() { failed_ = true; }
    bool failed() const { return failed_; }
    // The first stretch of blocks from this one on that the file has data for (the rest are holes,
    // and read as zeros); empty at the end of the device if there is none. A file system that keeps
    // no holes has data everywhere.
    struct Stretch {
        uint64_t first, end;
    };
    Stretch data_from(uint64_t block) const;
    bool direct() const { return direct_; } // false: the page cache is in the way of the drive
    uint64_t copied() const {
        return copied_;
    } // commands whose memory was not aligned for O_DIRECT
    const std::string& first_error() const { return first_error_; } // empty: none so far

private:
    struct Command;
    RealWorld& world_;
    const FileOptions o_;
    int file_ = -1;
    bool direct_ = false, failed_ = false;
    uint32_t memory_alignment_ = 1;
    uint64_t copied_ = 0;
    std::string first_error_;
    std::vector<std::unique_ptr<Command>> commands_;
    std::vector<Command*> free_commands_;

    void open();
    bool open_direct();
    void size() const;
    [[noreturn]] void complain(const std::string& what) const;
    Command& take();
    bool reachable(const Request& r) const;
    void use_segments(Command& c) const;
    void use_copy(Command& c);
    IoStatus judge(const Command& c, int result);
    static void gone(Event& e);
    static void ended(RingCommand& c, int result);
};

} // namespace storlab
