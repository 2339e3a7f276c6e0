// Several paths to one device, as a host's multipath layer runs them: which path a command takes,
// when a path is out of use and when it is back, what becomes of commands meanwhile.
//
// The request itself is forwarded; what it replaces in it is kept in a record of ours, so that
// layers above and below may do the same. A command that comes back with no_path goes to another
// path; every command ends exactly once. Whether it was carried out before its path was lost is not
// known, and a write may be carried out twice, as everywhere without a fence.
//
// Link down, peer gone and silence are told by the transport through path_state(); a path that
// returns no_path although it is said to be up is out of use until a check or an attempt finds it
// working.
// Left out: a current path for each NUMA node (one distance a path stands for it); reservations;
// more than 64 paths.
#pragma once
#include "models/multipath/options.hpp"
#include "sim/base/error.hpp"
#include "sim/seam/clock.hpp"
#include <deque>
#include <functional>
#include <vector>

namespace storlab {

class Multipath final : public BlockDevice {
public:
    Multipath(Clock& clock, const std::vector<PathOptions>& paths, const MultipathOptions& options);
    Multipath(const Multipath&) = delete;
    Multipath& operator=(const Multipath&) = delete;

    Geometry geometry() const override { return geometry_; }
    Handle submit(Request& request) override;

    void path_state(size_t path, const PathState& state); // told by the transport
    // Checks of paths that work begin and end; attempts to reach others end too.
    void start_checks();
    void stop_checks();
    // Tries to reach a path that is down. True: it tries, and path_state() will say up or, if that
    // failed, down. Without it every attempt fails at once.
    void on_attempt(std::function<bool(size_t path)> f) { on_attempt_ = std::move(f); }
    void on_removed(std::function<void()> f) { on_removed_ = std::move(f); }
    // Which paths were in use, told when others are: in_use() is new already.
    void on_change(std::function<void(uint64_t before)> f) { on_change_ = std::move(f); }

    bool removed() const { return removed_; }   // no_device from now on
    uint64_t in_use() const { return active_; } // a bit a path
    bool usable(size_t path) const { return paths_[path].usable(); }
    uint64_t sent(size_t path) const { return paths_[path].sent; }
    uint32_t outstanding(size_t path) const { return paths_[path].outstanding; }
    const MultipathCounters& counters() const { return counters_; }

private:
    // held: down, but the transport may yet bring it back in time. lost: given up.
    enum class Life : uint8_t { up, held, down, lost };
    struct Record { // of a command
        Request* request;
        Multipath* owner;
        Handle (*done)(Request&); // what it had
        void* context;
        BlockDevice* device;
        Cpu* cpu;
        Lba lba;
        uint64_t bytes;
        Record* next;
        Instant due; // of its next try
        uint32_t path, generation, tries;
    };
    class Records { // first in, first out
    public:
        bool empty() const { return !head_; }
        Record* front() const { return head_; }
        void push(Record& c) {
            c.next = nullptr;
            (head_ ? tail_->next : head_) = &c;
            tail_ = &c;
        }
        Record& pop() {
            Record& c = *head_;
            head_ = c.next;
            return c;
        }
        Records take() { return std::exchange(*this, {}); }

    private:
        Record *head_ = nullptr, *tail_ = nullptr;
    };
    struct Path {
        Multipath* owner;
        uint32_t number;
        PathOptions o;
        BlockDevice* device;
        PathState said; // by the transport
        Life life = Life::up;
        PathAccess access;
        bool given_up = false;
        bool attempting = false; // and waiting for the answer
        uint32_t generation = 0; // which time up it is
        uint32_t outstanding = 0;
        uint64_t outstanding_bytes = 0, sent = 0;
        uint64_t last_chosen = 0;
        Records held;
        uint64_t attempts = 0;
        Instant fail_at = Instant::never(), give_up_at = Instant::never();
        Instant lose_at = Instant::never(), attempt_at = Instant::never();
        Instant check_at = Instant::never(), check_late_at = Instant::never();
        Duration interval;
        Request check; // and whether it is under way, and since which generation
        bool checking = false;
        uint32_t check_generation = 0;
        std::vector<std::byte> block;

        Path(Multipath& owner, uint32_t number, const PathOptions& options);
        bool usable() const { return life <= Life::held && access != PathAccess::inaccessible; }
    };
    struct Timer : Event {
        Multipath* owner;
    };

    Clock& clock_;
    const MultipathOptions o_;
    std::vector<Path> paths_; // never moves
    Geometry geometry_;
    uint64_t active_ = 0;   // paths in use
    uint64_t group_ = 0;    // paths that may be, by grouping and failback
    uint32_t current_ = 63; // of round robin and most recent: the next one is the first
    uint32_t nearest_ = 0;
    uint32_t left_ = 0; // commands until round robin goes on
    uint64_t choices_ = 0;
    std::deque<Record> records_;
    Record* free_ = nullptr;
    Records waiting_; // for a path
    Records later_;   // for their next try
    bool waited_enough_ = false, removed_ = false, checks_ = false, stopped_ = false;
    Instant failback_at_ = Instant::never(), no_path_at_ = Instant::never();
    std::function<bool(size_t)> on_attempt_;
    std::function<void()> on_removed_;
    std::function<void(uint64_t)> on_change_;
    MultipathCounters counters_;
    std::deque<Timer> timers_;
    std::vector<Timer*> free_timers_;
    std::vector<Instant> armed_; // each earlier than those before it

    // multipath.cpp: commands
    Record& record(Request& r);
    Handle route(Record& c);
    Handle send(Record& c, Path& p);
    static Handle answered(Request& r);
    Handle refused(Record& c, Path& p);
    void keep(Record& c, Path& p);
    void let_go(Record& c, Path& p);
    Handle try_again(Record& c);
    Handle again(Record& c);
    Handle without_path(Record& c);
    Handle conclude(Record& c, IoStatus status);
    void flush(Records& records, IoStatus status);
    uint32_t choose(uint64_t bytes);
    uint32_t choose_least(uint64_t bytes);
    bool better(const Path& a, const Path& than, uint64_t bytes) const;

    // groups.cpp: which paths are in use
    struct Rank { // of a group; less is better
        PathAccess access;
        uint32_t key;
        auto operator<=>(const Rank&) const = default;
    };
    static constexpr uint32_t no_key = ~0u;
    uint32_t key_of(const Path& p) const;
    uint64_t usable_paths() const;
    uint64_t members(uint32_t key) const;
    Rank best_rank(uint64_t among) const;
    void use_group(uint32_t key);
    void fail_back(const Rank& best, uint64_t usable, uint32_t first_back);
    uint64_t best_of_group(uint64_t usable) const;
    void use(uint64_t paths);
    void settle(uint32_t first_back = no_key); // the group whose first path has just come back
    bool hopeless() const;

    // states.cpp: paths that go and come back
    void begin_timers(Path& p);
    void up(Path& p);
    void go_down(Path& p, Loss why);
    void fail(Path& p);
    void come_back(Path& p);
    void lose(Path& p);
    void remove();
    void attempt(Path& p);
    void attempt_failed(Path& p);

    // checks.cpp: dates, and checks of our own
    Instant next_date() const;
    void arm();
    static void ring(Event& e);
    void keep_dates();
    void keep_dates(Path& p);
    void check_after(Path& p, Duration d);
    void check(Path& p);
    static Handle checked(Request& r);
    void works(Path& p);
    void does_not_work(Path& p);
};

} // namespace storlab
