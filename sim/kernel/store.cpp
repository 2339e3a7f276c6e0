#include "sim/kernel/store.hpp"
#include <new>
#include <sys/mman.h>

namespace storlab {

Store::Store(uint64_t blocks, uint32_t payload) : payload_(payload) {
    constexpr size_t huge = 2u << 20; // a random block is otherwise a TLB miss as well
    mapped_ = (size_t{blocks} * payload + huge) & ~(huge - 1);
    void* const p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    madvise(p, mapped_, MADV_HUGEPAGE);
    bytes_ = static_cast<std::byte*>(p);
}
Store::~Store() { munmap(bytes_, mapped_); }

} // namespace storlab
