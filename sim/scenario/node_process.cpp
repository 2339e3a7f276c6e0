#include "sim/scenario/node_process.hpp"
#include "sim/base/error.hpp"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace storlab {

namespace {
using Json = nlohmann::json;
int64_t in_ps(Instant t) { return t.since_start().count_ps(); }
} // namespace

std::string to_json(const NodeOffer& offer) {
    Json volumes = Json::object();
    for (const auto& [path, g] : offer.volumes)
        volumes[path] = {g.blocks, g.block.count(), g.payload};
    return Json{{"ready", {{"ports", offer.ports}, {"volumes", volumes}}}}.dump() + "\n";
}

std::string to_json(const NodeReport& r) {
    Json marks = Json::array(), sizes = Json::array(), scrubs = Json::object();
    for (const TimelineMark& m : r.marks) marks.push_back({in_ps(m.at), m.what, m.where, m.phase});
    for (const FullSize& f : r.full_size)
        sizes.push_back({f.what, f.value.count_ps(), f.arithmetic});
    for (const auto& [array, s] : r.scrubs) scrubs[array] = {s.lines, s.mismatches, s.unreadable};
    return Json{{"report",
                 {{"marks", marks},
                  {"full_size", sizes},
                  {"scrubs", scrubs},
                  {"violations", r.violations},
                  {"troubles", r.troubles}}}}
               .dump(-1, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

namespace {
NodeOffer offer_of(const Json& j) {
    NodeOffer o;
    o.ports = j.at("ports").get<std::map<std::string, uint16_t>>();
    for (const auto& [path, g] : j.at("volumes").items())
        o.volumes[path] = {g.at(0).get<uint64_t>(), Bytes(g.at(1).get<int64_t>()),
                           g.at(2).get<uint32_t>()};
    return o;
}
NodeReport report_of(const Json& j) {
    NodeReport r;
    for (const Json& m : j.at("marks"))
        r.marks.push_back(
            {Instant::at(Duration::ps(m.at(0).get<int64_t>())), m.at(1), m.at(2), m.at(3)});
    for (const Json& f : j.at("full_size"))
        r.full_size.push_back({f.at(0), Duration::ps(f.at(1).get<int64_t>()), f.at(2)});
    for (const auto& [array, s] : j.at("scrubs").items()) {
        ScrubReport& scrub = r.scrubs[array];
        scrub.lines = s.at(0), scrub.mismatches = s.at(1), scrub.unreadable = s.at(2);
    }
    r.violations = j.at("violations");
    r.troubles = j.at("troubles").get<std::vector<std::string>>();
    return r;
}
} // namespace

void NodeProcess::start(bool again) {
    kill();
    heard_.clear();
    offer_.reset();
    const auto complain = [&](int error) {
        throw InputError({machine_, 0, 0},
                         std::string("cannot start its process: ") + std::strerror(error));
    };
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) complain(errno);
    std::vector<std::string> words{command_.program, "node",  command_.file,
                                   machine_,         "--dir", command_.folder};
    for (const std::string& s : command_.settings) words.insert(words.end(), {"--set", s});
    if (again) words.push_back("--again");
    std::vector<char*> arguments;
    for (std::string& w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    // A group of its own: Ctrl-C is for the hosts' process, which still wants the node's report.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, command_.program.c_str(), &actions, &attributes,
                                    arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    channel_ = ends[0];
    if (error != 0) {
        ::close(std::exchange(channel_, -1));
        complain(error);
    }
    pid_ = pid;
}

void NodeProcess::kill() {
    if (channel_ >= 0) ::close(std::exchange(channel_, -1));
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    pid_ = -1;
}

void NodeProcess::say(const std::string& line) const {
    size_t said = 0;
    while (said < line.size()) {
        const ssize_t n = ::send(channel_, line.data() + said, line.size() - said, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return; // it has ended; what is heard next says so
        said += static_cast<size_t>(n);
    }
}

// A line, or none: it has not come in time. The end of the channel is an empty line.
std::optional<std::string> NodeProcess::hear(Duration at_most) {
    const auto limit = static_cast<int>(at_most.in_seconds() * 1000);
    for (;;) {
        if (const size_t end = heard_.find('\n'); end != std::string::npos) {
            std::string line = heard_.substr(0, end);
            heard_.erase(0, end + 1);
            return line;
        }
        pollfd p{channel_, POLLIN, 0};
        const int ready = ::poll(&p, 1, limit);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return std::nullopt;
        char bytes[4096];
        const ssize_t n = ::recv(channel_, bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return std::string();
        heard_.append(bytes, static_cast<size_t>(n));
    }
}

void NodeProcess::ended() const {
    throw InputError({machine_, 0, 0}, "its process ended before it was ready");
}

const NodeOffer* NodeProcess::offer(Duration at_most) {
    if (offer_) return &*offer_;
    const auto line = hear(at_most);
    if (!line) return nullptr;
    const Json j = Json::parse(*line, nullptr, false);
    if (!j.is_object()) ended();
    if (j.contains("error")) throw InputError({machine_, 0, 0}, j.at("error").get<std::string>());
    if (!j.contains("ready")) ended();
    offer_ = offer_of(j.at("ready"));
    return &*offer_;
}

void NodeProcess::begin(Instant at) {
    say(Json{{"begin", at.since_start().count_ps() / 1000}}.dump() + "\n");
}

std::optional<NodeReport> NodeProcess::finish() {
    if (!running()) return std::nullopt;
    say(Json{{"finish", true}}.dump() + "\n");
    const auto line = hear(Duration::s(60));
    kill();
    if (!line) return std::nullopt;
    const Json j = Json::parse(*line, nullptr, false);
    if (!j.is_object() || !j.contains("report")) return std::nullopt;
    return report_of(j.at("report"));
}

} // namespace storlab
