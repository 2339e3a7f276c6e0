// The options of fio job files: which ones storlab models and how each is read, which ones leave
// the workload as it is, and which ones would change it. Inside the job file reader only.
#pragma once
#include "models/workload/fio/values.hpp"
#include <map>

namespace storlab::fio {

struct Setting { // one line of a section
    std::string key;
    std::optional<std::string> value; // none: the key stands alone
    SourcePlace key_place;
    SourcePlace value_place;
    bool as_written = true; // no ${VAR} or $keyword was replaced
};

// A job while its section is read. Sizes are kept apart because fio ranks them: bsrange beats bs
// and bssplit beats bs wherever they stand (measured, fio 3.33).
struct Draft {
    Job job;
    KbBase base = KbBase::k1024;
    PerDirection<std::optional<Bytes>> bs;
    PerDirection<std::optional<std::pair<Bytes, Bytes>>> bsrange;
    PerDirection<std::vector<SizeShare>> bssplit;
    std::map<std::string, SourcePlace> places; // of the values, by canonical key
};

enum class KeyKind { modelled, ignored, unmodelled, unknown };
KeyKind kind_of(const std::string& key); // aliases included
std::string canonical(const std::string& key);
std::string unknown_key(const std::string& key); // the complaint, with the nearest known key
// The one value that leaves the workload as it is, for keys of KeyKind::unmodelled.
bool is_neutral(const std::string& key, const std::optional<std::string>& value);
std::string not_modelled(const std::string& key);

// Reads one modelled setting into the draft; throws InputError.
void apply(const Setting& setting, Draft& draft, std::vector<Remark>& notes);
// What can be checked only when the section is complete; also composes the block sizes.
Job finish(const Draft& draft, std::vector<Remark>& notes, Complaints& complaints);

} // namespace storlab::fio
