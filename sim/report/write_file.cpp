#include "sim/report/write_file.hpp"
#include "sim/base/error.hpp"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace storlab {

namespace {

[[noreturn]] void cannot(const std::string& path, const char* step, int error) {
    throw WriteError(fmt::format("{}: cannot {} this file: {}", path, step, std::strerror(error)));
}

void put(int fd, const std::string& path, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) cannot(path, "write", errno);
        text.remove_prefix(static_cast<size_t>(written));
    }
}

// The open temporary file; it is removed unless it was renamed.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& target)
        : target_(target), path_(fmt::format("{}.{}.tmp", target, getpid())) {
        fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd_ < 0) cannot(target_, "write", errno);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (fd_ >= 0) close(fd_);
        if (!renamed_) unlink(path_.c_str());
    }
    void write_all(std::string_view text) { put(fd_, target_, text); }
    void rename_over_target() {
        // Some file systems rename before the data is down: an empty file after a power cut.
        if (fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) cannot(target_, "flush", errno);
        const int closed = close(fd_);
        fd_ = -1;
        if (closed != 0) cannot(target_, "close", errno);
        if (rename(path_.c_str(), target_.c_str()) != 0) cannot(target_, "replace", errno);
        renamed_ = true;
    }

private:
    const std::string& target_;
    std::string path_;
    int fd_ = -1;
    bool renamed_ = false;
};

} // namespace

namespace {
// A link stays a link: the file it points to is replaced.
std::string target_of(const std::string& path) {
    std::error_code ignored; // what cannot be looked at fails at the step that needs it
    return std::filesystem::is_symlink(path, ignored)
               ? std::filesystem::weakly_canonical(path, ignored).string()
               : path;
}
bool is_stream(const std::string& target) {
    std::error_code ignored;
    return std::filesystem::is_other(std::filesystem::status(target, ignored));
}
} // namespace

void check_writable(const std::string& path) {
    if (path.empty()) return;
    const std::string target = target_of(path);
    std::error_code ignored;
    if (std::filesystem::is_directory(target, ignored))
        throw InputError({path, 0, 0}, "is a folder; expected the name of a file to write");
    try {
        // Not a pipe: opening it would wait for its reader.
        if (!is_stream(target)) TemporaryFile{target};
        else if (access(target.c_str(), W_OK) != 0) cannot(path, "write", errno);
    } catch (const WriteError& error) {
        throw InputError({path, 0, 0}, std::string(error.what()).substr(target.size() + 2));
    }
}

void write_whole_file(const std::string& path, std::string_view text) {
    const std::string target = target_of(path);
    // A pipe or /dev/stdout is written through: renaming over it would put a file in its place.
    if (is_stream(target)) {
        std::FILE* stream = std::fopen(target.c_str(), "wb");
        if (stream == nullptr) cannot(path, "write", errno);
        const bool whole = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
        const int error = errno;
        if (std::fclose(stream) != 0 || !whole) cannot(path, "write", whole ? errno : error);
        return;
    }
    TemporaryFile file(target);
    file.write_all(text);
    file.rename_over_target();
}

} // namespace storlab
