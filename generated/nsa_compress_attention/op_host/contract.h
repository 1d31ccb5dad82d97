// Parts of the host's contract checks: arguments, sizes, messages. Plain C++17.
#ifndef ATTNDSL_CONTRACT_H
#define ATTNDSL_CONTRACT_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arithmetic.h"

namespace attndsl {

enum class DataType {
    kNone,
    kBfloat16,
    kBool,
    kFloat16,
    kFloat32,
    kFloat64,
    kInt32,
    kInt64,
    kInt8,
    kUint32,
    kUint64,
    kUint8,
};

inline const char *NameOf(DataType dtype)
{
    static const char *const kNames[] = {"None",    "bfloat16", "bool",   "float16",
                                         "float32", "float64",  "int32",  "int64",
                                         "int8",    "uint32",   "uint64", "uint8"};
    return kNames[static_cast<int>(dtype)];
}

// The result of a check: nothing, or the class of the mistake and a message for the caller.
struct Status {
    std::string error;
    std::string message;
    bool Ok() const { return error.empty(); }
};

inline Status Fail(const char *error, const std::string &message) { return Status{error, message}; }

// A tensor argument. The host may read the elements of some: lengths, maps, block counts.
struct Tensor {
    bool given = false;
    DataType dtype = DataType::kNone;
    std::vector<int64_t> shape;
    const void *values = nullptr;
    DataType stored = DataType::kNone;  // of the values, where that is not dtype

    int64_t Rank() const { return static_cast<int64_t>(shape.size()); }

    int64_t Count() const
    {
        int64_t count = 1;
        for (int64_t size : shape) {
            count *= size;
        }
        return count;
    }

    bool Readable() const { return given && (values != nullptr || Count() == 0); }

    // An element by its flat index; the only entry of a list stands for all rows.
    int64_t GetValue(int64_t index) const
    {
        if (!Readable() || Count() == 0) {
            return 0;
        }
        const int64_t at = std::clamp<int64_t>(index, 0, Count() - 1);
        switch (stored == DataType::kNone ? dtype : stored) {
            case DataType::kInt32:
                return static_cast<const int32_t *>(values)[at];
            case DataType::kUint32:
                return static_cast<const uint32_t *>(values)[at];
            case DataType::kInt8:
                return static_cast<const int8_t *>(values)[at];
            case DataType::kUint8:
            case DataType::kBool:
                return static_cast<const uint8_t *>(values)[at];
            default:
                return static_cast<const int64_t *>(values)[at];
        }
    }
};

// An argument that is a list of tensors; `list` is false where one tensor stands for itself.
struct TensorList {
    bool given = false;
    bool list = true;
    std::vector<Tensor> entries;
    DataType dtype = DataType::kNone;
};

// How many rows each tensor of a list has.
struct RowCounts {
    std::vector<int64_t> counts;

    bool Readable() const { return !counts.empty(); }

