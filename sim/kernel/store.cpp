#include "sim/kernel/store.hpp"
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace storlab {

namespace {
constexpr size_t huge_page = 2u << 20;
}

// In a large store a random block is a TLB miss as well, hence huge pages of its own. A thousand
// small ones would fill the memory with them: these share the heap's.
Store::Store(uint64_t blocks, uint32_t payload) : payload_(payload) {
    const size_t wanted = size_t{blocks} * payload + 1;
    if (wanted < huge_page) {
        bytes_ = static_cast<std::byte*>(std::calloc(wanted, 1));
        if (!bytes_) throw std::bad_alloc();
        return;
    }
    mapped_ = (wanted + huge_page - 1) / huge_page * huge_page;
    void* const p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    madvise(p, mapped_, MADV_HUGEPAGE);
    bytes_ = static_cast<std::byte*>(p);
}
Store::~Store() {
    if (mapped_) munmap(bytes_, mapped_);
    else std::free(bytes_);
}

} // namespace storlab
