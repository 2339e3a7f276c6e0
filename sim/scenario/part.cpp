#include "sim/scenario/part.hpp"
#include "sim/scenario/part_values.hpp"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace storlab {

struct Part::State {
    std::string name, file, kind, title;
    std::map<std::string, PartValue, std::less<>> values;
    std::vector<PartFact> facts;
    std::set<std::string, std::less<>> read;
    ComplaintsPtr complaints;

    void scale(const ScaledValue& s);
    std::vector<std::string> value_names() const {
        std::vector<std::string> names;
        for (const auto& [name_, value] : values) names.push_back(name_);
        return names;
    }
};

namespace {

// One value of a part's file, with what its origin owes the reader.
PartValue read_value(const Node::Entry& entry) {
    PartValue v;
    v.place = entry.key_place;
    Fields fields = entry.value.map();
    v.value = fields.required("value").renamed(entry.value.path());
    v.from = fields.required("from").as_one_of(
        {"assumed", "datasheet", "measured", "derived", "fitted"}, "assumed");
    v.source = fields.optional("source").as_text();
    v.range = fields.optional("range").as_text();
    v.note = fields.optional("note").as_text();
    v.residual = fields.optional("residual").as_text();
    for (const Node& row : fields.optional("rows").items()) v.rows.push_back(row.as_text());
    fields.finish();
    if (!entry.value.is_map()) return v;

    const auto owes = [&](bool missing, std::string_view what) {
        if (missing)
            entry.value.complain(entry.key + " is " + v.from + " and needs " + std::string(what));
    };
    const bool arithmetic = v.note.find_first_of("0123456789") != std::string::npos;
    if (v.from == "fitted") {
        owes(v.rows.empty(), "'rows': the published rows it was fitted to");
        owes(v.range.empty(), "'range': what would be plausible");
        owes(v.residual.empty(), "'residual': how well it fits them");
    }
    if (v.from == "derived") owes(!arithmetic, "its arithmetic in 'note'");
    if (v.from == "datasheet" || v.from == "measured") owes(v.source.empty(), "'source'");
    return v;
}
std::vector<PartFact> read_facts(const Node& list, const std::string& part) {
    std::vector<PartFact> facts;
    for (const Node& item : list.items()) {
        Fields fields = item.map();
        facts.push_back({part, fields.required("fact").as_text(),
                         fields.required("value").as_text(), fields.required("source").as_text()});
        fields.finish();
    }
    return facts;
}

} // namespace

const std::string& Part::name() const {
    static const std::string none;
    return state_ ? state_->name : none;
}
const std::string& Part::kind() const {
    static const std::string none;
    return state_ ? state_->kind : none;
}
const std::string& Part::title() const {
    static const std::string none;
    return state_ ? state_->title : none;
}
const std::map<std::string, PartValue, std::less<>>& Part::values() const {
    static const std::map<std::string, PartValue, std::less<>> none;
    return state_ ? state_->values : none;
}
const std::vector<PartFact>& Part::facts() const {
    static const std::vector<PartFact> none;
    return state_ ? state_->facts : none;
}
bool Part::was_read(std::string_view value) const { return state_ && state_->read.contains(value); }
bool Part::has(std::string_view value) const { return state_ && state_->values.contains(value); }

const PartValue* Part::find(std::string_view value) const {
    if (!state_) return nullptr;
    const bool again = !state_->read.emplace(value).second;
    const auto found = state_->values.find(value);
    if (found != state_->values.end()) return &found->second;
    const std::vector<std::string> known = values_known_of(*this);
    STORLAB_ENSURE(known.empty() || std::find(known.begin(), known.end(), value) != known.end());
    if (!again)
        state_->complaints->add({state_->file, 0, 0},
                                "a part of kind " + state_->kind + " needs the value " +
                                    in_quotes(value) + did_you_mean(value, state_->value_names()));
    return nullptr;
}

