// Processes of a test: a target over a file, and whatever else has to be killed. They end with the
// object, or with the test's process, whichever is first.
#pragma once
#include "models/exchange/target.hpp"
#include "models/nvme/profiles.hpp"
#include "models/nvme/tcp_codec.hpp"
#include "models/scsi/iscsi_codec.hpp"
#include "models/scsi/profiles.hpp"
#include "sim/real/file_device.hpp"
#include "sim/real/sockets.hpp"
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <functional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace storlab {

constexpr uint32_t sector = 4096;
constexpr uint64_t disk_sectors = 4096;
constexpr uint16_t unit_number = 3;

struct TestProtocol {
    std::string name;
    Profile profile;
    MakeCodec codec;
};
// With timers a test can wait for. `answer`: how long to wait for that of a keep-alive; long where
// no test is about it, since a busy machine may not answer for a while.
inline TestProtocol test_protocol(bool nvme, Duration hold, Duration answer = Duration::s(5)) {
    TestProtocol p{nvme ? "NVMe/TCP" : "iSCSI", nvme ? nvme_tcp() : iscsi(open_iscsi()), {}};
    SessionTimers& t = p.profile.timers;
    t.command = t.abort = t.connect = Duration::s(5);
    t.reconnect = Duration::ms(10);
    t.hold = hold;
    t.removal = {};
    t.keep_alive = Duration::ms(50);
    t.keep_alive_answer = answer;
    t.silence = Duration::s(10);
    if (nvme) p.codec = [q = p.profile] { return std::make_unique<NvmeTcpCodec>(q, sector); };
    else p.codec = [q = p.profile] { return std::make_unique<IscsiCodec>(q, sector); };
    return p;
}

struct TestFolder {
    std::filesystem::path path;
    TestFolder() {
        std::string pattern = std::filesystem::temp_directory_path() / "storlab-sockets-XXXXXX";
        REQUIRE(::mkdtemp(pattern.data()));
        path = pattern;
    }
    ~TestFolder() { std::filesystem::remove_all(path); }
};

// Runs a function in a process of its own, which can tell us things through a pipe.
class Process {
public:
    explicit Process(const std::function<void(int tell)>& program) {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            // Not one socket of ours may live on in the child.
            const auto tell = static_cast<unsigned>(ends[1]);
            ::close_range(3, tell - 1, 0);
            ::close_range(tell + 1, ~0u, 0);
            try {
                program(ends[1]);
            } catch (...) { ::_exit(1); }
            ::_exit(0);
        }
        ::close(ends[1]);
        hear_ = ends[0];
    }
    ~Process() {
        kill();
        ::close(hear_);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void signal(int number) const { ::kill(pid_, number); }
    void kill() {
        if (pid_ < 0) return;
        signal(SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    pid_t pid() const { return pid_; }
    template <class T> bool hear(T& value) const { // false: it has ended, or says nothing for 10 s
        pollfd p{hear_, POLLIN, 0};
        return ::poll(&p, 1, 10'000) == 1 && ::read(hear_, &value, sizeof value) == sizeof value;
    }
    template <class T> static void tell(int pipe, const T& value) {
        if (::write(pipe, &value, sizeof value) != sizeof value) ::_exit(1);
    }
    size_t open_files() const {
        size_t n = 0;
        const std::string folder = "/proc/" + std::to_string(pid_) + "/fd";
        for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder)) n++;
        return n;
    }

private:
    pid_t pid_ = -1;
    int hear_ = -1;
};

// A target with one unit, a file, at a free port.
class TargetProcess {
public:
    TargetProcess(const TestProtocol& p, const std::string& file)
        : process_([&](int tell) {
              RealWorld world;
              FileDevice disk(world, {file, disk_sectors, Bytes(sector)});
              FreeCpu cpu(world);
              Sockets sockets(world);
              Target target(world, p.profile, {});
              target.add_unit(unit_number, disk, cpu);
              Process::tell(tell,
                            sockets.listen(0, p.codec, [&](Connection& c) { target.accept(c); }));
              world.run();
          }) {
        REQUIRE(process_.hear(port_));
    }
    uint16_t port() const { return port_; }
    Process& process() { return process_; }

private:
    Process process_;
    uint16_t port_ = 0;
};

} // namespace storlab
