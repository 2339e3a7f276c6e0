#include "models/workload/fio/pattern.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

using namespace storlab;
using namespace storlab::fio;

namespace {
AddressPattern pattern(const std::string& options, Bytes device, uint32_t clone = 0,
                       uint64_t seed = 1) {
    const JobFile file = parse("[a]\n" + options, "t.fio");
    return AddressPattern(file.jobs.at(0), clone, device, Random(seed, "tests/fio"));
}
std::vector<uint64_t> offsets(AddressPattern p, int n) {
    std::vector<uint64_t> out;
    for (int i = 0; i < n; i++) out.push_back(p.next().offset_bytes);
    return out;
}
// Standard deviations between a count and its binomial expectation.
double sigmas(double count, double n, double p) {
    return std::abs(count - n * p) / std::sqrt(n * p * (1 - p));
}
// Pearson's statistic as standard deviations above its mean (df = cells - 1, variance 2 df).
double chi_sigmas(const std::vector<double>& counts, const std::vector<double>& law, double n) {
    double chi = 0;
    for (size_t i = 0; i < counts.size(); i++)
        chi += (counts[i] - n * law[i]) * (counts[i] - n * law[i]) / (n * law[i]);
    const double df = static_cast<double>(counts.size()) - 1;
    return (chi - df) / std::sqrt(2 * df);
}
std::vector<double> zipf_law(uint64_t n, double theta) {
    std::vector<double> law(n);
    for (uint64_t k = 0; k < n; k++) law[k] = std::pow(static_cast<double>(k + 1), -theta);
    double sum = 0;
    for (uint64_t k = n; k-- > 0;) sum += law[k]; // smallest first
    for (double& p : law) p /= sum;
    return law;
}
} // namespace

