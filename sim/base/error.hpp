// What is wrong with something a user gave us. A message always says where (file:line:column),
// what was found and what was expected; all complaints about one input are reported together.
// Faults of the program itself are assertions (ensure), which stay on in release builds.
#pragma once
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

struct SourcePlace { // lines and columns count from 1; 0 means "the file as a whole"
    std::string file;
    int line = 0;
    int column = 0;
};
std::string to_string(const SourcePlace& place);

struct Complaint {
    SourcePlace where;
    std::string what;
};
std::string to_string(const Complaint& complaint); // "file:line:column: error: what"

class InputError : public std::exception {
public:
    explicit InputError(std::vector<Complaint> complaints);
    InputError(SourcePlace where, std::string what);
    std::span<const Complaint> complaints() const { return complaints_; }
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::vector<Complaint> complaints_;
    std::string text_; // one line a complaint
};

// Gathers complaints while an input is read, so that one pass reports them all.
class Complaints {
public:
    void add(SourcePlace where, std::string what);
    void add(const InputError& error);
    bool empty() const { return all_.empty(); }
    std::span<const Complaint> all() const { return all_; }
    void throw_if_any() const; // InputError, sorted by place

private:
    std::vector<Complaint> all_;
};

// The candidate closest to what was written, if it is close enough to be a typing slip.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);
// "; did you mean 'x'?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

[[noreturn]] void broken(const char* condition, const char* file, int line);

} // namespace storlab

// An invariant of the program. Never reachable from user input.
#define STORLAB_ENSURE(condition)                                                                  \
    ((condition) ? void(0) : ::storlab::broken(#condition, __FILE__, __LINE__))
