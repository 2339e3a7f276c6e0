#include "models/workload/fio/job_file.hpp"
#include "models/workload/fio/expand.hpp"
#include "models/workload/fio/options.hpp"
#include <set>
#include <utility>

namespace storlab::fio {
namespace {

constexpr std::string_view blanks = " \t\v\f";

struct Section {
    std::string name;
    SourcePlace place;
    std::vector<Setting> settings;
};

// Lines to sections; the only part that knows the syntax.
class Reader {
public:
    Reader(const Surroundings& around, Complaints& complaints)
        : around_(around), complaints_(complaints) {}
    std::vector<Section> sections;

    void read(std::string_view text, const std::string& file, int depth) {
        if (text.size() > max_file)
            return complaints_.add({file, 0, 0}, "has " + std::to_string(text.size()) +
                                                     " bytes; expected at most " +
                                                     std::to_string(max_file));
        if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
        SourcePlace place{file, 0, 0};
        while (!text.empty() && complaints_.all().size() < max_complaints) {
            const size_t end = text.find('\n');
            std::string_view line = text.substr(0, end);
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
            place.line++;
            if (line.ends_with('\r')) line.remove_suffix(1);
            try {
                read_line(line, place, depth);
            } catch (const InputError& error) { complaints_.add(error); }
        }
    }

private:
    void read_line(std::string_view line, SourcePlace place, int depth) {
        const size_t first = line.find_first_not_of(blanks);
        if (first == std::string_view::npos || line[first] == ';' || line[first] == '#') return;
        place.column = static_cast<int>(first) + 1;
        line = line.substr(first, line.find_last_not_of(blanks) + 1 - first);
        for (const char c : line)
            if (static_cast<unsigned char>(c) < ' ' && c != '\t')
                throw InputError(place, "holds a control character; this is no job file");
        if (line[0] == '[') return open_section(line, place, depth);
        if (sections.empty()) throw InputError(place, "stands before the first [section]");
        if (line.starts_with("include") && line.size() > 7 && blanks.find(line[7]) != blanks.npos)
            return include(line, place, depth);
        add_setting(line, place);
    }
    void open_section(std::string_view line, const SourcePlace& place, int depth) {
        if (depth > 0)
            throw InputError(place, "opens a section, which an included file may not do");
        if (line.back() != ']') throw InputError(place, "has no ']' at the end of the line");
        const std::string_view name = line.substr(1, line.size() - 2);
        constexpr size_t longest = 255; // as in fio
        if (name.find_first_not_of(blanks) == std::string_view::npos || name.size() > longest)
            throw InputError(place, "names no job; expected 1 to 255 characters in [ ]");
        if (sections.size() == max_jobs)
            throw InputError(place, "is one section too many; expected at most " +
                                        std::to_string(max_jobs));
        sections.push_back({std::string(name), place, {}});
    }
    void include(std::string_view line, SourcePlace place, int depth) {
        const size_t at = line.find_first_not_of(blanks, 7);
        const std::string name(line.substr(at));
        place.column += static_cast<int>(at);
        if (depth == max_include_depth)
            throw InputError(place, "includes " + quoted(name) + " at depth " +
                                        std::to_string(depth + 1) + "; expected at most " +
                                        std::to_string(max_include_depth) +
                                        " (does a file include itself?)");
        if (++includes_ > max_includes)
            throw InputError(place, "is one include too many; expected at most " +
                                        std::to_string(max_includes));
        const auto text = around_.read_file ? around_.read_file(name) : std::nullopt;
        if (!text) throw InputError(place, "includes " + quoted(name) + ", which cannot be read");
        read(*text, name, depth + 1);
    }
    void add_setting(std::string_view line, const SourcePlace& place) {
        Setting setting;
        setting.key_place = setting.value_place = place;
        const size_t equals = line.find('=');
        const std::string_view key = line.substr(0, equals);
        setting.key = key.substr(0, key.find_last_not_of(blanks) + 1);
        if (setting.key.empty()) throw InputError(place, "has no key in front of '='");
        if (equals != std::string_view::npos) {
            const std::string_view value = line.substr(equals + 1);
            setting.value_place.column += static_cast<int>(equals) + 1;
            if (!value.empty() && blanks.find(value[0]) != blanks.npos)
                throw InputError(setting.value_place,
                                 "has a blank after '='; fio would misread the "
                                 "value (' 8k' is 8 bytes), so remove it");
            Expanded expanded = expand(value, setting.value_place, around_);
            if (expanded.text.empty())
                throw InputError(
                    setting.value_place,
                    quoted(setting.key) + " has no value" +
                        (expanded.unset.empty()
                             ? ""
                             : ": ${" + expanded.unset.substr(0, 40) + "} is not set"));
            setting.as_written = !expanded.changed;
            setting.value = std::move(expanded.text);
        }
        sections.back().settings.push_back(std::move(setting));
    }

