#include "models/workload/fio/units.hpp"
#include <array>
#include <charconv>
#include <cmath>

namespace storlab::fio {

std::string quoted(std::string_view text) {
    constexpr size_t longest = 40; // a message is for reading
    std::string out = "'";
    out += text.substr(0, longest);
    return out += text.size() > longest ? "...'" : "'";
}

namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}
[[noreturn]] void refuse(const SourcePlace& where, std::string_view text, const std::string& why) {
    throw InputError(where, quoted(text) + " " + why);
}

struct Split {
    int64_t number;
    std::string suffix; // lower case
    bool hexadecimal;
};
// The digits in front and what follows them.
Split split(std::string_view text, const SourcePlace& where, const std::string& expected) {
    if (text.empty()) throw InputError(where, "is empty; expected " + expected);
    if (text[0] == '-') refuse(where, text, "is negative; expected " + expected);
    const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x';
    const std::string_view digits = hexadecimal ? text.substr(2) : text;
    int64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, number, hexadecimal ? 16 : 10);
    if (error == std::errc::result_out_of_range) refuse(where, text, "is too large: above 2^63");
    if (error != std::errc() || digits[0] == '-')
        refuse(where, text, "is no number; expected " + expected);
    if (rest != end && *rest == '.')
        refuse(where, text,
               "has a decimal point, where fio would stop reading; expected " + expected);
    return {number, lower({rest, static_cast<size_t>(end - rest)}), hexadecimal};
}
std::string after(const std::string& suffix) {
    if (suffix.find_first_of(";#") != std::string::npos)
        return "; a comment must stand on a line of its own";
    return "";
}

} // namespace

Number parse_number(std::string_view text, const SourcePlace& where, KbBase base) {
    const std::string expected = "a number such as 4096, 4k, 1m or 0x1000";
    const auto [number, suffix, hexadecimal] = split(text, where, expected);
    if (suffix.empty() || (suffix == "b" && !hexadecimal)) return {number, ""};
    if (hexadecimal)
        refuse(where, text, "has a suffix after hexadecimal digits; fio takes none there");
    constexpr std::string_view letters = "kmgtp";
    const size_t power = letters.find(suffix[0]) + 1; // npos + 1 is 0
    const std::string form = suffix.substr(1);
    if (power == 0 || (!form.empty() && form != "b" && form != "i" && form != "ib"))
        refuse(where, text, "ends in " + quoted(suffix) + "; expected " + expected + after(suffix));
    const bool program_swaps = form == "ib"; // only the whole word, in the program
    const bool manual_swaps = program_swaps || form == "i";
    const auto unit = [&](bool swapped) {
        return (base == KbBase::k1024) != swapped ? 1024 : 1000;
    };
    const auto scaled = [&](int factor) {
        int64_t value = number;
        for (size_t i = 0; i < power; i++)
            if (__builtin_mul_overflow(value, int64_t{factor}, &value))
                refuse(where, text, "is too large: above 2^63");
        return value;
    };
    Number out{scaled(unit(program_swaps)), ""};
    if (manual_swaps != program_swaps)
        out.note = quoted(text) + " is " + std::to_string(out.value) +
                   " to the fio program (3.33), though its manual says " +
                   std::to_string(scaled(unit(manual_swaps))) + "; 'k' or 'KiB' would be clear";
    return out;
}

Duration parse_time(std::string_view text, const SourcePlace& where, Duration unit) {
    struct Unit {
        std::string_view suffix;
        Duration length;
    };
    static constexpr std::array<Unit, 8> units = {{{"d", Duration::s(86400)},
                                                   {"h", Duration::s(3600)},
                                                   {"m", Duration::s(60)},
                                                   {"s", Duration::s(1)},
                                                   {"ms", Duration::ms(1)},
                                                   {"msec", Duration::ms(1)},
                                                   {"us", Duration::us(1)},
                                                   {"usec", Duration::us(1)}}};
    const std::string expected = "a whole number with d, h, m, s, ms or us";
    const auto [number, suffix, hexadecimal] = split(text, where, expected);
    if (hexadecimal)
        refuse(where, text, "is hexadecimal, whose unit fio gets wrong; expected " + expected);
    Duration each = unit;
    if (!suffix.empty()) {
        const Unit* found = nullptr;
        for (const Unit& u : units)
            if (u.suffix == suffix) found = &u;
        if (!found)
            refuse(where, text,
                   "ends in " + quoted(suffix) +
                       ", which fio would skip and read microseconds; expected " + expected +
                       after(suffix));
        each = found->length;
    }
    int64_t ps = 0;
    if (__builtin_mul_overflow(number, each.count_ps(), &ps))
        refuse(where, text, "is too long: storlab's clock reaches 106 days");
    return Duration::ps(ps);
}

int parse_percent(std::string_view text, const SourcePlace& where) {
    const auto [number, suffix, hexadecimal] = split(text, where, "0 to 100 percent");
    if (!suffix.empty())
        refuse(where, text,
               "ends in " + quoted(suffix) + "; expected a whole number from 0 to 100" +
                   after(suffix));
    if (number > 100) refuse(where, text, "is above 100 percent");
    return static_cast<int>(number);
}

double parse_real(std::string_view text, const SourcePlace& where) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || rest != end || !std::isfinite(value))
        refuse(where, text, "is no decimal number such as 1.2");
    return value;
}

} // namespace storlab::fio