template <class T, class Parse> T Part::read(std::string_view name, Parse parse) const {
    const PartValue* v = find(name);
    if (!v || !v->value) return T{};
    if (!v->value.is_scalar())
        return v->value.complain(v->value.name() + " must be a single value"), T{};
    try {
        const T value = parse(v->value.as_text(), v->value.place());
        const size_t dots = v->range.find("..");
        if (dots == std::string::npos) return value;
        const T low = parse(v->range.substr(0, dots), v->place);
        const T high = parse(v->range.substr(dots + 2), v->place);
        if (value < low || high < value)
            throw InputError(v->value.place(), std::string(name) + " is " + v->value.as_text() +
                                                   ", outside its own range " + v->range);
        return value;
    } catch (const InputError& error) {
        state_->complaints->add(error);
        return T{};
    }
}

Bytes Part::size(std::string_view value) const {
    const std::string_view usual = value.ends_with("capacity") ? "TB" : "KiB";
    return read<Bytes>(value, [&](std::string_view text, const SourcePlace& place) {
        return parse_size(text, place, usual);
    });
}
Duration Part::duration(std::string_view value) const {
    return read<Duration>(value, parse_duration);
}
Rate Part::rate(std::string_view value) const {
    return read<Rate>(value, [](std::string_view text, const SourcePlace& place) {
        return parse_rate(text, place, "GB/s");
    });
}
Hertz Part::frequency(std::string_view value) const { return read<Hertz>(value, parse_frequency); }
int64_t Part::cycles(std::string_view value) const { return read<int64_t>(value, parse_cycles); }
Duration Part::cost(std::string_view value, Hertz clock) const {
    return read<Duration>(value, [&](std::string_view text, const SourcePlace& place) {
        return parse_cost(text, clock, place);
    });
}
double Part::fraction(std::string_view value) const { return read<double>(value, parse_fraction); }
double Part::factor(std::string_view value) const { return read<double>(value, parse_factor); }
int64_t Part::count(std::string_view value, Between limits) const {
    const auto parse = [&](std::string_view text, const SourcePlace& place) {
        const int64_t n = parse_count(text, place);
        if (limits.contains(n)) return n;
        throw InputError(place, std::string(value) + " is " + std::to_string(n) + "; expected " +
                                    limits.in_words());
    };
    return std::max(limits.min, read<int64_t>(value, parse));
}
bool Part::flag(std::string_view value) const { return node(value).as_bool(); }
std::string Part::text(std::string_view value) const { return node(value).as_text(); }
std::string Part::one_of(std::string_view value, std::initializer_list<std::string> words) const {
    return node(value).as_one_of(words, *words.begin());
}
Node Part::node(std::string_view value) const {
    const PartValue* v = find(value);
    return v ? v->value : Node();
}

bool Part::require_kind(std::string_view kind, const SourcePlace& place) const {
    if (!state_ || state_->kind == kind) return state_ != nullptr;
    state_->complaints->add(place, "part " + in_quotes(state_->name) + " is of kind " +
                                       state_->kind + "; expected " + std::string(kind));
    return false;
}

void Part::override_from(Fields& fields) {
    if (!state_) return;
    for (const Node::Entry& entry : fields.rest()) {
        const auto found = state_->values.find(entry.key);
        if (found == state_->values.end()) continue;
        fields.take(entry.key);
        found->second = {};
        found->second.value = entry.value;
        found->second.place = entry.key_place;
        found->second.from = "scenario";
    }
    for (const auto& [name, value] : state_->values) fields.also_known(name);
}

void Part::check_names() const {
    const std::vector<std::string> known = values_known_of(*this);
    if (known.empty()) return;
    for (const auto& [name, value] : state_->values)
        if (std::find(known.begin(), known.end(), name) == known.end())
            state_->complaints->add(value.place, "unknown value " + in_quotes(name) +
                                                     " in a part of kind " + state_->kind +
                                                     did_you_mean(name, known));
}

void Part::State::scale(const ScaledValue& s) {
    const auto found = values.find(s.value);
    if (found == values.end() || !found->second.value.is_scalar()) return;
    PartValue& v = found->second;
    if (const auto text = scaled_text(v.value.as_text(), s.by))
        v.value = load_text("v: " + *text, file, complaints).map().required("v");
    v.range.clear(); // what is plausible is not the question here
}

