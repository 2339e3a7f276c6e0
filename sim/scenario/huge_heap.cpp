#include "sim/scenario/huge_heap.hpp"
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace storlab {

void put_heap_in_huge_pages() {
    constexpr uintptr_t huge_page = 2u << 20;
    constexpr int own_mapping = 32 << 20; // the most mallopt takes: smaller pieces are in the heap
    constexpr int reserve = 1 << 30;      // of addresses; memory follows as it is touched
    mallopt(M_MMAP_THRESHOLD, own_mapping);
    mallopt(M_TRIM_THRESHOLD, INT_MAX); // keep it
    mallopt(M_TOP_PAD, reserve);
    const auto before = reinterpret_cast<uintptr_t>(sbrk(0));
    void* volatile const more = std::malloc(huge_page); // makes the heap grow by the reserve
    std::free(more);
    const auto after = reinterpret_cast<uintptr_t>(sbrk(0));
    mallopt(M_TOP_PAD, static_cast<int>(huge_page));
    if (after < before + reserve) return; // another allocator, or no room
    const uintptr_t from = (before + huge_page - 1) / huge_page * huge_page;
    madvise(reinterpret_cast<void*>(from), after - from, MADV_HUGEPAGE);
}

} // namespace storlab