    int64_t GetValue(int64_t index) const
    {
        const int64_t last = static_cast<int64_t>(counts.size()) - 1;
        return last < 0 ? 0 : counts[static_cast<size_t>(std::clamp<int64_t>(index, 0, last))];
    }
};

// -------------------------------------------------------------------------------------------------
// The largest and smallest value, and the sum, over an index range; 0 for an empty one.

template <typename Body>
inline auto MaxOver(int64_t count, Body body)
{
    auto found = count > 0 ? body(0) : decltype(body(0))(0);
    for (int64_t i = 1; i < count; ++i) {
        found = MaxOf(found, body(i));
    }
    return found;
}

template <typename Body>
inline auto MinOver(int64_t count, Body body)
{
    auto found = count > 0 ? body(0) : decltype(body(0))(0);
    for (int64_t i = 1; i < count; ++i) {
        found = MinOf(found, body(i));
    }
    return found;
}

template <typename Body>
inline auto SumOver(int64_t count, Body body)
{
    auto found = decltype(body(0))(0);
    for (int64_t i = 0; i < count; ++i) {
        found += body(i);
    }
    return found;
}

// Rows of the longest batch row that prefix sums tell.
inline int64_t LongestRow(const Tensor &ends)
{
    int64_t longest = 0;
    for (int64_t b = 0; b < ends.Count(); ++b) {
        longest = MaxOf(longest, ends.GetValue(b) - (b > 0 ? ends.GetValue(b - 1) : 0));
    }
    return longest;
}

// -------------------------------------------------------------------------------------------------
// Words

inline std::string Text(int64_t value) { return std::to_string(value); }
inline std::string Text(int value) { return std::to_string(value); }
inline std::string Text(bool value) { return value ? "True" : "False"; }
inline std::string Text(const std::string &value) { return value; }
inline std::string Text(const char *value) { return value; }
inline std::string Text(DataType value) { return NameOf(value); }

// The shortest decimal that reads back as the same number.
inline std::string Text(double value)
{
    if (value != value) {
        return "nan";
    }
    if (value - value != 0) {
        return value > 0 ? "inf" : "-inf";
    }
    char digits[40];
    for (int precision = 0; precision < 17; ++precision) {
        std::snprintf(digits, sizeof(digits), "%.*e", precision, value);
        if (std::strtod(digits, nullptr) == value) {
            break;
        }
    }
    const char *mark = std::strchr(digits, 'e');
    const int exponent = std::atoi(mark + 1);
    const int places = static_cast<int>(mark - digits) - (digits[0] == '-' ? 1 : 0);
    const int shown = places > 1 ? places - 2 : 0;
    if (exponent < -4 || exponent >= 16) {
        return digits;
    }
    std::snprintf(digits, sizeof(digits), "%.*f", std::max(shown - exponent, 1), value);
    return digits;
}

inline std::string Quoted(const std::string &text)
{
    std::string found = "'";
    for (char c : text) {
        if (c == '\n') {
            found += "\\n";
        } else {
            found += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
        }
    }
    return found + "'";
}

inline std::string Join(const std::vector<std::string> &parts, const char *between)
{
    std::string found;
    for (size_t i = 0; i < parts.size(); ++i) {
        found += (i > 0 ? between : "") + parts[i];
    }
    return found;
}

// "a", "a or b", "a, b or c".
inline std::string Alternatives(std::vector<std::string> parts)
{
    const std::string last = parts.back();
    parts.pop_back();
    return parts.empty() ? last : Join(parts, ", ") + " or " + last;
}

inline std::string ShapeText(const std::vector<int64_t> &shape)
{
    std::vector<std::string> parts;
    for (int64_t size : shape) {
        parts.push_back(Text(size));
    }
    return "[" + Join(parts, ", ") + "]";
}

// The names and values that a violated condition read, each name once.
class Values {
public:
    template <typename T>
    void Add(const std::string &name, const T &value)
    {
        const std::string shown = Text(value);
        for (auto &item : items_) {
            if (item.first == name) {
                item.second = shown;
                return;
            }
        }
        items_.emplace_back(name, shown);
    }

    // An element, with the index along each dimension; `rows`: entries that a single one stands
    // for.
    void AddElement(const std::string &name, const Tensor &tensor, int64_t index)
    {
        std::vector<int64_t> at;
        if (tensor.Rank() <= 1) {
            at.push_back(index);
        } else {
            for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) {
                at.insert(at.begin(), FloorModOrZero(index, *size));
                index = FloorDivOrZero(index, *size);
            }
        }
        const std::string place = ShapeText(at);
        int64_t flat = 0;
        for (size_t i = 0; i < at.size(); ++i) {
            flat = flat * (tensor.Rank() > 1 ? tensor.shape[i] : 1) + at[i];
        }
        Add(name + place, tensor.GetValue(flat));
    }

    void AddElement(const std::string &name, const RowCounts &rows, int64_t index)
    {
        Add(name + ShapeText({index}), rows.GetValue(index));
    }

    std::string Words() const
    {
        std::string found;
        for (const auto &item : items_) {
            found += "; " + item.first + " is " + item.second;
        }
        return found;
    }

private:
    std::vector<std::pair<std::string, std::string>> items_;
};

// The multiples around a value; `of` names what they are of, `lowest` is the smallest that makes
// sense.
inline std::string NearestMultiples(int64_t value, int64_t step, int64_t lowest,
                                    const std::string &of)
{
    if (step <= 0) {
        return "";
    }
    const int64_t below = value - FloorMod(value, step);
    if (below < lowest) {
        return "the nearest legal value" + of + " is " + Text(below + step);
    }
    return "the nearest legal values" + of + " are " + Text(below) + " and " + Text(below + step);
}

// The nearest of a few numbers, the first of those that are equally near.
inline std::string NearestOf(int64_t value, const std::vector<int64_t> &legal)
{
    int64_t best = legal[0];
    for (int64_t each : legal) {
        if (std::llabs(each - value) < std::llabs(best - value)) {
            best = each;
        }
    }
    return "the nearest legal value is " + Text(best);
}

template <typename T>
inline std::string NearestLegal(const T &value, const std::string &of)
{
    return "the nearest legal value" + of + " is " + Text(value);
}

// Two pieces of advice, each of which may be empty.
inline std::string Both(const std::string &first, const std::string &second)
{
    return first.empty() || second.empty() ? first + second : first + "; " + second;
}

// A violated constraint: the argument to blame, the constraint in words, what was found, the next
// step.
inline Status Violation(const char *error, const char *op, const std::string &argument,
                        const std::string &text, const Values &values, const std::string &advice)
{
    return Fail(error, std::string(op) + ": " + argument + ": " + text + values.Words() +
                           (advice.empty() ? "" : "; " + advice));
}

// -------------------------------------------------------------------------------------------------
// Presence, dtypes, lists

