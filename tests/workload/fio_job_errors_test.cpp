#include "models/workload/fio/job_file.hpp"
#include <catch2/catch.hpp>
#include <chrono>

using namespace storlab;
using namespace storlab::fio;

namespace {
std::vector<std::string> complaints(const std::string& text, const Surroundings& around = {}) {
    std::vector<std::string> out;
    try {
        parse(text, "t.fio", around);
    } catch (const InputError& error) {
        for (const Complaint& c : error.complaints()) out.push_back(to_string(c));
    }
    return out;
}
std::string complaint(const std::string& text, const Surroundings& around = {}) {
    const auto all = complaints(text, around);
    CHECK(all.size() == 1);
    return all.empty() ? "accepted" : all[0];
}
// Of one option in a section: line 2.
std::string of(const std::string& option) { return complaint("[a]\n" + option + "\n"); }
Surroundings reading(std::function<std::optional<std::string>(const std::string&)> read) {
    Surroundings out;
    out.read_file = std::move(read);
    return out;
}
} // namespace

TEST_CASE("all complaints of a file come at once, each at its line and column") {
    CHECK(
        complaints("[global]\nbs=4q\n  iodepht=4\n[a]\nrw=randrwx\nbssplit=4k/50:8k/60,4k/x\n"
                   "verify=crc32c\n\tsize=1.5g\n") ==
        std::vector<std::string>{
            "t.fio:2:4: error: '4q' ends in 'q'; expected a number such as 4096, 4k, 1m or 0x1000",
            "t.fio:3:3: error: 'iodepht' is no fio option storlab knows; did you mean 'iodepth'?",
            "t.fio:5:4: error: 'randrwx' is not one of: read, write, randread, randwrite, rw, "
            "readwrite, randrw; did you mean 'randrw'?",
            "t.fio:6:9: error: has shares that add up to 110 %, above 100",
            "t.fio:7:1: error: 'verify' is a fio option storlab does not model; it would change "
            "the "
            "workload",
            "t.fio:8:7: error: '1.5g' has a decimal point, where fio would stop reading; expected "
            "a "
            "number such as 4096, 4k, 1m or 0x1000"});
}
TEST_CASE("a bad piece inside a list is pointed at") {
    CHECK(of("bs=4k,8x") ==
          "t.fio:2:7: error: '8x' ends in 'x'; expected a number such as 4096, 4k, "
          "1m or 0x1000");
    CHECK(of("bssplit=4k/50:8k/ab").starts_with("t.fio:2:18: error: 'ab' is no number"));
    CHECK(of("random_distribution=zipf:1.2:2") ==
          "t.fio:2:30: error: centre is out of range; expected 0 to 1");
    CHECK(of("rw=write:-4k").starts_with("t.fio:2:10: error: '-4k' is negative"));
    CHECK(of("cpus_allowed=0,3-1") == "t.fio:2:16: error: '3-1' runs backwards; expected low-high");
}
TEST_CASE("options that change the workload and are not modelled are refused by name") {
    for (const std::string option : {"zonemode=zbd",
                                     "verify=md5",
                                     "trim_percentage=10",
                                     "flow=8",
                                     "latency_target=500",
                                     "steadystate=iops:10%",
                                     "ss=iops:10%",
                                     "write_hint=short",
                                     "cmdprio_percentage=20",
                                     "loops=2",
                                     "nrfiles=4",
                                     "iodepth_batch_submit=16",
                                     "read_iolog=x",
                                     "max_latency=1s",
                                     "rate_min=1m",
                                     "fill_device=1",
                                     "prio=3",
                                     "fdp=1",
                                     "hipri",
                                     "cpumask=3"}) {
        const std::string key = option.substr(0, option.find('='));
        CHECK(of(option) ==
              "t.fio:2:1: error: '" + key +
                  "' is a fio option storlab does not model; it would change the workload");
    }
    CHECK(of("rw=randtrim").find("'randtrim' is known to fio, but storlab does not model it") !=
          std::string::npos);
    CHECK(of("ioengine=mmap").find("'mmap' is known to fio") != std::string::npos);
    CHECK(of("size=8z").find("counts zones") != std::string::npos);
    CHECK(of("startdelay=5-10").find("random delay") != std::string::npos);
}
TEST_CASE("unknown keys name the nearest known one") {
    CHECK(of("bsplit=4k/100") ==
          "t.fio:2:1: error: 'bsplit' is no fio option storlab knows; did you mean 'bssplit'?");
    CHECK(of("RW=read").find("is no fio option") != std::string::npos); // keys have one case
    CHECK(of("qqqqqqqqqq=1") == "t.fio:2:1: error: 'qqqqqqqqqq' is no fio option storlab knows");
    CHECK(of("rw = read").find("t.fio:2:5: error: has a blank after '='") == 0);
}
TEST_CASE("values out of range are errors with the range") {
    CHECK(of("numjobs=1000000000") ==
          "t.fio:2:9: error: '1000000000' is out of range; expected 1 to 4096");
    CHECK(of("iodepth=1m") == "t.fio:2:9: error: '1m' is out of range; expected 1 to 65536");
    CHECK(of("bs=0") == "t.fio:2:4: error: '0' is out of range; expected 1 to 1073741824");
    CHECK(of("rwmixread=101") == "t.fio:2:11: error: '101' is above 100 percent");
    for (const char* option : {"iodepth=0",
                               "numjobs=0",
                               "iodepth=-1",
                               "bs=2g",
                               "bs=,",
                               "bs=1,2,3,4",
                               "bs",
                               "rw=",
                               "rw",
                               "size=101%",
                               "size=0%",
                               "size=%",
                               "rw=randread:0",
                               "rw=:8",
                               "percentage_random=200",
                               "bssplit=",
                               "bssplit=4k/50:8k/60",
                               "bssplit=/50",
                               "bssplit=4k/-5",
                               "bssplit=4k/101",
                               "bsrange=4k",
                               "bsrange=-4k",
                               "bsrange=4k-",
                               "bsrange=0-4k",
                               "random_distribution=zipf:1",
                               "random_distribution=zipf:0",
                               "random_distribution=zipf:nan",
                               "random_distribution=pareto:1",
                               "random_distribution=normal:100",
                               "random_distribution=normal",
                               "random_distribution=zoned",
                               "random_distribution=zoned:",
                               "random_distribution=zoned:60/10:30/20",
                               "random_distribution=zoned:60/10:50/20",
                               "random_distribution=zoned:60/50:40/60",
                               "random_distribution=zoned:60/100:40/",
                               "random_distribution=zoned_abs:60/:40/1g",
                               "random_distribution=zoned_abs=100/1g",
                               "random_distribution=zipf:1.2:0:0",
                               "random_distribution=sequence:2,0,1",
                               "direct=2",
                               "stonewall=yes",
                               "sync=2",
                               "kb_base=1001",
                               "cpus_allowed=4096",
                               "cpus_allowed=",
                               "cpus_allowed=0-",
                               "filename=a::b",
                               "runtime=107d",
                               "thinktime_blocks=0",
                               "random_distribution=zipf:1e300",
                               "unified_rw_reporting=3",
                               "rate=1m,2m,3m,4m",
                               "filename=${X",
                               "size=$mb_memory",
                               "=4k",
                               "bs=4k ; four",
                               "kb_base"})
        CHECK(of(option).starts_with("t.fio:2:"));
    std::string many = "bssplit=4k/1";
    for (int i = 0; i < 64; i++) many += ":8k/1";
    CHECK(of(many) == "t.fio:2:9: error: has 65 entries; expected at most 64");
}
TEST_CASE("options that contradict each other are errors") {
    CHECK(complaint("[a]\nsize=4k\nbs=8k\n") ==
          "t.fio:2:6: error: size is 4096 bytes, less than one block of 8192 bytes");
    CHECK(complaint("[a]\nrate=1m\nrate_iops=100\n") ==
          "t.fio:3:11: error: rate and rate_iops exclude each other; keep one");
    CHECK(
        complaint("[a]\nbssplit=4k/100\nbsrange=4k-8k\n").starts_with("t.fio:3:9: error: bsrange"));
    CHECK(complaint("[a]\nnumjobs=4096\niodepth=65536\n").find("expected at most 1048576") !=
          std::string::npos);
    // Once, though both jobs inherit it.
    CHECK(complaint("[global]\nrate=1m\nrate_iops=100\n[a]\n[b]\n").starts_with("t.fio:3:11:"));
}
TEST_CASE("broken structure is an error with its place") {
    CHECK(complaint("bs=4k\n[a]\n") == "t.fio:1:1: error: stands before the first [section]");
    CHECK(complaint("[a\n[b]\n") == "t.fio:1:1: error: has no ']' at the end of the line");
    CHECK(complaint("[a] ; c\n[b]\n") == "t.fio:1:1: error: has no ']' at the end of the line");
    CHECK(complaint("[ ]\n[b]\n").find("names no job") != std::string::npos);
    CHECK(complaint("") == "t.fio: error: holds no job; expected a [section] that is not [global]");
    CHECK(complaint("[global]\nbs=4k\n").starts_with("t.fio: error: holds no job"));
    CHECK(complaint(std::string("[a]\nbs=4\0k\n", 11)).find("control character") !=
          std::string::npos);
    CHECK(of("size=${SIZE}") == "t.fio:2:6: error: 'size' has no value: ${SIZE} is not set");
    CHECK(of("iodepth=") == "t.fio:2:9: error: 'iodepth' has no value");
    CHECK(of("iodepth") == "t.fio:2:1: error: 'iodepth' needs a value");
}
TEST_CASE("sums that overflow, divide by zero or nest without end are errors") {
    for (const std::string sum :
         {"$pagesize*9223372036854775807", "$pagesize/0", "0-$pagesize", "$pagesize*", "($pagesize",
          "$pagesize)", "$pagesize 2", "0-9223372036854775807-1-$pagesize"})
        CHECK(of("size=" + sum).starts_with("t.fio:2:6: error: "));
    CHECK(of("size=" + std::string(2000, '(') + "$pagesize").find("parentheses") !=
          std::string::npos);
}
TEST_CASE("includes that are missing, open sections, or never end are errors") {
    CHECK(complaint("[a]\ninclude x\n") == "t.fio:2:9: error: includes 'x', which cannot be read");
    CHECK(complaint("[a]\ninclude x\n", reading([](auto&) { return "bs=8k\n[b]\n"; })) ==
          "x:2:1: error: opens a section, which an included file may not do");
    CHECK(complaint("[a]\ninclude x\n", reading([](auto&) { return "  bs=4q\n"; }))
              .starts_with("x:1:6: error: '4q'"));
    CHECK(
        complaint("[a]\ninclude x\n", reading([](auto&) { return "include x\n"; })) ==
        "x:1:9: error: includes 'x' at depth 9; expected at most 8 (does a file include itself?)");
    int reads = 0; // a tree of files: 10 includes in each
    const auto tree = reading([&](auto&) {
        reads++;
        std::string text;
        for (int i = 0; i < 10; i++) text += "include x\n";
        return text;
    });
    CHECK(complaints("[a]\ninclude x\n", tree).size() > 1);
    CHECK(reads <= max_includes);
}
TEST_CASE("hostile bulk gives errors soon") {
    const auto start = std::chrono::steady_clock::now();
    CHECK(complaint(std::string(10 << 20, 'x')) ==
          "t.fio: error: has 10485760 bytes; expected at most 1048576");
    std::string junk = "[a]\n";
    while (junk.size() < 1000000) junk += "jnk=1\n";
    CHECK(complaints(junk).size() <= max_complaints + 1);
    CHECK(complaints(junk)[0] == "t.fio: error: has too many errors; the rest was not read");
    std::string sections;
    while (sections.size() < 1000000) sections += "[a]\n";
    CHECK(complaints(sections).size() <= max_complaints + 1);
    CHECK(complaints("[a]\n" + std::string(1000000, '=')).size() == 1);
    CHECK(complaints("[a]\nfilename=" + std::string(1000000, ':')).size() == 1);
    CHECK(complaints("[" + std::string(1000000, 'a') + "]\n").size() >= 1);
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took < std::chrono::seconds(10)); // well under one; sanitizers are slower
}
