#include "sim/real/file_device.hpp"
#include "sim/base/error.hpp"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

namespace storlab {

namespace {
constexpr uint32_t page = 4096;         // memory alignment every file system accepts for O_DIRECT
constexpr uint32_t most_vectors = 1024; // Linux UIO_MAXIOV
constexpr mode_t owner_may = 0644;
struct Free {
    void operator()(std::byte* p) const { std::free(p); }
};
} // namespace

// Kept for the next request when done: its vectors and its aligned memory grow to what was needed.
struct FileDevice::Command : RingCommand {
    FileDevice* device = nullptr;
    Request* request = nullptr;
    std::vector<iovec> list;
    std::unique_ptr<std::byte, Free> copy;
    size_t capacity = 0, bytes = 0;
    bool copied = false;
};

FileDevice::FileDevice(RealWorld& world, const FileOptions& options) : world_(world), o_(options) {
    STORLAB_ENSURE(o_.blocks > 0 && o_.block.count() > 0);
    open();
    size();
}

FileDevice::~FileDevice() {
    STORLAB_ENSURE(commands_.size() == free_commands_.size());
    ::close(file_);
}

void FileDevice::complain(const std::string& what) const {
    const std::string reason = std::strerror(errno);
    if (file_ >= 0) ::close(file_);
    throw InputError({o_.path, 0, 0}, what + ": " + reason);
}

bool FileDevice::open_direct() {
    file_ = ::open(o_.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_DIRECT, owner_may);
    if (file_ < 0) return false;
    uint32_t offset_alignment = 512; // when the file system does not say: a sector
    memory_alignment_ = page;
#ifdef STATX_DIOALIGN
    struct statx s {};
    if (statx(file_, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0 && (s.stx_mask & STATX_DIOALIGN)) {
        offset_alignment = s.stx_dio_offset_align; // 0: this file cannot
        memory_alignment_ = s.stx_dio_mem_align;
    }
#endif
    if (offset_alignment > 0 && o_.block.count() % offset_alignment == 0) return true;
    ::close(file_);
    file_ = -1;
    return false;
}

void FileDevice::open() {
    direct_ = o_.direct && open_direct();
    if (direct_) return;
    memory_alignment_ = 1;
    file_ = ::open(o_.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, owner_may);
    if (file_ < 0) complain("cannot open or create the file of a drive");
}

void FileDevice::size() const {
    struct stat found {};
    if (::fstat(file_, &found) != 0) complain("cannot look at the file of a drive");
    if (!S_ISREG(found.st_mode)) {
        errno = EINVAL;
        complain("the file of a drive must be a regular file");
    }
    const auto wanted = static_cast<off_t>(o_.blocks) * o_.block.count();
    if (found.st_size < wanted && ::ftruncate(file_, wanted) != 0)
        complain("cannot make the file " + std::to_string(wanted) + " bytes long");
}

FileDevice::Stretch FileDevice::data_from(uint64_t block) const {
    const auto size = static_cast<uint64_t>(o_.block.count());
    const off_t data = ::lseek(file_, static_cast<off_t>(block * size), SEEK_DATA);
    if (data < 0) {
        if (errno == ENXIO) return {o_.blocks, o_.blocks}; // nothing but a hole
        return {block, o_.blocks};
    }
    const off_t hole = ::lseek(file_, data, SEEK_HOLE);
    const uint64_t end = hole < 0 ? o_.blocks : (static_cast<uint64_t>(hole) + size - 1) / size;
    return {std::min(static_cast<uint64_t>(data) / size, o_.blocks), std::min(end, o_.blocks)};
}

FileDevice::Command& FileDevice::take() {
    if (free_commands_.empty()) {
        commands_.push_back(std::make_unique<Command>());
        commands_.back()->device = this;
        commands_.back()->file = file_;
        commands_.back()->done = ended;
        free_commands_.push_back(commands_.back().get());
    }
    Command& c = *free_commands_.back();
    free_commands_.pop_back();
    return c;
}

void FileDevice::gone(Event& e) { static_cast<Request&>(e).finish(IoStatus::no_device).resume(); }

Handle FileDevice::submit(Request& r) {
    r.device = this;
    if (failed_) { // not at once: who tries again without a pause must still let others run
        r.fire = gone;
        world_.post(r);
        return nothing();
    }
    Command& c = take();
    c.request = &r;
    c.copied = false;
    c.offset = r.lba.block * static_cast<uint64_t>(o_.block.count());
    if (r.op == Op::flush) {
        c.kind = RingCommand::Kind::sync_data;
        c.bytes = 0;
    } else {
        STORLAB_ENSURE(r.blocks > 0 && r.lba.block + r.blocks <= o_.blocks);
        c.kind = r.op == Op::read ? RingCommand::Kind::read : RingCommand::Kind::write;
        c.bytes = size_t{r.blocks} * static_cast<size_t>(o_.block.count());
        if (reachable(r)) use_segments(c);
        else use_copy(c);
        c.vectors = c.list.data();
        c.vector_count = static_cast<uint32_t>(c.list.size());
    }
    world_.ring().issue(c);
    return nothing();
}

// Can the kernel take the request's memory as it is?
bool FileDevice::reachable(const Request& r) const {
    bool aligned = r.segment_count <= most_vectors;
    for_each_segment(r, [&](uint32_t, std::byte* at, uint32_t) {
        aligned &= reinterpret_cast<uintptr_t>(at) % memory_alignment_ == 0;
    });
    return aligned;
}

void FileDevice::use_segments(Command& c) const {
    c.list.clear();
    const auto block = static_cast<size_t>(o_.block.count());
    for_each_segment(*c.request, [&](uint32_t, std::byte* at, uint32_t blocks) {
        c.list.push_back({at, blocks * block});
    });
}

void FileDevice::use_copy(Command& c) {
    copied_++;
    c.copied = true;
    if (c.capacity < c.bytes) {
        c.capacity = (c.bytes + page - 1) / page * page;
        c.copy.reset(static_cast<std::byte*>(std::aligned_alloc(page, c.capacity)));
        if (!c.copy) throw std::bad_alloc();
    }
    c.list.assign(1, {c.copy.get(), c.bytes});
    if (c.kind != RingCommand::Kind::write) return;
    const auto block = static_cast<size_t>(o_.block.count());
    for_each_segment(*c.request, [&](uint32_t offset, std::byte* at, uint32_t blocks) {
        std::memcpy(c.copy.get() + offset * block, at, blocks * block);
    });
}

IoStatus FileDevice::judge(const Command& c, int result) {
    if (failed_) return IoStatus::no_device;
    if (result >= 0 && static_cast<size_t>(result) == c.bytes) return IoStatus::ok;
    if (!first_error_.empty()) return IoStatus::failed;
    constexpr const char* names[] = {"read", "write", "fdatasync"}; // the kinds of a file
    const std::string command = names[static_cast<size_t>(c.kind)];
    first_error_ = o_.path + ": " + command + " at byte " + std::to_string(c.offset) + ": ";
    if (result < 0) first_error_ += std::strerror(-result);
    else first_error_ += std::to_string(result) + " bytes of " + std::to_string(c.bytes) + " moved";
    return IoStatus::failed;
}

void FileDevice::ended(RingCommand& ended, int result) {
    auto& c = static_cast<Command&>(ended);
    FileDevice& d = *c.device;
    Request& r = *c.request;
    const IoStatus status = d.judge(c, result);
    if (status == IoStatus::ok && c.copied && r.op == Op::read) {
        const auto block = static_cast<size_t>(d.o_.block.count());
        for_each_segment(r, [&](uint32_t offset, std::byte* at, uint32_t blocks) {
            std::memcpy(at, c.copy.get() + offset * block, blocks * block);
        });
    }
    d.free_commands_.push_back(&c);
    r.finish(status).resume();
}

} // namespace storlab