inline Status Missing(const char *op, const char *name)
{
    return Fail("SignatureError", std::string(op) + ": " + name + ": this argument is missing");
}

// The dtypes that a tensor may have: its own, and those of the tensors that it goes with.
struct DtypeRule {
    std::vector<DataType> all;
    std::vector<DataType> alone;
    std::vector<std::pair<const char *, DataType>> like;
};

inline Status CheckDtype(const char *op, const std::string &label, DataType found,
                         const DtypeRule &rule)
{
    std::vector<std::pair<const char *, DataType>> passed;
    for (const auto &other : rule.like) {
        if (other.second != DataType::kNone) {
            passed.push_back(other);
        }
    }
    const auto &first = passed.empty() && !rule.like.empty() ? rule.all : rule.alone;
    std::vector<DataType> legal(first.begin(), first.end());
    for (const auto &other : passed) {
        legal.push_back(other.second);
    }
    if (std::count(legal.begin(), legal.end(), found) > 0) {
        return Status{};
    }
    std::set<std::string> names;
    for (DataType dtype : legal) {
        names.insert(NameOf(dtype));
    }
    const std::string either = Join(std::vector<std::string>(names.begin(), names.end()), " or ");
    const std::string start = std::string(op) + ": " + label + ": dtype " + NameOf(found);
    if (passed.empty() || std::count(rule.all.begin(), rule.all.end(), found) == 0) {
        return Fail("DtypeError", start + " is not supported; it must be " + either);
    }
    return Fail("DtypeMismatchError", start + " differs from " + passed[0].first + ", which is " +
                                          NameOf(passed[0].second) + "; it must be " + either);
}

inline Status CheckDtypes(const char *op, const char *name, const TensorList &list,
                          const DtypeRule &rule)
{
    for (size_t i = 0; i < list.entries.size(); ++i) {
        const DataType found = list.entries[i].dtype, first = list.entries[0].dtype;
        const std::string label =
            list.list ? std::string(name) + "[" + std::to_string(i) + "]" : name;
        const Status status = CheckDtype(op, label, found, rule);
        if (!status.Ok()) {
            return status;
        }
        if (found != first) {
            return Fail("DtypeMismatchError", std::string(op) + ": " + label + ": dtype " +
                                                  NameOf(found) + " differs from " + name +
                                                  "[0], which is " + NameOf(first) +
                                                  "; all tensors of the list must have one dtype");
        }
    }
    return Status{};
}

// Every entry of a list is a tensor.
inline Status CheckEntries(const char *op, const char *name, const TensorList &list)
{
    for (size_t i = 0; i < list.entries.size(); ++i) {
        if (list.given && !list.entries[i].given) {
            return Fail(
                "NullTensorError",
                std::string(op) + ": " + name + "[" + std::to_string(i) +
                    "]: is None, every entry is a tensor;"
                    " pass one like the others, its rows are not read where their length is 0");
        }
    }
    return Status{};
}

// The tensor of a list that holds exactly one.
inline Status Only(const char *op, const char *name, const TensorList &list, Tensor &tensor)
{
    if (list.given && list.entries.size() != 1) {
        return Fail("SequenceLengthError", std::string(op) + ": " + name +
                                               ": must hold exactly 1 tensor, got " +
                                               std::to_string(list.entries.size()));
    }
    tensor = list.given ? list.entries[0] : Tensor{};
    return Status{};
}

inline Status CheckSameShape(const char *op, const char *name, const std::vector<Tensor> &entries)
{
    for (size_t i = 1; i < entries.size(); ++i) {
        if (entries[i].shape != entries[0].shape) {
            return Fail("ShapeError",
                        std::string(op) + ": " + name + "[" + std::to_string(i) + "]: shape " +
                            ShapeText(entries[i].shape) + " differs from that of " + name +
                            "[0]; all tensors of the list must be " + ShapeText(entries[0].shape));
        }
    }
    return Status{};
}

// What one tensor, or a list of one tensor a batch row, stands for. `sequence`: one tensor comes in
// a list, too.
inline Status OneOrMany(const char *op, const char *name, bool sequence, TensorList &list,
                        Tensor &tensor)
{
    list.list = sequence ? list.entries.size() != 1 : list.list;
    if (!list.given || !list.list) {
        tensor = list.given ? list.entries[0] : Tensor{};
        return Status{};
    }
    if (list.entries.empty()) {
        const std::string start = std::string(op) + ": " + name + ": ";
        return sequence
                   ? Fail("SequenceLengthError",
                          start + "must hold exactly 1 tensor, or one a batch row, got 0")
                   : Fail("EmptyTensorError", start + "an empty list, pass a tensor a batch row");
    }
    const Status status = CheckEntries(op, name, list);
    tensor = Tensor{};
    tensor.given = true;
    tensor.dtype = list.entries[0].dtype;
    return status;
}

}  // namespace attndsl

#endif  // ATTNDSL_CONTRACT_H
