#include "models/workload/fio/expand.hpp"
#include "models/workload/fio/units.hpp"
#include <array>
#include <charconv>

namespace storlab::fio {
namespace {

class Sum {
public:
    Sum(std::string_view text, const SourcePlace& where) : text_(text), where_(where) {}
    int64_t value() {
        const int64_t v = terms(0);
        if (at_ != text_.size()) fail("is no sum of whole numbers");
        return v;
    }

private:
    static constexpr int deepest = 32; // parentheses in each other: bounds the recursion
    [[noreturn]] void fail(const std::string& why) const {
        throw InputError(where_, quoted(text_) + " " + why);
    }
    char peek() {
        while (at_ < text_.size() && text_[at_] == ' ') at_++;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    int64_t terms(int depth) {
        int64_t sum = factors(depth);
        for (char op; (op = peek()) == '+' || op == '-';) {
            at_++;
            const int64_t term = factors(depth);
            const bool overflow = op == '+' ? __builtin_add_overflow(sum, term, &sum)
                                            : __builtin_sub_overflow(sum, term, &sum);
            if (overflow) fail("is too large: above 2^63");
        }
        return sum;
    }
    int64_t factors(int depth) {
        int64_t product = factor(depth);
        for (char op; (op = peek()) == '*' || op == '/';) {
            at_++;
            const int64_t by = factor(depth);
            if (op == '*') {
                if (__builtin_mul_overflow(product, by, &product)) fail("is too large: above 2^63");
            } else {
                if (by == 0) fail("divides by zero");
                if (product == INT64_MIN && by == -1) fail("is too large: above 2^63");
                product /= by;
            }
        }
        return product;
    }
    int64_t factor(int depth) {
        if (peek() == '(') {
            if (depth == deepest) fail("has too many parentheses in each other");
            at_++;
            const int64_t inside = terms(depth + 1);
            if (peek() != ')') fail("has a parenthesis that is not closed");
            at_++;
            return inside;
        }
        int64_t number = 0;
        const char* const from = text_.data() + at_;
        const char* const end = text_.data() + text_.size();
        const bool digit = from != end && *from >= '0' && *from <= '9';
        const auto [rest, error] = std::from_chars(from, end, number);
        if (!digit || error != std::errc()) fail("is no sum of whole numbers");
        at_ += static_cast<size_t>(rest - from);
        return number;
    }

    std::string_view text_;
    const SourcePlace& where_;
    size_t at_ = 0;
};

struct Keyword {
    std::string_view name;
    std::optional<int64_t> value;
};

} // namespace

int64_t evaluate(std::string_view sum, const SourcePlace& where) { return Sum(sum, where).value(); }

Expanded expand(std::string_view value, const SourcePlace& where, const Surroundings& around) {
    const std::array<Keyword, 3> keywords = {{{"$pagesize", around.page_size},
                                              {"$mb_memory", around.mb_memory},
                                              {"$ncpus", around.ncpus}}};
    Expanded out;
    bool keyword_found = false;
    for (size_t i = 0; i < value.size();) {
        if (value.substr(i, 2) == "${") {
            const size_t close = value.find('}', i);
            if (close == std::string_view::npos)
                throw InputError(where, "has '${' without a closing '}'");
            const std::string name(value.substr(i + 2, close - i - 2));
            const auto found = around.variable ? around.variable(name) : std::nullopt;
            if (found) out.text += *found;
            else out.unset = name;
            out.changed = true;
            i = close + 1;
        } else {
            size_t taken = 0;
            for (const Keyword& k : keywords) {
                if (!value.substr(i).starts_with(k.name)) continue;
                if (!k.value)
                    throw InputError(where, "uses " + std::string(k.name) +
                                                ", which the modelled host does not state");
                out.text += std::to_string(*k.value);
                taken = k.name.size();
            }
            if (taken == 0) out.text += value[i], taken = 1;
            else out.changed = keyword_found = true;
            i += taken;
        }
        if (out.text.size() > max_value)
            throw InputError(where, "is longer than " + std::to_string(max_value) + " bytes");
    }
    const bool sum = out.text.find_first_not_of("0123456789+-*/() ") == std::string::npos;
    if (keyword_found && sum) out.text = std::to_string(evaluate(out.text, where));
    return out;
}

} // namespace storlab::fio
