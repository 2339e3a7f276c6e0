#include "models/workload/fio/option_enums.hpp"
#include <algorithm>
#include <initializer_list>

namespace storlab::fio {
namespace {

template <class T> struct Choice {
    std::string_view name;
    T value;
};
// Words that fio knows but whose meaning is not modelled get a complaint of their own.
using Unmodelled = std::vector<std::string_view>;

[[noreturn]] void refuse(const Text& word, const std::vector<std::string>& names,
                         const Unmodelled& known) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    std::string what = quoted(word.text);
    if (std::find(known.begin(), known.end(), word.text) != known.end())
        what += " is known to fio, but storlab does not model it: it would change the workload; "
                "expected one of: " +
                list;
    else what += " is not one of: " + list + did_you_mean(word.text, names);
    throw InputError(word.where, what);
}
template <class T>
T choose(const Text& word, std::initializer_list<Choice<T>> choices, const Unmodelled& known = {}) {
    std::vector<std::string> names;
    for (const Choice<T>& c : choices) {
        if (c.name == word.text) return c.value;
        names.emplace_back(c.name);
    }
    refuse(word, names, known);
}

} // namespace

Access access_named(const Text& word) {
    return choose<Access>(word,
                          {{"read", Access::read},
                           {"write", Access::write},
                           {"randread", Access::randread},
                           {"randwrite", Access::randwrite},
                           {"rw", Access::rw},
                           {"readwrite", Access::rw},
                           {"randrw", Access::randrw}},
                          {"trim", "randtrim", "trimwrite", "randtrimwrite"});
}
Engine engine_named(const Text& word) {
    return choose<Engine>(word,
                          {{"sync", Engine::sync},
                           {"psync", Engine::psync},
                           {"vsync", Engine::vsync},
                           {"pvsync", Engine::pvsync},
                           {"pvsync2", Engine::pvsync2},
                           {"libaio", Engine::libaio},
                           {"linuxaio", Engine::libaio},
                           {"io_uring", Engine::io_uring},
                           {"io_uring_cmd", Engine::io_uring_cmd},
                           {"posixaio", Engine::posixaio}},
                          {"mmap",        "splice",     "null",     "net",        "netsplice",
                           "cpuio",       "rdma",       "sg",       "falloc",     "ftruncate",
                           "filecreate",  "filestat",   "exec",     "filedelete", "e4defrag",
                           "rados",       "rbd",        "http",     "gfapi",      "mtd",
                           "gfapi_async", "libhdfs",    "pmemblk",  "dev-dax",    "libpmem",
                           "nbd",         "libcufile",  "dfs",      "nfs",        "xnvme",
                           "libblkio",    "external",   "libiscsi", "windowsaio", "solarisaio",
                           "ime_psync",   "ime_psyncv", "ime_aio",  "dircreate",  "dirstat",
                           "dirdelete",   "binject",    "guasi",    "rpma"});
}
Sync sync_named(const Text& word) {
    return choose<Sync>(word, {{"none", Sync::none},
                               {"0", Sync::none},
                               {"sync", Sync::sync},
                               {"1", Sync::sync},
                               {"dsync", Sync::dsync}});
}
Sequencer sequencer_named(const Text& word) {
    return choose<Sequencer>(
        word, {{"sequential", Sequencer::sequential}, {"identical", Sequencer::identical}});
}
RateProcess rate_process_named(const Text& word) {
    return choose<RateProcess>(
        word, {{"linear", RateProcess::linear}, {"poisson", RateProcess::poisson}});
}
bool offload_named(const Text& word) {
    return choose<bool>(word, {{"inline", false}, {"offload", true}});
}
ThinkAfter think_after_named(const Text& word) {
    return choose<ThinkAfter>(word,
                              {{"complete", ThinkAfter::complete}, {"issue", ThinkAfter::issue}});
}
Reporting reporting_named(const Text& word) {
    return choose<Reporting>(word, {{"none", Reporting::separate},
                                    {"0", Reporting::separate},
                                    {"mixed", Reporting::mixed},
                                    {"1", Reporting::mixed},
                                    {"both", Reporting::both},
                                    {"2", Reporting::both}});
}

} // namespace storlab::fio
