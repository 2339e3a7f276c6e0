// The two worlds as a test sees them: the same test body runs over drives in memory on the
// calendar, where latencies are random and every order occurs, and over files with real bytes.
#pragma once
#include "sim/kernel/calendar.hpp"
#include "sim/real/file_device.hpp"
#include "tests/support/memory_device.hpp"
#include <filesystem>
#include <memory>
#include <optional>
#include <stdlib.h>

namespace storlab::test {

// Every job takes a short random time, all at once, as if each had a core of its own: coroutines on
// different stripes overtake each other.
class ManyCores final : public Cpu {
public:
    explicit ManyCores(Clock& clock) : Cpu(free_, ledger_), clock_(clock), random_(1, "cores") {}
    void run(Job& job) override {
        job.work = {};
        clock_.wake(job, clock_.now() + Duration::ns(static_cast<int64_t>(random_.below(3000))));
    }

private:
    static inline const PriceList free_{};
    Ledger ledger_{};
    Clock& clock_;
    Random random_;
};

class SimWorld {
public:
    static constexpr int effort = 10; // how many times the commands of a real-world test
    explicit SimWorld(uint64_t seed = 1) : seed_(seed), cpu_(calendar_) {}
    Clock& clock() { return calendar_; }
    Cpu& cpu() { return cpu_; }
    MemoryDevice& add_device(uint64_t blocks) {
        const MemoryDevice::Options o{.blocks = blocks,
                                      .payload = 16,
                                      .seed = seed_,
                                      .name = "drive/" + std::to_string(devices_.size())};
        devices_.push_back(std::make_unique<MemoryDevice>(calendar_, o));
        return *devices_.back();
    }
    void pull(size_t device) { devices_[device]->fail(); }
    // Until nothing is left to happen; a run that goes on for ever is cut and seen as not done.
    void run() {
        constexpr uint64_t most = 100'000'000;
        for (uint64_t n = 0; n < most; n++) {
            Event* const e = calendar_.pop(Instant::never());
            if (!e) return;
            e->fire(*e);
        }
    }

private:
    uint64_t seed_;
    Calendar calendar_;
    ManyCores cpu_;
    std::vector<std::unique_ptr<MemoryDevice>> devices_;
};

class ScratchFolder {
public:
    ScratchFolder() {
        std::string pattern = std::filesystem::temp_directory_path() / "storlab-test-XXXXXX";
        STORLAB_ENSURE(::mkdtemp(pattern.data()));
        path_ = pattern;
    }
    ~ScratchFolder() { std::filesystem::remove_all(path_); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    std::string file(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

class FileWorld {
public:
    static constexpr int effort = 1;
    explicit FileWorld(uint64_t = 1) : cpu_(world_) {}
    Clock& clock() { return world_; }
    Cpu& cpu() { return cpu_; }
    FileDevice& add_device(uint64_t blocks) {
        const FileOptions o{.path = folder_.file("drive-" + std::to_string(devices_.size())),
                            .blocks = blocks,
                            .block = Bytes(512)};
        devices_.push_back(std::make_unique<FileDevice>(world_, o));
        return *devices_.back();
    }
    void pull(size_t device) { devices_[device]->fail(); }
    void run() { world_.run(); }

private:
    ScratchFolder folder_;
    RealWorld world_;
    FreeCpu cpu_;
    std::vector<std::unique_ptr<FileDevice>> devices_;
};

// Runs a task to its end; nothing if the world came to rest without it: a hang.
template <class World, class T> std::optional<T> finish(World& world, Task<T> task) {
    std::optional<T> result;
    std::move(task)
        .detach(&result,
                [](void* c, T value) {
                    *static_cast<std::optional<T>*>(c) = std::move(value);
                    return nothing();
                })
        .resume();
    world.run();
    return result;
}

} // namespace storlab::test
