// Writes a whole file or nothing: the text goes to a temporary file in the same folder, is flushed
// to the drive and renamed over the target, so a reader sees the old file or the new one, never
// half. Left out: creation of folders (a mistyped path should be an error, not a new folder).
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace storlab {

// A result that is there and could not be kept, say because the drive is full.
struct WriteError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// WriteError naming the path when it cannot be written; the temporary file is then gone again.
void write_whole_file(const std::string& path, std::string_view text);
// Before the work whose result goes there: InputError if it could not. An empty path is none.
void check_writable(const std::string& path);

} // namespace storlab
