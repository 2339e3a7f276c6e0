#include "sim/kernel/store.hpp"
#include <new>
#include <sys/mman.h>

namespace storlab {

Store::Store(uint64_t blocks, uint32_t payload) : payload_(payload) {
    // In a large store a random block is a TLB miss as well, hence huge pages; a thousand small
    // ones would fill the memory with them.
    constexpr size_t huge = 2u << 20, page = 4096;
    const size_t wanted = size_t{blocks} * payload + 1, unit = wanted >= huge ? huge : page;
    mapped_ = (wanted + unit - 1) / unit * unit;
    void* const p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    if (unit == huge) madvise(p, mapped_, MADV_HUGEPAGE);
    bytes_ = static_cast<std::byte*>(p);
}
Store::~Store() { munmap(bytes_, mapped_); }

} // namespace storlab
