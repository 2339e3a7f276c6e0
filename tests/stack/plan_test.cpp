#include "models/erasure/code.hpp"
#include "models/raid/plan.hpp"
#include "sim/base/random.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <vector>

namespace storlab {
namespace {

constexpr size_t bytes = 8; // of a column
using Columns = std::vector<std::vector<std::byte>>;

Columns random_columns(uint32_t n, Random& random) {
    Columns columns(n, std::vector<std::byte>(bytes));
    for (auto& c : columns)
        for (std::byte& b : c) b = static_cast<std::byte>(random.below(256));
    return columns;
}
std::vector<std::byte*> pointers(Columns& columns) {
    std::vector<std::byte*> p;
    for (auto& c : columns) p.push_back(c.data());
    return p;
}
int count(uint64_t columns) { return std::popcount(columns); }

// f(state) for every state of every line of up to 4 data columns: what is written, which columns
// cannot be read, which of those not even written, which are in memory.
template <class F> void for_every_state(F&& f) {
    for (uint32_t p = 1; p <= 2; p++)
        for (uint32_t k = 1; k <= 4; k++) {
            const uint64_t all = (uint64_t{1} << (k + p)) - 1, data = (uint64_t{1} << k) - 1;
            for (uint64_t written = 1; written <= data; written++)
                for (uint64_t missing = 0; missing <= all; missing++)
                    for (uint64_t cached = 0; cached <= all; cached++)
                        for (uint64_t absent = missing;; absent = (absent - 1) & missing) {
                            f(LineState{k, p, written, missing, absent, cached});
                            if (absent == 0) break;
                        }
        }
}

// A line on its members and in memory, on which a plan is carried out.
class Executor {
public:
    Executor(const LineState& s, Random& random)
        : s_(s), code_(s.data_columns, s.parities),
          members_(random_columns(s.data_columns + s.parities, random)),
          fresh_(random_columns(s.data_columns, random)), memory_(members_.size()) {
        code_.encode(pointers(members_), bytes);
        for (uint32_t c = 0; c < members_.size(); c++)
            if (s.cached >> c & 1) memory_[c] = members_[c];
    }
    // True if every member that exists ends up as if all columns had been encoded directly.
    bool carries_out(const WritePlan& plan) {
        Columns truth = members_;
        for_written([&](uint32_t c) { truth[c] = fresh_[c]; });
        code_.encode(pointers(truth), bytes);
        for (uint32_t c = 0; c < members_.size(); c++)
            if (plan.read >> c & 1) {
                if (s_.missing >> c & 1) return false; // it cannot be
                memory_[c] = members_[c];
            }
        if (!compute(plan)) return false;
        for (uint32_t c = 0; c < members_.size(); c++) {
            if (s_.absent >> c & 1) continue;
            if (plan.write >> c & 1) {
                if (!memory_[c]) return false;
                members_[c] = *memory_[c];
            }
            if (members_[c] != truth[c]) return false;
        }
        return true;
    }

private:
    LineState s_;
    ErasureCode code_;
    Columns members_, fresh_;
    std::vector<std::optional<std::vector<std::byte>>> memory_;

