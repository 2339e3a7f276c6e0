#include "sim/base/error.hpp"
#include "sim/report/write_file.hpp"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace storlab;
namespace fs = std::filesystem;

namespace {

struct Folder {
    fs::path path = fs::temp_directory_path() / ("storlab_write_file_" + std::to_string(getpid()));
    Folder() { fs::create_directory(path); }
    ~Folder() { fs::remove_all(path); }
    size_t files() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(path), {}));
    }
};

std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("a file is written whole, replaced whole, and nothing else is left behind") {
    Folder folder;
    const auto path = folder.path / "run.json";
    const std::string large(3'000'000, 'x');
    write_whole_file(path, large);
    CHECK(content(path) == large);
    write_whole_file(path, std::string_view("a\0b\n", 4));
    CHECK(content(path) == std::string("a\0b\n", 4));
    write_whole_file(path, "");
    CHECK(content(path).empty());
    CHECK(folder.files() == 1);
}

TEST_CASE("whoever has the old file open keeps reading the old text") {
    Folder folder;
    const auto path = folder.path / "run.json";
    write_whole_file(path, "old text");
    std::ifstream reader(path);
    write_whole_file(path, "new");
    std::string seen;
    std::getline(reader, seen);
    CHECK(seen == "old text");
    CHECK(content(path) == "new");
}

TEST_CASE("a file that cannot be written is an input error before the work, and a failure after") {
    Folder folder;
    for (const fs::path& path : {folder.path / "missing" / "run.json", folder.path}) {
        try {
            check_writable(path);
            FAIL("writable: " << path);
        } catch (const InputError& error) {
            CHECK(error.complaints()[0].where.file == path.string());
        }
        try {
            write_whole_file(path, "text");
            FAIL("written to " << path);
        } catch (const WriteError& error) {
            CHECK(std::string(error.what()).find(path.string() + ": cannot") == 0);
        }
    }
    check_writable(folder.path / "new");
    check_writable("");
    check_writable("/dev/null");
    CHECK(folder.files() == 0); // no temporary file either
    CHECK_FALSE(fs::exists(folder.path.string() + "." + std::to_string(getpid()) + ".tmp"));
}

TEST_CASE("a link keeps pointing to its file, and a device is written through") {
    Folder folder;
    const auto file = folder.path / "file", link = folder.path / "link";
    write_whole_file(file, "old");
    fs::create_symlink(file, link);
    write_whole_file(link, "new");
    CHECK(fs::is_symlink(link));
    CHECK(content(file) == "new");
    write_whole_file("/dev/null", "text");
    CHECK(fs::is_character_file("/dev/null"));
}