TEST_CASE(
    "the permutation hits every element exactly once, for every size up to 600 and some large") {
    Random random(7, "tests/permutation");
    std::vector<uint64_t> sizes(600);
    std::iota(sizes.begin(), sizes.end(), 1);
    for (const uint64_t n : {1023, 1024, 1025, 65535, 65537, 100003}) sizes.push_back(n);
    for (const uint64_t n : sizes) {
        const Permutation order(n, random);
        std::vector<bool> hit(n);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t to = order(i);
            REQUIRE(to < n);
            REQUIRE_FALSE(hit[to]);
            hit[to] = true;
        }
    }
}
TEST_CASE("over many keys each element is equally likely at each position") {
    Random random(8, "tests/permutation");
    for (const uint64_t n : {5, 16, 37}) {
        const double keys = 40000;
        std::vector<double> first(n), last(n);
        for (int k = 0; k < keys; k++) {
            const Permutation order(n, random);
            first[order(0)]++;
            last[order(n - 1)]++;
        }
        const std::vector<double> even(n, 1.0 / static_cast<double>(n));
        CHECK(chi_sigmas(first, even, keys) < 5);
        CHECK(chi_sigmas(last, even, keys) < 5);
    }
}
TEST_CASE("for three and four elements all orders are equally likely") {
    Random random(10, "tests/permutation");
    for (const uint64_t n : {3, 4}) {
        const double keys = 60000;
        std::map<std::vector<uint64_t>, double> orders;
        for (int k = 0; k < keys; k++) {
            const Permutation order(n, random);
            std::vector<uint64_t> list;
            for (uint64_t i = 0; i < n; i++) list.push_back(order(i));
            orders[list]++;
        }
        std::vector<double> counts;
        for (const auto& [_, count] : orders) counts.push_back(count);
        REQUIRE(counts.size() == (n == 3 ? 6 : 24));
        CHECK(chi_sigmas(counts, std::vector(counts.size(), 1.0 / double(counts.size())), keys) <
              5);
    }
}
TEST_CASE("neighbours in a pass are not neighbours on the device") {
    Random random(9, "tests/permutation");
    const uint64_t n = 1 << 20;
    const Permutation order(n, random);
    int close = 0;
    for (uint64_t i = 0; i + 1 < 100000; i++)
        close += std::llabs(static_cast<long long>(order(i)) -
                            static_cast<long long>(order(i + 1))) < 64;
    CHECK(close < 50); // 2 x 63 / 2^20 x 10^5 = 12 expected
}
TEST_CASE("with the random map each pass reads every block once, in an order of its own") {
    auto p = pattern("rw=randread\nbs=4k\nsize=400k\n", Bytes::mib(1));
    std::vector<std::vector<uint64_t>> passes;
    for (int pass = 0; pass < 3; pass++) {
        std::vector<uint64_t> seen;
        for (int i = 0; i < 100; i++) seen.push_back(p.next().offset_bytes);
        passes.push_back(seen);
        std::sort(seen.begin(), seen.end());
        for (uint64_t i = 0; i < 100; i++) REQUIRE(seen[i] == i * 4096);
    }
    CHECK(passes[0] != passes[1]);
    CHECK(passes[1] != passes[2]);
}
TEST_CASE("reads and writes of one job share the random map") {
    auto p = pattern("rw=randrw\nbs=4k\n", Bytes(100 * 4096));
    std::set<uint64_t> seen;
    for (int i = 0; i < 100; i++) seen.insert(p.next().offset_bytes);
    CHECK(seen.size() == 100);
}
TEST_CASE("without the random map blocks repeat as in drawing with replacement") {
    auto p = pattern("rw=randread\nnorandommap\n", Bytes(1000 * 4096));
    std::vector<double> counts(1000);
    std::set<uint64_t> first_pass;
    for (int i = 0; i < 1000000; i++) {
        const uint64_t block = p.next().offset_bytes / 4096;
        counts[block]++;
        if (i < 1000) first_pass.insert(block);
    }
    CHECK(chi_sigmas(counts, std::vector<double>(1000, 0.001), 1e6) < 5);
    CHECK(first_pass.size() > 590); // 1000 (1 - 1/e) = 632
    CHECK(first_pass.size() < 675);
}
TEST_CASE("sequential I/O runs through the region, wraps, and leaves holes as asked") {
    CHECK(offsets(pattern("rw=read\nbs=4k\noffset=8k\nsize=16k\n", Bytes::mib(1)), 6) ==
          std::vector<uint64_t>{8192, 12288, 16384, 20480, 8192, 12288});
    CHECK(offsets(pattern("rw=write:4k\nsize=24k\n", Bytes::mib(1)), 5) ==
          std::vector<uint64_t>{0, 8192, 16384, 0, 8192});
}
TEST_CASE("sequential clones read the same blocks unless offset_increment parts them") {
    const std::string job = "rw=read\nbs=64k\nsize=1m\nnumjobs=2\n";
    const Bytes device = Bytes::mib(4);
    CHECK(offsets(pattern(job, device, 0), 40) == offsets(pattern(job, device, 1), 40));
    const std::string apart = job + "offset_increment=1m\n";
    const auto first = offsets(pattern(apart, device, 0), 40);
    auto second = offsets(pattern(apart, device, 1), 40);
    CHECK(first != second);
    for (uint64_t& o : second) o -= 1 << 20;
    CHECK(first == second);
}
TEST_CASE("a mixed sequential job keeps one position for reads and one for writes, as in fio") {
    auto p = pattern("rw=rw\nbs=4k\n", Bytes::mib(64));
    uint64_t expected[2] = {0, 0};
    for (int i = 0; i < 1000; i++) {
        const Draw d = p.next();
        REQUIRE(d.offset_bytes == expected[d.write]);
        expected[d.write] += d.bytes;
    }
}
TEST_CASE("randread:8 seeks once every 8 I/Os; identical repeats the same block") {
    auto runs = pattern("rw=randread:8\nbs=4k\n", Bytes::gib(1));
    for (int run = 0; run < 100; run++) {
        uint64_t at = runs.next().offset_bytes;
        for (int i = 1; i < 8; i++) REQUIRE(runs.next().offset_bytes == (at += 4096) % (1 << 30));
    }
    auto same = pattern("rw=randread:4\nrw_sequencer=identical\n", Bytes::gib(1));
    std::set<uint64_t> starts;
    for (int run = 0; run < 100; run++) {
        const uint64_t at = same.next().offset_bytes;
        starts.insert(at);
        for (int i = 1; i < 4; i++) REQUIRE(same.next().offset_bytes == at);
    }
    CHECK(starts.size() == 100);
}
TEST_CASE("rwmixread and percentage_random are kept as shares") {
    auto p =
        pattern("rw=randrw\nrwmixread=70\nnorandommap\npercentage_random=30,100\n", Bytes::gib(64));
    const int n = 200000;
    double reads = 0, follow = 0, write_follow = 0;
    uint64_t next[2] = {0, 0};
    for (int i = 0; i < n; i++) {
        const Draw d = p.next();
        if (!d.write) reads++;
        (d.write ? write_follow : follow) += d.offset_bytes == next[d.write];
        next[d.write] = d.offset_bytes + d.bytes;
    }
    CHECK(sigmas(reads, n, 0.7) < 5);
    CHECK(sigmas(follow, reads, 0.7) < 5);
    CHECK(write_follow < 10);
    auto only_reads = pattern("rw=randrw\nrwmixread=100\n", Bytes::gib(1));
    auto only_writes = pattern("rw=randrw\nrwmixwrite=100\n", Bytes::gib(1));
    for (int i = 0; i < 1000; i++) {
        REQUIRE_FALSE(only_reads.next().write);
        REQUIRE(only_writes.next().write);
    }
}
TEST_CASE("bssplit keeps its shares for each direction, and every block stays inside the region") {
    auto p = pattern("rw=randrw\nbssplit=4k/20:8k/70:16k/,8k/100\nsize=1m\n", Bytes::mib(1));
    std::map<uint32_t, double> reads;
    double n = 0;
    for (int i = 0; i < 200000; i++) {
        const Draw d = p.next();
        REQUIRE(d.offset_bytes + d.bytes <= 1 << 20);
        REQUIRE(d.offset_bytes % (d.write ? 8192 : 4096) == 0);
        if (d.write) REQUIRE(d.bytes == 8192);
        else reads[d.bytes]++, n++;
    }
    CHECK(reads.size() == 3);
    CHECK(sigmas(reads[4096], n, 0.2) < 5);
    CHECK(sigmas(reads[8192], n, 0.7) < 5);
    CHECK(sigmas(reads[16384], n, 0.1) < 5);
}
TEST_CASE(
    "bsrange draws multiples of the minimum evenly; unaligned, the maximum takes the excess") {
    auto p = pattern("rw=read\nbsrange=1k-4k\n", Bytes::gib(1));
    std::vector<double> counts(4);
    for (int i = 0; i < 100000; i++) {
        const Draw d = p.next();
        REQUIRE(d.bytes % 1024 == 0);
        counts.at(d.bytes / 1024 - 1)++;
    }
    CHECK(chi_sigmas(counts, {0.25, 0.25, 0.25, 0.25}, 100000) < 5);
    // fio 3.33, 64 MiB of reads: 5680 of 22828 I/Os were of 4096 bytes.
    auto odd = pattern("rw=read\nbsrange=1k-4k\nbs_unaligned\n", Bytes::gib(1));
    double full = 0, unaligned = 0;
    for (int i = 0; i < 100000; i++) {
        const Draw d = odd.next();
        REQUIRE(d.bytes >= 1024);
        REQUIRE(d.bytes <= 4096);
        full += d.bytes == 4096;
        unaligned += d.bytes % 1024 != 0;
    }
    CHECK(sigmas(full, 100000, 0.25) < 5);
    CHECK(unaligned > 70000);
}
TEST_CASE("blockalign sets the grid of random offsets and turns the random map off, as in fio") {
    auto p = pattern("rw=randread\nbs=4k\nblockalign=64k\n", Bytes::mib(1));
    std::set<uint64_t> seen;
    for (int i = 0; i < 16; i++) seen.insert(p.next().offset_bytes);
    CHECK(seen.size() < 16);
    for (int i = 0; i < 1000; i++) seen.insert(p.next().offset_bytes);
    CHECK(seen.size() == 16);
    for (const uint64_t o : seen) CHECK(o % 65536 == 0);
}
TEST_CASE("Zipf draws follow the exact law, below and above theta 1 and at it") {
    for (const double theta : {0.5, 0.99, 1.0, 1.2, 2.5}) {
        INFO("theta " << theta);
        const uint64_t n = 1000;
        const double draws = 2e6;
        const Zipf zipf(n, theta);
        const auto law = zipf_law(n, theta);
        Random random(11, "tests/zipf");
        std::vector<double> counts(n);
        for (int i = 0; i < draws; i++) counts.at(zipf.draw(random))++;
        // Ranks that expect too few draws for the statistic go into one cell.
        std::vector<double> seen, expected;
        double rest = 0, rest_law = 0;
        for (uint64_t k = 0; k < n; k++) {
            if (law[k] * draws < 20) rest += counts[k], rest_law += law[k];
            else seen.push_back(counts[k]), expected.push_back(law[k]);
        }
        if (rest_law > 0) seen.push_back(rest), expected.push_back(rest_law);
        CHECK(chi_sigmas(seen, expected, draws) < 5);
    }
}
TEST_CASE("Zipf top shares hold for ten million blocks, without a table") {
    const uint64_t n = 10'000'000;
    const auto law = zipf_law(n, 0.99);
    const Zipf zipf(n, 0.99);
    Random random(12, "tests/zipf");
    const double draws = 1e6;
    std::map<uint64_t, double> within = {{1, 0}, {10, 0}, {1000, 0}, {100000, 0}, {1000000, 0}};
    for (int i = 0; i < draws; i++) {
        const uint64_t rank = zipf.draw(random);
        REQUIRE(rank < n);
        for (auto& [top, count] : within) count += rank < top;
    }
    for (const auto& [top, count] : within) {
        const double share =
            std::accumulate(law.begin(), law.begin() + static_cast<long>(top), 0.0);
        INFO("top " << top << ": " << count / draws << " of " << share);
        CHECK(sigmas(count, draws, share) < 5);
    }
    const Zipf one(1, 1.2);
    CHECK(one.draw(random) == 0);
    const Zipf huge(uint64_t{1} << 50, 0.8);
    for (int i = 0; i < 1000; i++) REQUIRE(huge.draw(random) < uint64_t{1} << 50);
}
TEST_CASE("zipf jobs scatter their hot blocks, and a centre places the hottest") {
    const uint64_t n = 16384;
    const auto law = zipf_law(n, 1.2);
    const auto hot = [&](const std::string& options) {
        auto p = pattern("rw=randrw\nrandom_distribution=" + options, Bytes(int64_t(n) * 4096));
        std::vector<std::pair<double, uint64_t>> counts(n);
        for (uint64_t b = 0; b < n; b++) counts[b].second = b;
        for (int i = 0; i < 200000; i++) counts[p.next().offset_bytes / 4096].first++;
        std::sort(counts.rbegin(), counts.rend());
        return counts;
    };
    const auto free = hot("zipf:1.2\n");
    CHECK(sigmas(free[0].first, 200000, law[0]) < 5);
    CHECK(sigmas(free[1].first, 200000, law[1]) < 5);
    CHECK(std::llabs(static_cast<long long>(free[0].second - free[1].second)) > 1);
    CHECK(hot("zipf:1.2:0.25\n")[0].second == n / 4);
    CHECK(hot("zipf:1.2:0\n")[0].second == 0);
    CHECK(hot("zipf:1.2:1\n")[0].second == n - 1);
}
TEST_CASE("pareto puts 80 % on a fifth of the blocks for 0.2, and normal keeps its deviation") {
    const uint64_t n = 10000;
    const auto sorted_shares = [&](const std::string& d) {
        auto p = pattern("rw=randread\nrandom_distribution=" + d + "\n", Bytes(int64_t(n) * 4096));
        std::vector<double> counts(n);
        for (int i = 0; i < 2000000; i++) counts[p.next().offset_bytes / 4096]++;
        std::sort(counts.rbegin(), counts.rend());
        return counts;
    };
    const auto share = [](const std::vector<double>& counts, double part) {
        const auto top = static_cast<long>(part * static_cast<double>(counts.size()));
        return std::accumulate(counts.begin(), counts.begin() + top, 0.0) / 2000000;
    };
    CHECK(share(sorted_shares("pareto:0.2"), 0.2) == Approx(0.8).margin(0.005));
    CHECK(share(sorted_shares("pareto:0.1"), 0.1) == Approx(0.9).margin(0.005));
    // Within one deviation either side: 20 % of the blocks, 68.27 % of the draws; sorting by count
    // adds a little noise at the border.
    CHECK(share(sorted_shares("normal:10"), 0.2) == Approx(0.6827).margin(0.005));
    auto centred =
        pattern("rw=randread\nrandom_distribution=normal:1:0.5\n", Bytes(int64_t(n) * 4096));
    std::vector<double> counts(n);
    for (int i = 0; i < 2000000; i++) counts[centred.next().offset_bytes / 4096]++;
    const double density = 1 / (0.01 * static_cast<double>(n) * std::sqrt(2 * std::acos(-1.0)));
    CHECK(sigmas(counts[n / 2], 2000000, density) < 5);
}
TEST_CASE("zoned draws keep their access shares and zones by percent and by size") {
    auto p =
        pattern("rw=randread\nrandom_distribution=zoned:50/5:30/15:20/80\n", Bytes(10000 * 4096));
    std::vector<double> counts(3), blocks(10000);
    for (int i = 0; i < 1000000; i++) {
        const uint64_t b = p.next().offset_bytes / 4096;
        counts[b < 500 ? 0 : b < 2000 ? 1 : 2]++;
        blocks[b]++;
    }
    CHECK(chi_sigmas(counts, {0.5, 0.3, 0.2}, 1000000) < 5);
    std::vector<double> law(10000, 0.2 / 8000);
    std::fill(law.begin(), law.begin() + 2000, 0.3 / 1500);
    std::fill(law.begin(), law.begin() + 500, 0.5 / 500);
    CHECK(chi_sigmas(blocks, law, 1000000) < 5); // even within each zone

    auto abs = pattern("rw=randwrite\nrandom_distribution=zoned_abs:60/1m:40/\n", Bytes::mib(16));
    double in_first = 0;
    uint64_t highest = 0;
    for (int i = 0; i < 100000; i++) {
        const uint64_t o = abs.next().offset_bytes;
        in_first += o < 1 << 20;
        highest = std::max(highest, o);
    }
    CHECK(sigmas(in_first, 100000, 0.6) < 5);
    CHECK(highest > (15 << 20));
    CHECK_THROWS_AS(
        pattern("rw=randread\nrandom_distribution=zoned_abs:60/20m:40/\n", Bytes::mib(16)),
        InputError);
}
TEST_CASE("the same seed and stream give the same draws, another seed other ones") {
    const std::string job = "rw=randrw\nbssplit=4k/50:8k/\nrandom_distribution=zipf:0.9\n";
    CHECK(offsets(pattern(job, Bytes::gib(1), 0, 5), 1000) ==
          offsets(pattern(job, Bytes::gib(1), 0, 5), 1000));
    CHECK(offsets(pattern(job, Bytes::gib(1), 0, 5), 1000) !=
          offsets(pattern(job, Bytes::gib(1), 0, 6), 1000));
}