    template <class F> void for_written(F&& f) const {
        for (uint32_t c = 0; c < s_.data_columns; c++)
            if (s_.written >> c & 1) f(c);
    }
    bool compute(const WritePlan& plan) {
        switch (plan.method) {
        case WriteMethod::plain: break;
        case WriteMethod::read_modify: return modify(plan);
        case WriteMethod::recover:
            if (!recover(plan.recover)) return false;
            [[fallthrough]];
        case WriteMethod::reconstruct: return encode();
        case WriteMethod::impossible: return false;
        }
        for_written([&](uint32_t c) { memory_[c] = fresh_[c]; });
        return true;
    }
    bool modify(const WritePlan& plan) {
        bool known = true;
        for_written([&](uint32_t c) {
            if (!memory_[c]) return void(known = false);
            std::vector<std::byte> change = *memory_[c];
            xor_into(change.data(), fresh_[c].data(), bytes);
            for (uint32_t p = 0; p < s_.parities; p++) {
                auto& parity = memory_[s_.data_columns + p];
                if (!(plan.write >> (s_.data_columns + p) & 1)) continue;
                if (!parity) return void(known = false);
                code_.update(p, c, change.data(), parity->data(), bytes);
            }
            memory_[c] = fresh_[c];
        });
        return known;
    }
    bool recover(uint64_t lost) {
        uint64_t unknown = 0;
        Columns all = Columns(memory_.size(), std::vector<std::byte>(bytes));
        for (uint32_t c = 0; c < all.size(); c++) {
            if (memory_[c]) all[c] = *memory_[c];
            else unknown |= uint64_t{1} << c;
        }
        if (!code_.recover(unknown, pointers(all), bytes)) return false;
        for (uint32_t c = 0; c < all.size(); c++)
            if (lost >> c & 1) memory_[c] = all[c];
        return true;
    }
    bool encode() {
        for_written([&](uint32_t c) { memory_[c] = fresh_[c]; });
        Columns all(memory_.size(), std::vector<std::byte>(bytes));
        for (uint32_t c = 0; c < s_.data_columns; c++) {
            if (!memory_[c]) return false;
            all[c] = *memory_[c];
        }
        code_.encode(pointers(all), bytes);
        for (uint32_t c = s_.data_columns; c < all.size(); c++) memory_[c] = all[c];
        return true;
    }
};

// What each way would have to read, said once more and apart from the plan; nothing if it cannot.
struct Ways {
    std::optional<int> modify, rebuild;
    explicit Ways(const LineState& s) {
        const auto bit = [](uint64_t set, uint32_t c) { return (set >> c & 1) != 0; };
        const auto cost = [&](uint32_t c) -> std::optional<int> {
            if (bit(s.cached, c)) return 0;
            if (bit(s.missing, c)) return std::nullopt;
            return 1;
        };
        const auto add = [](std::optional<int>& sum, std::optional<int> more) {
            sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
        };
        modify = rebuild = 0;
        bool parity = false;
        for (uint32_t c = 0; c < s.data_columns + s.parities; c++) {
            const bool is_parity = c >= s.data_columns;
            if (is_parity && !bit(s.absent, c)) parity = true, add(modify, cost(c));
            if (!is_parity) add(bit(s.written, c) ? modify : rebuild, cost(c));
        }
        if (!parity) modify.reset();
    }
};

} // namespace

TEST_CASE("every plan, carried out, leaves data and parity as if encoded directly") {
    Random random(1, "plan");
    uint64_t states = 0, wrong = 0;
    for_every_state([&](const LineState& s) {
        const WritePlan plan = plan_write(s);
        if (plan.method == WriteMethod::impossible) return;
        states++;
        wrong += !Executor(s, random).carries_out(plan);
    });
    CHECK(states > 100'000);
    CHECK(wrong == 0);
}

TEST_CASE("a plan is impossible only if more columns are lost than there are parities") {
    for_every_state([](const LineState& s) {
        if (plan_write(s).method != WriteMethod::impossible) return;
        if (count(s.missing & ~s.cached) <= static_cast<int>(s.parities))
            FAIL("given up too early");
    });
}

TEST_CASE("a plan reads nothing that is in memory and nothing that cannot be read") {
    uint64_t wrong = 0;
    for_every_state(
        [&](const LineState& s) { wrong += (plan_write(s).read & (s.cached | s.missing)) != 0; });
    CHECK(wrong == 0);
}

TEST_CASE("of modify and reconstruct the one that reads less is chosen, equal is reconstruct") {
    uint64_t wrong = 0;
    for_every_state([&](const LineState& s) {
        const WritePlan plan = plan_write(s);
        const Ways ways(s);
        const bool modify = ways.modify && (!ways.rebuild || *ways.modify < *ways.rebuild);
        switch (plan.method) {
        case WriteMethod::plain: wrong += plan.read != 0; break;
        case WriteMethod::read_modify: wrong += !modify || count(plan.read) != *ways.modify; break;
        case WriteMethod::reconstruct:
            wrong += modify || !ways.rebuild || count(plan.read) != *ways.rebuild;
            break;
        default: wrong += ways.modify || ways.rebuild;
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE(
    "on a healthy RAID 5 of five: one block modifies, two or more reconstruct, four read nothing") {
    const auto plan = [](uint64_t written) { return plan_write({4, 1, written, 0, 0, 0}); };
    CHECK(plan(0b0001).method == WriteMethod::read_modify);
    CHECK(plan(0b0001).read == 0b10001);
    CHECK(plan(0b0011).method == WriteMethod::reconstruct);
    CHECK(plan(0b0011).read == 0b01100);
    CHECK(plan(0b1111).method == WriteMethod::reconstruct);
    CHECK(plan(0b1111).read == 0);
    CHECK(plan(0b1111).write == 0b11111);
}

} // namespace storlab
