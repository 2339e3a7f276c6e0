// The flash translation layer: a page map and a greedy collector, without time. Pages are written
// to superblocks (one block of every die, erased together), each filled from front to back; host
// data and collected data go to different ones. The victim is the superblock with the fewest valid
// pages (Bux and Iliadis 2010, "greedy"), and collection proceeds in step with the host's writes,
// so write amplification comes out of over-provisioning and pattern, from no constant.
#pragma once
#include <cstdint>
#include <vector>

namespace storlab {

struct FtlOptions {
    uint64_t logical_pages = 0; // map pages (4 KiB) the host sees
    uint32_t superblocks = 0;
    uint32_t pages_per_superblock = 0;
    uint32_t flash_page = 4; // map pages in a flash page: what one sense brings
    uint32_t unit = 4;       // map pages one program holds
    uint32_t reserve = 4;    // superblocks kept free
};

// What the collector made the flash do, for the model of time.
struct FlashWork {
    uint32_t moved = 0;           // pages rewritten
    std::vector<uint32_t> sensed; // a physical page in every flash page read
    std::vector<uint32_t>
        programmed; // the last physical page of every unit filled with moved pages
    void clear() { moved = 0, sensed.clear(), programmed.clear(); }
};

class Ftl {
public:
    static constexpr uint32_t unmapped = ~0u;
    explicit Ftl(const FtlOptions& options);

    uint32_t place(uint64_t page) const { return map_[page]; } // physical page, or unmapped
    void expect(uint64_t page) const { __builtin_prefetch(&map_[page]); }
    // Writes a page; returns its physical page. The collector's work is added to `work`, if given.
    uint32_t write(uint64_t page, FlashWork* work = nullptr);

    void fill_sequentially(); // start state "filled"
    // Start state "steady": random aligned extents are overwritten until the collector's yield is
    // steady.
    void age(uint32_t extent_pages, uint64_t seed);
    // The write amplification over the pages written since the last call.
    double take_write_amplification();
    const FtlOptions& options() const { return o_; }
    bool consistent() const; // map and inverse map agree, counts are right: for tests

private:
    struct Superblock {
        uint32_t valid = 0, newer = none, older = none; // neighbours in the bucket of equal valid
        bool full = false;
    };
    struct Open {
        uint32_t superblock = none, used = 0;
    };
    static constexpr uint32_t none = ~0u;
    FtlOptions o_;
    std::vector<uint32_t> map_, inverse_;
    std::vector<Superblock> superblocks_;
    std::vector<uint32_t> bucket_; // first superblock with so many valid pages
    std::vector<uint32_t> free_;
    Open host_, moved_;
    uint32_t fewest_ = 0; // no bucket below is occupied
    uint32_t victim_ = none, cursor_ = 0;
    double due_ = 0; // pages the collector owes the host
    uint64_t host_pages_ = 0, moved_pages_ = 0;

    uint32_t append(Open& open, uint64_t page);
    void invalidate(uint32_t physical);
    void link(uint32_t superblock);
    void unlink(uint32_t superblock);
    void choose_victim();
    void collect(FlashWork* work);
};

} // namespace storlab