    const Surroundings& around_;
    Complaints& complaints_;
    int includes_ = 0;
};

// Sections to jobs.
class Builder {
public:
    Builder(JobFile& file, Complaints& complaints) : file_(file), complaints_(complaints) {}

    void add(const Section& section) {
        // fio compares only the first six letters of the name.
        const bool global = section.name.starts_with("global");
        if (global && section.name != "global")
            file_.notes.push_back({section.place, section.name,
                                   "starts with 'global': to fio this is a [global] section"});
        Draft draft = defaults_;
        if (!global) draft.job.name = section.name, draft.job.place = section.place;
        // kb_base counts for the whole section, wherever it stands.
        for (const Setting& s : section.settings)
            if (s.key == "kb_base") take(s, draft);
        std::set<std::string> seen;
        for (const Setting& s : section.settings) {
            if (complaints_.all().size() >= max_complaints) return;
            if (!seen.insert(canonical(s.key)).second)
                file_.notes.push_back({s.key_place, s.key, std::string(given_twice)});
            if (s.key != "kb_base") take(s, draft);
        }
        if (global) defaults_ = std::move(draft);
        else file_.jobs.push_back(finish(draft, file_.notes, complaints_));
    }

private:
    void take(const Setting& setting, Draft& draft) {
        switch (kind_of(setting.key)) {
        case KeyKind::modelled: try { apply(setting, draft, file_.notes);
            } catch (const InputError& error) { complaints_.add(error); }
            return;
        case KeyKind::unmodelled:
            if (!is_neutral(setting.key, setting.value))
                return complaints_.add(setting.key_place, not_modelled(setting.key));
            [[fallthrough]];
        case KeyKind::ignored:
            file_.ignored.push_back({setting.key_place, setting.key, ""});
            return;
        case KeyKind::unknown: complaints_.add(setting.key_place, unknown_key(setting.key));
        }
    }

    JobFile& file_;
    Complaints& complaints_;
    Draft defaults_;
};

// What a [global] section has wrong is found again in every job below it.
std::vector<Remark> without_repeats(std::vector<Remark> remarks) {
    std::set<std::string> seen;
    std::vector<Remark> out;
    for (Remark& r : remarks)
        if (seen.insert(to_string(r.where) + r.key + r.text).second) out.push_back(std::move(r));
    return out;
}
Complaints without_repeats(const Complaints& complaints) {
    std::set<std::string> seen;
    Complaints out;
    for (const Complaint& c : complaints.all())
        if (seen.insert(to_string(c)).second) out.add(c.where, c.what);
    return out;
}

} // namespace

JobFile parse(std::string_view text, const std::string& file_name,
              const Surroundings& surroundings) {
    Complaints complaints;
    Reader reader(surroundings, complaints);
    reader.read(text, file_name, 0);
    JobFile file;
    Builder builder(file, complaints);
    for (const Section& section : reader.sections) builder.add(section);
    if (complaints.all().size() >= max_complaints)
        complaints.add({file_name, 0, 0}, "has too many errors; the rest was not read");
    if (complaints.empty() && file.jobs.empty())
        complaints.add({file_name, 0, 0},
                       "holds no job; expected a [section] that is not [global]");
    without_repeats(complaints).throw_if_any();
    file.notes = without_repeats(std::move(file.notes));
    return file;
}

} // namespace storlab::fio
