// The list-shaped values of fio options: comma lists by direction, bssplit, bsrange, zones, CPUs.
// Inside the job file reader only. Every function throws InputError with the place of the bad
// piece.
#pragma once
#include "models/workload/fio/job_file.hpp"
#include "models/workload/fio/units.hpp"
#include <utility>

namespace storlab::fio {

// A piece of text and where it stands in the file.
struct Text {
    std::string_view text;
    SourcePlace where;
    bool as_written = true; // false once ${VAR} was put in: columns then stay at the value's start
    Text sub(size_t from, size_t count = std::string_view::npos) const;
};
std::vector<Text> split(const Text& list, char separator);

// What values need from their section: the unit base, and a place for notes.
struct Context {
    KbBase base = KbBase::k1024;
    std::string key;
    std::vector<Remark>* notes = nullptr;
    void note(const SourcePlace& where, std::string text) const;
};
int64_t number(const Text& value, const Context& context);
int64_t number_within(const Text& value, const Context& context, int64_t low, int64_t high);
Bytes block_size(const Text& value, const Context& context); // 1 to max_block
Extent extent(const Text& value, const Context& context);    // 10g or 20%
std::pair<Bytes, Bytes> block_range(const Text& value, const Context& context);
std::vector<SizeShare> size_shares(const Text& value, const Context& context);
Distribution distribution(const Text& value, const Context& context);
std::vector<int> cpu_list(const Text& value);
std::vector<std::string> file_list(const Text& value);

// read,write,trim: one entry holds for all; an empty one leaves its direction as it was. Calls
// `set(is_write, piece)`; an entry for trims is checked by `set_trim(piece)`, then dropped.
template <class Set, class Check> void by_direction(const Text& value, Set set, Check set_trim) {
    const std::vector<Text> pieces = split(value, ',');
    if (pieces.size() > 3)
        throw InputError(pieces[3].where, "has more than three entries; expected read,write,trim");
    bool any = false;
    for (size_t i = 0; i < pieces.size(); i++) {
        if (pieces[i].text.empty()) continue;
        any = true;
        if (i == 2) set_trim(pieces[i]);
        else set(i == 1, pieces[i]);
        if (pieces.size() == 1) set(true, pieces[i]);
    }
    if (!any) throw InputError(value.where, "names no value for any direction");
}

} // namespace storlab::fio
