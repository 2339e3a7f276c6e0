#include "models/workload/fio/job_file.hpp"
#include <catch2/catch.hpp>
#include <map>

using namespace storlab;
using namespace storlab::fio;

namespace {
Job only(const std::string& options) {
    const JobFile file = parse("[a]\n" + options, "t.fio");
    REQUIRE(file.jobs.size() == 1);
    return file.jobs[0];
}
std::vector<SizeShare> shares(std::initializer_list<std::pair<int64_t, double>> list) {
    std::vector<SizeShare> out;
    for (const auto& [size, percent] : list) out.push_back({Bytes(size), percent});
    return out;
}
bool noted(const JobFile& file, int line, const std::string& part) {
    for (const Remark& r : file.notes)
        if (r.where.line == line && r.text.find(part) != std::string::npos) return true;
    return false;
}
Surroundings with(std::map<std::string, std::string> files,
                  std::map<std::string, std::string> variables = {}) {
    Surroundings out;
    out.read_file = [files](const std::string& name) -> std::optional<std::string> {
        const auto found = files.find(name);
        return found == files.end() ? std::nullopt : std::optional(found->second);
    };
    out.variable = [variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    return out;
}
} // namespace

TEST_CASE("a two-phase file with per-direction sizes and open arrivals reads as fio reads it") {
    const std::string text = R"(; two phases, per-direction sizes, open arrivals
[global]
ioengine=libaio
direct=1
filename=/dev/sdx
time_based
runtime=5m
ramp_time=30
group_reporting
include common.fio

[oltp]
rw=randrw
rwmixread=70
bssplit=4k/20:8k/70:16k/,8k/100
iodepth=16
numjobs=4
offset_increment=20%
size=20%
random_distribution=zoned:50/5:30/15:20/80

[log]
rw=write
bs=4k
iodepth=1
fdatasync=1
rate_iops=,500
rate_process=poisson
thinktime=250
)";
    const JobFile file = parse(text, "two.fio", with({{"common.fio", "; shared\nrandrepeat=0\n"}}));
    REQUIRE(file.jobs.size() == 2);
    const Job& oltp = file.jobs[0];
    const Job& log = file.jobs[1];
    for (const Job& job : file.jobs) {
        CHECK(job.ioengine == Engine::libaio);
        CHECK(job.direct);
        CHECK(job.filename == std::vector<std::string>{"/dev/sdx"});
        CHECK(job.time_based);
        CHECK(job.runtime == Duration::s(300)); // minutes
        CHECK(*job.runtime + job.ramp_time == Duration::s(330));
        CHECK(job.group_reporting);
        CHECK_FALSE(job.randrepeat); // included
    }
    CHECK(oltp.name == "oltp");
    CHECK(to_string(oltp.place) == "two.fio:12:1");
    CHECK(oltp.rw == Access::randrw);
    CHECK(oltp.rwmixread == 70);
    CHECK(oltp.block.read.split == shares({{4096, 20}, {8192, 70}, {16384, 10}}));
    CHECK(oltp.block.write.split == shares({{8192, 100}}));
    CHECK(effective_depth(oltp).total == 64);
    CHECK(oltp.offset_increment.percent == 20);
    CHECK(oltp.size->percent == 20);
    CHECK(oltp.random_distribution.kind == Spread::zoned);
    const auto& zones = oltp.random_distribution.zones;
    CHECK(zones.read == zones.write);
    CHECK(zones.read == std::vector<Zone>{{50, 5, {}}, {30, 15, {}}, {20, 80, {}}});
    CHECK(oltp.norandommap); // a skew turns the random map off
    CHECK(log.rw == Access::write);
    CHECK(log.fdatasync == 1);
    CHECK_FALSE(log.rate_iops.read);
    CHECK(log.rate_iops.write == Iops(500));
    CHECK(log.rate_process == RateProcess::poisson);
    CHECK(log.thinktime == Duration::us(250));
    CHECK(noted(file, 28, "the load is not open"));
    CHECK(log.numjobs == 1);
    CHECK(log.random_distribution.kind == Spread::uniform);
}
TEST_CASE("a job without options has fio's defaults") {
    const Job job = only("");
    CHECK(job.name == "a");
    CHECK(job.rw == Access::read);
    CHECK(job.block.read.low == Bytes(4096));
    CHECK(job.block.write.high == Bytes(4096));
    CHECK(job.iodepth == 1);
    CHECK(job.numjobs == 1);
    CHECK_FALSE(job.direct);
    CHECK(job.rwmixread == 50);
    CHECK(job.percentage_random == PerDirection<int>{100, 100});
    CHECK(job.ioengine == Engine::psync);
    CHECK(job.randrepeat);
    CHECK_FALSE(job.size);
}
TEST_CASE("a global section sets what stands below it, and there may be several") {
    const JobFile file = parse("[global]\nbs=8k\n[a]\n[global]\niodepth=4\nbs=16k\n[b]\nbs=,32k\n"
                               "[global]\niodepth=9\n",
                               "t.fio");
    REQUIRE(file.jobs.size() == 2);
    CHECK(file.jobs[0].block.read.low == Bytes(8192));
    CHECK(file.jobs[0].iodepth == 1);
    CHECK(file.jobs[1].block.read.low == Bytes(16384));
    CHECK(file.jobs[1].block.write.low == Bytes(32768));
    CHECK(file.jobs[1].iodepth == 4);
    const JobFile prefixed = parse("[globals]\nbs=8k\n[a]\n", "t.fio"); // measured with fio 3.33
    CHECK(prefixed.jobs.size() == 1);
    CHECK(prefixed.jobs[0].block.read.low == Bytes(8192));
    CHECK(noted(prefixed, 1, "[global] section"));
}
TEST_CASE(
    "comments, blank lines, CRLF, a byte-order mark and a missing last newline are no trouble") {
    const JobFile file =
        parse("\xEF\xBB\xBF; c\r\n# c\r\n\r\n  [a b]  \r\n\tbs=8k \r\n ; c\r\nrw=write", "t.fio");
    REQUIRE(file.jobs.size() == 1);
    CHECK(file.jobs[0].name == "a b");
    CHECK(file.jobs[0].block.write.low == Bytes(8192));
    CHECK(file.jobs[0].rw == Access::write);
}
TEST_CASE("flags stand alone or take 0 and 1") {
    CHECK(only("stonewall\n").stonewall);
    CHECK(only("stonewall=1\n").stonewall);
    CHECK_FALSE(only("stonewall\nstonewall=0\n").stonewall);
    CHECK(only("norandommap\n").norandommap);
    CHECK(only("new_group\n").new_group);
    CHECK(only("buffered=0\n").direct);
}
TEST_CASE("aliases mean their options") {
    const Job job = only("readwrite=randrw\nblocksize=8k\nio_limit=1g\ntimeout=7\n"
                         "wait_for_previous\nba=16k\n");
    CHECK(job.rw == Access::randrw);
    CHECK(job.block.write.low == Bytes(8192));
    CHECK(job.io_size->bytes == Bytes::gib(1));
    CHECK(job.runtime == Duration::s(7));
    CHECK(job.stonewall);
    CHECK(job.blockalign.read == Bytes(16384));
    CHECK(only("blocksize_range=1k-2k\n").block.read.high == Bytes(2048));
}
TEST_CASE("commas separate read, write and trim; a trailing comma leaves the rest alone") {
    const auto sizes = [](const std::string& bs) {
        const Job job = only("bs=" + bs + "\n");
        return std::pair(job.block.read.low.count(), job.block.write.low.count());
    };
    CHECK(sizes("8k") == std::pair<int64_t, int64_t>(8192, 8192));
    CHECK(sizes("8k,32k") == std::pair<int64_t, int64_t>(8192, 32768));
    CHECK(sizes("8k,32k,") == std::pair<int64_t, int64_t>(8192, 32768));
    CHECK(sizes("8k,") == std::pair<int64_t, int64_t>(8192, 4096));
    CHECK(sizes(",8k") == std::pair<int64_t, int64_t>(4096, 8192));
    CHECK(sizes("8k,,16k") == std::pair<int64_t, int64_t>(8192, 4096));
    const Job rates = only("rate=1m,500k\n");
    CHECK(rates.rate.read == Rate::bytes_per_second(1048576));
    CHECK(rates.rate.write == Rate::bytes_per_second(512000));
    CHECK_FALSE(only("rate=,500k\n").rate.read);
    CHECK_FALSE(only("rate=500k,\n").rate.write);
    CHECK(only("rate_iops=1k\n").rate_iops.write == Iops(1024));
    CHECK(only("percentage_random=30,60\n").percentage_random == PerDirection<int>{30, 60});
}
TEST_CASE("bsrange takes a dash or a colon and swaps its ends") {
    const Job job = only("bsrange=1k-4k,8k:2k\n");
    CHECK(job.block.read.low == Bytes(1024));
    CHECK(job.block.read.high == Bytes(4096));
    CHECK(job.block.write.low == Bytes(2048));
    CHECK(job.block.write.high == Bytes(8192));
    CHECK(only("bs_unaligned\n").bs_unaligned);
}
TEST_CASE("bsrange and bssplit beat bs wherever it stands, as measured with fio 3.33") {
    for (const char* text : {"[a]\nbsrange=8k-16k\nbs=4k\n", "[a]\nbs=4k\nbsrange=8k-16k\n"}) {
        const JobFile file = parse(text, "t.fio");
        CHECK(file.jobs[0].block.read.low == Bytes(8192));
        CHECK(file.notes.size() == 1);
    }
    CHECK(only("bssplit=16k/100\nbs=4k\n").block.read.smallest() == Bytes(16384));
    CHECK(only("bs=8k\nbssplit=16k/100,\n").block.write.largest() == Bytes(8192));
}
TEST_CASE("a mix that the rates of its directions do not have is told") {
    const JobFile one = parse("[a]\nrw=randrw\nrwmixread=70\nrate_iops=1000\n", "t.fio");
    CHECK(noted(one, 4, "at these rates 50 % are reads, not 70; for 1000 in all write 700,300"));
    const JobFile two = parse("[a]\nrw=rw\nrwmixwrite=70\nrate_iops=700,300\n", "t.fio");
    CHECK(noted(two, 4, "at these rates 70 % are reads, not 30"));
    for (const char* fine :
         {"rw=randrw\nrwmixread=70\nrate_iops=700,300\n", "rw=randrw\nrate_iops=1000\n",
          "rw=randrw\nrate_iops=700,300\n", "rw=randrw\nrwmixread=70\nrate_iops=700,\n",
          "rw=randread\nrwmixread=70\nrate_iops=1000\n",
          "rw=randrw\nrwmixread=100\nrate_iops=1000\n"})
        CHECK(parse(std::string("[a]\n") + fine, "t.fio").notes.empty());
}
TEST_CASE("blank shares of bssplit divide the rest evenly") {
    CHECK(only("bssplit=4k/50:1k/:32k/\n").block.read.split ==
          shares({{4096, 50}, {1024, 25}, {32768, 25}}));
    CHECK(only("bssplit=4k:8k\n").block.write.split == shares({{4096, 50}, {8192, 50}}));
    CHECK(only("bssplit=4k/100:8k/0\n").block.read.split == shares({{4096, 100}}));
    const JobFile zero = parse("[a]\nbssplit=4k/50:8k/0\n", "t.fio");
    CHECK(zero.jobs[0].block.read.split == shares({{4096, 50}, {8192, 50}}));
    CHECK(noted(zero, 2, "a share of 0 is blank to fio"));
    const JobFile thirds = parse("[a]\nbssplit=4k/33:8k/33:16k/33\n", "t.fio");
    CHECK(thirds.jobs[0].block.read.split == shares({{4096, 33}, {8192, 33}, {16384, 34}}));
    CHECK(noted(thirds, 2, "the last size gets the rest"));
}
TEST_CASE("a suffix on rw is a run length if random and a hole if sequential") {
    CHECK(only("rw=randread:8\n").random_run == 8);
    CHECK(only("rw=write:4k\n").hole == Bytes(4096));
    CHECK(only("rw=randread:8\nrw=write\n").hole == Bytes());
    CHECK(only("rw_sequencer=identical\n").sequencer == Sequencer::identical);
}
TEST_CASE("of rwmixread and rwmixwrite the later holds") {
    CHECK(only("rwmixread=70\nrwmixwrite=40\n").rwmixread == 60);
    CHECK(only("rwmixwrite=40\nrwmixread=70\n").rwmixread == 70);
}
TEST_CASE("distributions carry their parameter and centre") {
    const auto of = [](const std::string& d) {
        return only("random_distribution=" + d + "\n").random_distribution;
    };
    CHECK(of("random").kind == Spread::uniform);
    CHECK(of("zipf:1.2").parameter == 1.2);
    CHECK_FALSE(of("zipf:1.2").center);
    CHECK(of("zipf:1.2:0.25").center == 0.25);
    CHECK(of("zipf").parameter == 1.1); // fio's own default
    CHECK(of("pareto:0.9:0").center == 0);
    CHECK(of("normal:50").parameter == 50);
    CHECK(of("zoned:60/10:30/20:8/30:2/40").zones.read.size() == 4);
    CHECK(of("zoned:60/10:40/").zones.read[1].space_percent == 90);
    const Distribution abs = of("zoned_abs:60/20g:40/,100/1g");
    CHECK(abs.zones.read == std::vector<Zone>{{60, 0, Bytes::gib(20)}, {40, 0, Bytes()}});
    CHECK(abs.zones.write == std::vector<Zone>{{100, 0, Bytes::gib(1)}});
}
TEST_CASE("sizes and offsets are bytes or percent") {
    const Job job = only("size=10g\noffset=25%\noffset_increment=10g\nio_size=200m\n");
    CHECK(job.size->bytes == Bytes::gib(10));
    CHECK(job.offset.percent == 25);
    CHECK(job.offset.of(Bytes(1000)) == Bytes(250));
    CHECK(job.offset_increment.bytes == Bytes::gib(10));
    CHECK(job.io_size->bytes == Bytes::mib(200));
    CHECK_FALSE(only("size=0\n").size); // unset, to fio
}
TEST_CASE("file names split at colons unless escaped, CPUs are lists and ranges") {
    CHECK(only("filename=/dev/sda:/dev/sdb\n").filename ==
          std::vector<std::string>{"/dev/sda", "/dev/sdb"});
    CHECK(only("filename=/dev/disk\\:1:b\n").filename ==
          std::vector<std::string>{"/dev/disk:1", "b"});
    CHECK(only("cpus_allowed=8,0-3,2\n").cpus_allowed == std::vector<int>{0, 1, 2, 3, 8});
}
TEST_CASE("kb_base holds for its whole section and for what inherits from it") {
    const JobFile file = parse("[global]\nbs=4k\nkb_base=1000\n[a]\nsize=1MiB\n[b]\nkb_base=1024\n"
                               "size=1m\n",
                               "t.fio");
    CHECK(file.jobs[0].block.read.low == Bytes(4000));
    CHECK(file.jobs[0].size->bytes == Bytes(1048576));
    CHECK(file.jobs[1].size->bytes == Bytes(1048576));
}
TEST_CASE("variables and machine words are put in, with sums on the latter") {
    Surroundings around = with({}, {{"DEV", "/dev/nvme0n1"}, {"KB", "8"}});
    around.mb_memory = 1000;
    around.ncpus = 6;
    const Job job = parse("[a]\nfilename=${DEV}\nbs=${KB}k\nsize=8*$mb_memory*(1024+0)\n"
                          "blockalign=$pagesize*2\nnumjobs=$ncpus/2\ndirectory=/x/${NONE}y\n",
                          "t.fio", around)
                        .jobs[0];
    CHECK(job.filename[0] == "/dev/nvme0n1");
    CHECK(job.block.read.low == Bytes(8192));
    CHECK(job.size->bytes == Bytes(8192000));
    CHECK(job.blockalign.write == Bytes(8192));
    CHECK(job.numjobs == 3);
    CHECK(job.directory == "/x/y"); // unset is empty
}
TEST_CASE("an include sets options of its section only and may include further") {
    const JobFile file = parse("[a]\ninclude one\n[b]\n", "t.fio",
                               with({{"one", "bs=8k\ninclude two\n"}, {"two", "iodepth=7"}}));
    CHECK(file.jobs[0].block.read.low == Bytes(8192));
    CHECK(file.jobs[0].iodepth == 7);
    CHECK(file.jobs[1].iodepth == 1);
}
TEST_CASE("keys that do not change the workload are listed with their place, never dropped") {
    const JobFile file =
        parse("[global]\nwrite_lat_log=x\nlog_avg_msec=100\n[a]\nthread\ninvalidate=1\n"
              "loops=1\nzonemode=none\nexitall\ngtod_reduce=1\n",
              "t.fio");
    std::vector<std::string> keys;
    for (const Remark& r : file.ignored) keys.push_back(r.key + ":" + std::to_string(r.where.line));
    CHECK(keys == std::vector<std::string>{"write_lat_log:2", "log_avg_msec:3", "thread:5",
                                           "invalidate:6", "loops:7", "zonemode:8", "exitall:9",
                                           "gtod_reduce:10"});
}
TEST_CASE("every modelled option can be given") {
    const Job job = only(
        "name=other\ndirectory=/d\nsync=dsync\nfsync=10\nend_fsync=1\nnumber_ios=5\n"
        "rate_ignore_thinktime=1\nio_submit_mode=offload\nthinktime_spin=5\nthinktime_blocks=4\n"
        "thinktime_blocks_type=issue\nthinktime_iotime=2\nrandseed=7\nramp_time=1m\nstartdelay=2\n"
        "unified_rw_reporting=both\nbuffer_pattern=0xdeadbeef\nrate_process=linear\ndirect\n");
    CHECK(job.name == "other");
    CHECK(job.sync == Sync::dsync);
    CHECK(job.fsync == 10);
    CHECK(job.end_fsync);
    CHECK(job.number_ios == 5);
    CHECK(job.rate_ignore_thinktime);
    CHECK(job.offload);
    CHECK(job.thinktime_spin == Duration::us(5));
    CHECK(job.thinktime_blocks == 4);
    CHECK(job.thinktime_blocks_type == ThinkAfter::issue);
    CHECK(job.thinktime_iotime == Duration::s(2));
    CHECK(job.randseed == 7);
    CHECK(job.ramp_time == Duration::s(60));
    CHECK(job.startdelay == Duration::s(2));
    CHECK(job.unified_rw_reporting == Reporting::both);
    CHECK(job.buffer_pattern == "0xdeadbeef");
}
TEST_CASE("effective depth is numjobs x iodepth unless the engine or thinktime forbids it") {
    const std::string base = "iodepth=32\nnumjobs=4\ndirect=1\n";
    CHECK(effective_depth(only(base + "ioengine=libaio\n")).total == 128);
    CHECK(effective_depth(only(base + "ioengine=libaio\n")).reasons.empty());
    const Depth psync = effective_depth(only(base));
    CHECK(psync.total == 4);
    CHECK(psync.reasons ==
          std::vector<std::string>{
              "a synchronous ioengine has one I/O in flight; iodepth has no effect"});
    CHECK(effective_depth(only(base + "ioengine=libaio\ndirect=0\n")).total == 4);
    CHECK(effective_depth(only(base + "ioengine=io_uring\ndirect=0\n")).total == 128);
    const Depth think = effective_depth(only(base + "ioengine=io_uring\nthinktime=1ms\n"));
    CHECK(think.total == 4);
    CHECK(think.reasons ==
          std::vector<std::string>{"thinktime without thinktime_blocks waits after every I/O"});
    CHECK(effective_depth(only(base + "ioengine=io_uring\nthinktime=1\nthinktime_blocks=8\n"))
              .total == 32);
}
TEST_CASE("clones start offset_increment apart, and a region that does not fit is an error") {
    const Job job = only("size=20%\noffset_increment=20%\nnumjobs=5\nbs=64k\n");
    const Bytes device = Bytes::mib(10) + Bytes(4096); // 20 % is no multiple of the block
    int64_t previous = -1;
    for (int clone = 0; clone < 5; clone++) {
        const Region r = region_of(job, clone, device);
        CHECK(r.start.count() % 65536 == 0);
        CHECK(r.length.count() % 65536 == 0);
        CHECK(r.start + r.length <= device);
        CHECK(r.start.count() > previous);
        previous = r.start.count();
    }
    CHECK(region_of(only("offset=1m\n"), 0, Bytes::mib(3)).length == Bytes::mib(2));
    CHECK(region_of(only("size=4m\nfilename=a:b\n"), 0, Bytes::mib(3)).length == Bytes::mib(2));
    try {
        region_of(only("size=4m\noffset_increment=4m\n"), 2, Bytes::mib(10));
        FAIL("accepted");
    } catch (const InputError& error) {
        CHECK(std::string(error.what()) ==
              "t.fio:1:1: error: job 'a', clone 2: its region ends 2097152 "
              "bytes beyond the end of the device; the device has 10485760 "
              "bytes");
    }
    CHECK_THROWS_AS(region_of(only("offset=3m\n"), 0, Bytes::mib(3)), InputError);
    CHECK_THROWS_AS(region_of(only("bs=8k\n"), 0, Bytes(4096)), InputError);
    CHECK_THROWS_AS(region_of(only("offset_increment=0x7fffffffffffffff\n"), 4095, Bytes::gib(1)),
                    InputError);
}