std::optional<std::string> scaled_text(std::string_view text, double by) {
    const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    if (end == 0) return std::nullopt;
    const std::string number(text.substr(0, end)), unit(text.substr(end));
    const double old = std::strtod(number.c_str(), nullptr);
    double now = old * by;
    const bool whole = unit.empty() || unit == " cycles" || unit == " B" || unit == "B";
    if (whole && number.find('.') == std::string::npos) {
        now = std::round(now);
        if (now == old && by != 1) now += by > 1 ? 1 : -1;
    }
    return fmt::format("{:.12g}{}", now, unit);
}

Catalogue::Catalogue(std::string folder, ComplaintsPtr complaints,
                     std::optional<ScaledValue> scaled)
    : folder_(std::move(folder)), complaints_(std::move(complaints)), scaled_(std::move(scaled)) {
    std::error_code error;
    if (!std::filesystem::is_directory(folder_, error))
        throw InputError({folder_, 0, 0}, "is no folder of parts");
}

std::vector<std::string> Catalogue::names() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(folder_, error))
        if (file.path().extension() == ".yaml") names.push_back(file.path().stem().string());
    std::sort(names.begin(), names.end(), natural_less);
    return names;
}

std::vector<std::string> Catalogue::names_of_kinds(std::span<const std::string_view> kinds) const {
    const Catalogue quiet(folder_, new_complaints()); // what is wrong with others is not asked for
    std::vector<std::string> names = quiet.names();
    std::erase_if(names, [&](const std::string& name) {
        return std::find(kinds.begin(), kinds.end(), quiet.find(name, {}).kind()) == kinds.end();
    });
    return names;
}

Part Catalogue::find(std::string_view name, const SourcePlace& place,
                     std::span<const std::string_view> kinds) const {
    const std::vector<std::string> known = names();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
        std::string hint = did_you_mean(name, known);
        if (hint.empty() && !kinds.empty()) hint = "; there is " + joined(names_of_kinds(kinds));
        complaints_->add(place, "no part " + in_quotes(name) + hint);
        return {};
    }
    Part part;
    part.state_ = std::make_shared<Part::State>();
    part.state_->complaints = complaints_;
    std::vector<std::string> chain;
    if (!load(std::string(name), place, chain, part)) return {};
    part.check_names();
    if (scaled_ && scaled_->part == name) part.state_->scale(*scaled_);
    return part;
}

// `part` arrives with nothing; a file it is like fills it first.
bool Catalogue::load(const std::string& name, const SourcePlace& wanted_at,
                     std::vector<std::string>& chain, Part& part) const {
    const std::vector<std::string> known = names();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
        complaints_->add(wanted_at, "no part " + in_quotes(name) + did_you_mean(name, known));
        return false;
    }
    if (std::find(chain.begin(), chain.end(), name) != chain.end()) {
        complaints_->add(wanted_at, "part " + in_quotes(name) + " is like itself");
        return false;
    }
    chain.push_back(name);
    Node root;
    try {
        root = load_file(folder_ + "/" + name + ".yaml", complaints_).renamed(name);
    } catch (const InputError& error) {
        complaints_->add(error);
        return false;
    }
    if (!root.is_map()) return root.map().finish(), false;

    Fields fields = root.map();
    Part::State& state = *part.state_;
    const Node like = fields.optional("like");
    if (like && !load(like.as_text(), like.place(), chain, part)) return false;
    state.name = name;
    state.file = root.place().file;
    state.title = fields.required("title").as_text();
    const Node kind = like ? fields.optional("kind") : fields.required("kind");
    if (kind && like && kind.as_text() != state.kind)
        kind.complain(name + " is like a part of another kind, " + state.kind);
    state.kind = kind.as_text(state.kind);
    fields.optional("about");
    if (const Node facts = fields.optional("facts")) state.facts = read_facts(facts, name);
    for (const Node::Entry& entry : fields.rest()) {
        state.values[entry.key] = read_value(entry);
        state.values[entry.key].part = name;
    }
    return true;
}

} // namespace storlab
