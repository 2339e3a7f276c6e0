#include "models/workload/fio/io_log.hpp"
#include <algorithm>

namespace storlab::fio {

uint32_t IoLog::add_file(const std::string& name) {
    const auto at = std::find(files_.begin(), files_.end(), name) - files_.begin();
    if (at == std::ssize(files_)) files_.push_back(name);
    return static_cast<uint32_t>(at);
}

std::string IoLog::text() const {
    std::string all = "fio version 2 iolog\n";
    for (const char* action : {" add\n", " open\n"})
        for (const std::string& f : files_) all += f + action;
    for (const Line& l : requests_)
        all += files_[l.file] +
               (l.op == Op::read    ? " read "
                : l.op == Op::write ? " write "
                                    : " sync ") +
               std::to_string(l.offset) + " " + std::to_string(l.bytes) + "\n";
    for (const std::string& f : files_) all += f + " close\n";
    return all;
}

} // namespace storlab::fio
