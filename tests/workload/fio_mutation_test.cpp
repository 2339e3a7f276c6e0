// Job files broken at random: each must give jobs whose patterns stay inside the device, or an
// InputError. A crash, a hang or another exception is the defect looked for.
#include "models/workload/fio/pattern.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::fio;

namespace {
const std::string seed_file = R"(; mutated
[global]
ioengine=libaio
direct=1
filename=/dev/sdx:/dev/disk\:1
time_based
runtime=5m
include common.fio
[oltp]
rw=randrw:8
rw_sequencer=identical
rwmixread=70
bssplit=4k/20:8k/70:16k/,8k/100
iodepth=16
numjobs=4
offset_increment=20%
size=20%
random_distribution=zoned:50/5:30/15:20/80
percentage_random=80,50
cpus_allowed=0-3,8
[log]
rw=write:4k
bsrange=4k-16k,1k:8k
rate_iops=,500
thinktime=250us
thinktime_blocks=2
[skew]
rw=randread
bs=8k
size=$mb_memory*1024
random_distribution=zipf:1.2:0.25
[abs]
rw=randwrite
blockalign=16k
bs_unaligned=1
random_distribution=zoned_abs:60/20m:40/
[curve]
rw=randrw
offset=${OFFSET}
random_distribution=pareto:0.2:0.5
)";

std::string mutated(Random& random) {
    static const std::vector<std::string> hostile = {"0",
                                                     "-1",
                                                     "1",
                                                     "101",
                                                     "4096",
                                                     "4097",
                                                     "1000000000",
                                                     "9223372036854775807",
                                                     "9223372036854775808",
                                                     "18446744073709551616",
                                                     "0x7fffffffffffffff",
                                                     "1e308",
                                                     "nan",
                                                     "1p",
                                                     "8191p",
                                                     "%",
                                                     "100%",
                                                     "$pagesize",
                                                     "${OFFSET}",
                                                     "${",
                                                     ":",
                                                     ",",
                                                     "/",
                                                     "",
                                                     "4k/:8k/",
                                                     "[",
                                                     "]",
                                                     "=",
                                                     "\n",
                                                     "\r",
                                                     "include common.fio\n",
                                                     "[global]\n",
                                                     "\xEF\xBB\xBF",
                                                     "0.0000001",
                                                     "0-4095"};
    std::string text = seed_file;
    const uint64_t changes = 1 + random.below(2);
    for (uint64_t c = 0; c < changes && !text.empty(); c++) {
        const size_t at = random.below(text.size());
        switch (random.below(5)) {
        case 0: text.resize(at); break;
        case 1: text[at] = static_cast<char>(text[at] ^ (1 << random.below(8))); break;
        case 2: text.erase(at, 1 + random.below(20)); break;
        case 3: text.insert(at, hostile[random.below(hostile.size())]); break;
        case 4: { // another value
            const size_t equals = text.find('=', at);
            if (equals == std::string::npos) break;
            const size_t end = std::min(text.find('\n', equals), text.size());
            text.replace(equals + 1, end - equals - 1, hostile[random.below(hostile.size())]);
        }
        }
    }
    return text;
}
} // namespace

TEST_CASE("2000 mutated job files give jobs or complaints, never a crash or an I/O out of bounds") {
    Surroundings around;
    around.read_file = [](const std::string&) { return "randrepeat=0\n"; };
    around.variable = [](const std::string&) { return "64k"; };
    around.mb_memory = 16384;
    REQUIRE(parse(seed_file, "m.fio", around).jobs.size() == 5);
    Random random(20261130, "tests/fio/mutations");
    int accepted = 0, refused = 0, drawn = 0;
    for (int i = 0; i < 2000; i++) {
        const std::string text = mutated(random);
        INFO("mutation " << i << ":\n" << text);
        const Bytes device = random.below(2) ? Bytes::mib(256) : Bytes(int64_t{1} << 60);
        try {
            const JobFile file = parse(text, "m.fio", around);
            accepted++;
            for (const Job& job : file.jobs) {
                REQUIRE(effective_depth(job).total >= 1);
                try {
                    const auto clone = static_cast<uint32_t>(random.below(job.numjobs));
                    AddressPattern pattern(job, clone, device, Random(i, job.name));
                    const Region r = pattern.region();
                    for (int d = 0; d < 50; d++, drawn++) {
                        const Draw draw = pattern.next();
                        const auto start = static_cast<int64_t>(draw.offset_bytes);
                        REQUIRE(draw.bytes > 0);
                        REQUIRE(start >= r.start.count());
                        REQUIRE(start + draw.bytes <= (r.start + r.length).count());
                        REQUIRE(r.start + r.length <= device);
                    }
                } catch (const InputError&) {} // a region that does not fit this device
            }
        } catch (const InputError& error) {
            refused++;
            REQUIRE(!error.complaints().empty());
        }
    }
    CHECK(accepted > 100); // the mutations are neither all fatal nor all harmless
    CHECK(refused > 500);
    CHECK(drawn > 10000);
}
