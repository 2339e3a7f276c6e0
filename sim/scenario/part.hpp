// The catalogue: one YAML file a part one can buy or install (a drive, a server, a RAID engine), in
// which every value says where it comes from, e.g. t_read: {value: 62us, from: assumed, range:
// ...}. `fitted` needs rows, range and residual, `derived` its arithmetic in note, `datasheet` and
// `measured` a source. `like: other-part` starts from another file. A scenario may override a
// value. Which values a part of a kind has is said in part_values.cpp.
#pragma once
#include "sim/scenario/node.hpp"
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

struct PartValue {
    Node value;
    SourcePlace place; // of its name
    std::string part;  // in whose file it stands: this one's or that of one it is like
    std::string from; // assumed, datasheet, measured, derived, fitted; scenario if overridden there
    std::string source, range, note, residual;
    std::vector<std::string> rows; // published rows it was fitted to
};

struct PartFact {     // known, shown, read by no model
    std::string part; // as of a value
    std::string fact, value, source;
};

// A handle: copies share the overrides and the record of what was read. A part that was not found
// is false; its getters return defaults silently, because find() has complained.
class Part {
public:
    Part() = default;
    explicit operator bool() const { return state_ != nullptr; }
    const std::string& name() const;
    const std::string& kind() const;
    const std::string& title() const;
    const std::map<std::string, PartValue, std::less<>>& values() const;
    const std::vector<PartFact>& facts() const;
    bool was_read(std::string_view value) const;

    // Each complains if the part has no such value, if it reads wrongly or if it leaves its range.
    Bytes size(std::string_view value) const;
    Duration duration(std::string_view value) const;
    Rate rate(std::string_view value) const;
    Hertz frequency(std::string_view value) const;
    int64_t cycles(std::string_view value) const;
    Duration cost(std::string_view value, Hertz clock) const; // cycles at the clock, or a duration
    double fraction(std::string_view value) const;
    double factor(std::string_view value) const;
    int64_t count(std::string_view value, Between limits = {1}) const;
    bool flag(std::string_view value) const;
    std::string text(std::string_view value) const;
    std::string one_of(std::string_view value, std::initializer_list<std::string> words) const;
    Node node(std::string_view value) const; // the bare value, counted as read
    bool has(std::string_view value) const;  // for values a part may leave out

    // The part must be of this kind: "ssd".
    bool require_kind(std::string_view kind, const SourcePlace& place) const;
    // Takes from `fields` every key nobody asked for that names a value of this part. What is left
    // is for fields.finish() to complain about.
    void override_from(Fields& fields);

private:
    friend class Catalogue;
    struct State;
    const PartValue* find(std::string_view value) const; // or complains, or is absent
    void check_names() const;
    template <class T, class Parse> T read(std::string_view value, Parse parse) const;
    std::shared_ptr<State> state_;
};

// A value of a part as if it were larger or smaller, for the question how much depends on it.
struct ScaledValue {
    std::string part, value;
    double by = 1;
};

class Catalogue {
public:
    Catalogue(std::string folder, ComplaintsPtr complaints,
              std::optional<ScaledValue> scaled = std::nullopt);
    std::vector<std::string> names() const; // sorted
    std::vector<std::string> names_of_kinds(std::span<const std::string_view> kinds) const;
    // Complains at `place` if there is no such part, with those of the wanted kinds. Each call is
    // a fresh copy.
    Part find(std::string_view name, const SourcePlace& place,
              std::span<const std::string_view> kinds = {}) const;

private:
    bool load(const std::string& name, const SourcePlace& wanted_at,
              std::vector<std::string>& chain, Part& part) const;
    std::string folder_;
    ComplaintsPtr complaints_;
    std::optional<ScaledValue> scaled_;
};
// A quantity as it is written, times a factor: "4600 cycles" by 1.2 is "5520 cycles". What counts
// in whole numbers changes by one at least. None if there is no number in front.
std::optional<std::string> scaled_text(std::string_view text, double by);

} // namespace storlab
