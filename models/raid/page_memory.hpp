// Memory for blocks on their way to or from members, aligned to a memory page: devices that move
// data without the processor ask for that (O_DIRECT does), and copy what is not.
#pragma once
#include <cstddef>
#include <new>

namespace storlab {

class PageMemory {
public:
    explicit PageMemory(size_t bytes)
        : bytes_(static_cast<std::byte*>(::operator new(bytes, alignment))) {}
    PageMemory(const PageMemory&) = delete;
    PageMemory& operator=(const PageMemory&) = delete;
    ~PageMemory() { ::operator delete(bytes_, alignment); }
    std::byte* get() const { return bytes_; }

private:
    static constexpr std::align_val_t alignment{4096};
    std::byte* bytes_;
};

} // namespace storlab
