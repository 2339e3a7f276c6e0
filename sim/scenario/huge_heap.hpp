// The heap in pages of 2 MiB. The state of a thousand drives is touched at random: in pages of
// 4 KiB nearly every touch of a map, a model disk or a drive would miss the TLB, which costs more
// than the cache miss. Left out: what the heap grows by beyond the reserve, and heaps of other
// threads.
#pragma once

namespace storlab {

// To be called once, before much has been allocated; without effect where the system refuses.
void put_heap_in_huge_pages();

} // namespace storlab
