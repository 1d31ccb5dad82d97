// Sizes from shapes: the dimensions of each argument are matched against the layouts of its
// contract. Plain C++17.
#ifndef ATTNDSL_SIZES_H
#define ATTNDSL_SIZES_H

#include "contract.h"

namespace attndsl {

constexpr int64_t kUnknown = INT64_MIN;

// A size of the contract, in one place of the caller's, with the argument that showed it.
struct Size {
    Size(const char *theName, int64_t &place) : name(theName), value(place) {}
    bool Known() const { return value != kUnknown; }

    void Define(int64_t number, const std::string &from)
    {
        value = number;
        origin = from;
    }

    std::string Words(bool origins = true) const
    {
        return name + (" = " + Text(value)) + (origins ? " from " + origin : "");
    }

    const char *name;
    int64_t &value;
    std::string origin;
    bool parameter = false;
};

// One factor of a dimension: a number, or a size.
struct Factor {
    Factor(int number) : fixed(number) {}
    Factor(Size &theSize) : size(&theSize) {}
    bool Known() const { return size == nullptr || size->Known(); }
    int64_t Value() const { return size == nullptr ? fixed : size->value; }
    std::string Name() const { return size == nullptr ? Text(fixed) : size->name; }

    Size *size = nullptr;
    int64_t fixed = 0;
};

using Dim = std::vector<Factor>;

inline std::string NameOf(const Dim &dim)
{
    std::vector<std::string> names;
    for (const Factor &factor : dim) {
        names.push_back(factor.Name());
    }
    return Join(names, " * ");
}

// What a call says of a condition: the symbol, and the words.
using Fact = std::pair<const char *, std::string>;

// A layout of an argument; `applies` tells whether its condition holds, `facts` what a call says of
// it.
struct Layout {
    bool applies;
    const char *key;
    std::vector<Dim> dims;
    std::vector<Fact> facts;

    std::string Words() const
    {
        std::vector<std::string> names;
        for (const Dim &dim : dims) {
            names.push_back(NameOf(dim));
        }
        return "(" + Join(names, ", ") + ")";
    }
};

// An argument whose shape is matched: its name, the classes of its errors, whether it may be
// larger.
struct Shaped {
    const char *name;
    const char *rankError = "RankError";
    const char *shapeError = "ShapeError";
    bool atLeast = false;
};

class SizeSolver {
public:
    explicit SizeSolver(const char *op) : op_(op) {}

    // The layout of a tensor; its key is left in `chosen`.
    Status Match(const Shaped &rule, const Tensor &tensor, std::vector<Layout> layouts,
                 std::string &chosen)
    {
        chosen = "None";
        if (!tensor.given) {
            return Status{};
        }
        Status status = Applicable(rule.name, layouts);
        if (!status.Ok()) {
            return status;
        }
        std::vector<Layout> fitting;
        for (const Layout &layout : layouts) {
            if (layout.dims.size() == tensor.shape.size()) {
                fitting.push_back(layout);
            }
        }
        if (fitting.empty()) {
            return WrongRank(rule, layouts, tensor);
        }
        std::vector<int64_t> shape = tensor.shape;
        if (rule.atLeast) {
            for (size_t i = 0; i < shape.size(); ++i) {
                shape[i] = std::min(shape[i], ProductOf(fitting[0].dims[i]));
            }
        }
        std::vector<Try> tries;
        for (const Layout &layout : fitting) {
            Try made{layout, Mismatch{}, {}};
            made.mismatch = Attempt(layout, shape, made.solved);
            if (made.mismatch.position < 0) {
                tries.assign(1, made);
                break;
            }
            if (!tries.empty() && made.mismatch.others < tries[0].mismatch.others) {
                tries.clear();
            }
            if (tries.empty() || made.mismatch.others == tries[0].mismatch.others) {
                tries.push_back(made);
            }
        }
        const Try &closest = tries.back();
        if (closest.mismatch.position >= 0 && closest.mismatch.divides == 0) {
            return WrongShape(rule, tries, tensor);
        }
        for (const auto &found : closest.solved) {
            found.first->Define(found.second, rule.name);
        }
        chosen = closest.layout.key;
        if (closest.mismatch.position >= 0 && pending_.empty()) {
            pending_.push_back(Pending{Keep(rule.name), closest.layout, closest.mismatch,
                                       WordsOf(closest.mismatch)});
        }
        return Status{};
    }

    // Integers, one a row: their number, or a second layout with more dimensions.
    Status MatchLengths(const Shaped &rule, const Tensor &tensor, std::vector<Layout> layouts,
                        bool oneForAll, std::string &chosen)
    {
        chosen = "None";
        if (!tensor.given) {
            return Status{};
        }
        Status status = Applicable(rule.name, layouts);
        if (!status.Ok()) {
            return status;
        }
        if (tensor.shape.size() > 1) {
            for (const Layout &layout : layouts) {
                if (layout.dims.size() == tensor.shape.size()) {
                    return Match(rule, tensor, layouts, chosen);
                }
            }
        }
        chosen = layouts[0].key;
        const Dim &extent = layouts[0].dims[0];
        if (extent.size() == 1 && !extent[0].Known() && tensor.shape.size() == 1) {
            extent[0].size->Define(tensor.Count(), rule.name);
        }
        const int64_t rows = KnownDim(extent) ? ProductOf(extent) : tensor.Count();
        const int64_t count = tensor.Count();
        const bool legal = count == rows || (oneForAll && count == 1);
        if (tensor.shape.size() > 1 || !legal || (tensor.shape.empty() && !oneForAll)) {
            const std::string wanted = LegalText(extent, rows);
            return Fail("LengthCountError", std::string(op_) + ": " + rule.name + ": must have " +
                                                (oneForAll ? "1 or " : "") + wanted +
                                                (wanted == "1" ? " entry" : " entries") +
                                                " in one dimension" + Because({Sources(extent)}) +
                                                ", got shape " + ShapeText(tensor.shape));
        }
        return Status{};
    }

    // The layout of the tensors of a list, whose number is that of `count`.
    Status MatchList(const Shaped &rule, const TensorList &list, Size &count,
                     std::vector<Layout> layouts, std::string &chosen)
    {
        chosen = "None";
        if (!list.given) {
            return Status{};
        }
        const int64_t entries = static_cast<int64_t>(list.entries.size());
        if (!count.Known()) {
            count.Define(entries, rule.name);
        } else if (entries != count.value) {
            return Fail("SequenceLengthError",
                        std::string(op_) + ": " + rule.name + ": must hold " + count.name + " = " +
                            Text(count.value) + " tensors (" + count.name + " from " +
                            count.origin + "), got " + Text(entries));
        }
        if (entries == 0) {
            const Status status = Applicable(rule.name, layouts);
            chosen = status.Ok() ? layouts[0].key : "None";
            return status;
        }
        const std::string first = std::string(rule.name) + "[0]";
        Shaped entry = rule;
        entry.name = Keep(first);
        const Status status = Match(entry, list.entries[0], layouts, chosen);
        return status.Ok() ? CheckSameShape(op_, rule.name, list.entries) : status;
    }

    // The layout of a list of one tensor a batch row, each with rows of its own, which are left in
    // `found`; `rows` is then the most. `layouts`: of one tensor; without dimensions where there is
    // none of batch rows.
    Status MatchRows(const Shaped &rule, const TensorList &list, bool sequence, Size &batch,
                     Size &rows, const std::vector<Size *> &single, std::vector<Layout> layouts,
                     RowCounts &found, std::string &chosen)
    {
        chosen = "None";
        Status status = Applicable(rule.name, layouts);
        if (!status.Ok()) {
            return status;
        }
        const std::string start = std::string(op_) + ": " + rule.name;
        const std::string situation = Situation(layouts);
        layouts.erase(std::remove_if(layouts.begin(), layouts.end(),
                                     [](const Layout &each) { return each.dims.empty(); }),
                      layouts.end());
        const int64_t entries = static_cast<int64_t>(list.entries.size());
        if (layouts.empty()) {
            return Fail("SequenceLengthError", start + ": must hold exactly 1 tensor" + situation +
                                                   ", got " + Text(entries));
        }
        if (batch.Known() && batch.value != entries) {
            return Fail("SequenceLengthError", start + ": must hold " + (sequence ? "1 or " : "") +
                                                   batch.Words(false) + " tensors (" + batch.name +
                                                   " from " + batch.origin + "), got " +
                                                   Text(entries));
        }
        if (!batch.Known()) {
            batch.Define(entries, rule.name);
        }
        const bool others = rows.Known();
        std::vector<int64_t> counts;
        for (int64_t i = 0; i < entries; ++i) {
            Tensor entry = list.entries[static_cast<size_t>(i)];
            for (size_t dim = 0;
                 dim < layouts[0].dims.size() && entry.shape.size() < layouts[0].dims.size() &&
                 IsNumber(layouts[0].dims[dim]);
                 ++dim) {
                entry.shape.insert(entry.shape.begin(), 1);
            }
            rows.value = kUnknown;
            Shaped one = rule;
            one.name = Keep(std::string(rule.name) + "[" + Text(i) + "]");
            status = Match(one, entry, layouts, chosen);
            if (!status.Ok()) {
                return status;
            }
            layouts.erase(std::remove_if(layouts.begin(), layouts.end(),
                                         [&](const Layout &each) { return each.key != chosen; }),
                          layouts.end());
            counts.push_back(rows.Known() ? rows.value : 0);
        }
        for (Size *size : single) {
            if (!size->Known()) {
                size->Define(1, rule.name);
            }
        }
        for (const auto &other : others ? rows_ : std::map<std::string, std::vector<int64_t>>{}) {
            for (size_t i = 0; i < counts.size(); ++i) {
                if (counts[i] != other.second[i]) {
                    const std::string place = "[" + std::to_string(i) + "]";
                    return Fail(rule.shapeError, start + place + ": has " + Text(counts[i]) +
                                                     " rows (" + rows.name + "), must have " +
                                                     Text(other.second[i]) + " as " + other.first +
                                                     place);
                }
            }
        }
        rows.value = *std::max_element(counts.begin(), counts.end());
        rows_[rule.name] = counts;
        found.counts = counts;
        return Status{};
    }

    // What only divides badly comes behind all other mistakes.
    Status Finish() const { return pending_.empty() ? Status{} : Indivisible(pending_[0]); }

    // A size that no shape showed, without a default.
    Status Shown(const Size &size) const
    {
        if (size.Known()) {
            return Status{};
        }
        return Fail("MissingInputError",
                    std::string(op_) + ": no tensor that is passed shows the size " + size.name);
    }

private:
    struct Mismatch {
        int64_t position = -1;
        int64_t size = 0;
        int64_t legal = 0;
        int64_t divides = 0;
        int64_t others = 0;
        Dim step{};
    };

    struct Try {
        Layout layout;
        Mismatch mismatch;
        std::vector<std::pair<Size *, int64_t>> solved;
    };

    struct Pending {
        const char *name;
        Layout layout;
        Mismatch mismatch;
        std::string step;
    };

    static bool KnownDim(const Dim &dim)
    {
        return std::all_of(dim.begin(), dim.end(),
                           [](const Factor &factor) { return factor.Known(); });
    }

    static int64_t ProductOf(const Dim &dim)
    {
        int64_t product = 1;
        for (const Factor &factor : dim) {
            product *= factor.Known() ? factor.Value() : 1;
        }
        return product;
    }

    const char *Keep(const std::string &text) { return kept_.insert(text).first->c_str(); }

    Status Applicable(const char *name, std::vector<Layout> &layouts) const
    {
        layouts.erase(std::remove_if(layouts.begin(), layouts.end(),
                                     [](const Layout &each) { return !each.applies; }),
                      layouts.end());
        if (layouts.empty()) {
            return Fail("ShapeError", std::string(op_) + ": " + name + ": no layout applies");
        }
        return Status{};
    }

    // The sizes that a shape adds, and the first contradiction; what only divides badly comes last.
    static Mismatch Attempt(const Layout &layout, const std::vector<int64_t> &shape,
                            std::vector<std::pair<Size *, int64_t>> &solved)
    {
        std::vector<Mismatch> wrong;
        std::vector<Mismatch> indivisible;
        for (size_t i = 0; i < shape.size(); ++i) {
            int64_t known = 1;
            std::vector<Size *> unknown;
            Dim step;
            for (const Factor &factor : layout.dims[i]) {
                const auto learnt =
                    std::find_if(solved.begin(), solved.end(),
                                 [&](const auto &found) { return found.first == factor.size; });
                if (learnt != solved.end()) {
                    known *= learnt->second;
                    step.push_back(factor);
                } else if (factor.Known()) {
                    known *= factor.Value();
                    step.push_back(factor);
                } else {
                    unknown.push_back(factor.size);
                }
            }
            const int64_t position = static_cast<int64_t>(i);
            if (unknown.empty() && shape[i] != known) {
                wrong.push_back(Mismatch{position, shape[i], known, 0, 0, {}});
            }
            if (unknown.size() != 1) {
                continue;
            }
            if (known > 0 && shape[i] % known == 0) {
                solved.emplace_back(unknown[0], shape[i] / known);
            } else {
                indivisible.push_back(
                    Mismatch{position, shape[i], 0, known == 0 ? -1 : known, 0, step});
            }
        }
        wrong.insert(wrong.end(), indivisible.begin(), indivisible.end());
        if (wrong.empty()) {
            return Mismatch{};
        }
        wrong[0].others = static_cast<int64_t>(wrong.size()) - 1;
        return wrong[0];
    }

    static std::vector<std::string> Sources(const Dim &dim)
    {
        std::set<std::string> found;
        for (const Factor &factor : dim) {
            if (factor.size != nullptr && factor.Known() && !factor.size->parameter) {
                found.insert(factor.size->Words());
            }
        }
        return std::vector<std::string>(found.begin(), found.end());
    }

    static std::string Situation(const std::vector<Layout> &layouts)
    {
        std::map<std::string, std::string> known;
        for (const Layout &layout : layouts) {
            known.insert(layout.facts.begin(), layout.facts.end());
        }
        std::vector<std::string> facts;
        for (const auto &fact : known) {
            facts.push_back(fact.second);
        }
        return facts.empty() ? "" : ", as " + Join(facts, " and ");
    }

    // Which sizes come from where, in brackets.
    static std::string Because(const std::vector<std::vector<std::string>> &groups)
    {
        std::set<std::string> all;
        for (const auto &group : groups) {
            all.insert(group.begin(), group.end());
        }
        return all.empty()
                   ? ""
                   : " (" + Join(std::vector<std::string>(all.begin(), all.end()), "; ") + ")";
    }

    static bool IsNumber(const Dim &dim)
    {
        return std::all_of(dim.begin(), dim.end(),
                           [](const Factor &factor) { return factor.size == nullptr; });
    }

    static std::string LegalText(const Dim &dim, int64_t legal)
    {
        return IsNumber(dim) ? Text(legal) : NameOf(dim) + " = " + Text(legal);
    }

    // "no multiple of headNum = 3".
    static std::string WordsOf(const Mismatch &mismatch)
    {
        const int64_t step = mismatch.divides > 0 ? mismatch.divides : 1;
        return LegalText(mismatch.step, step);
    }

    static std::vector<std::string> WordsOf(const std::vector<Layout> &layouts)
    {
        std::vector<std::string> words;
        for (const Layout &layout : layouts) {
            if (std::count(words.begin(), words.end(), layout.Words()) == 0) {
                words.push_back(layout.Words());
            }
        }
        return words;
    }

    Status WrongRank(const Shaped &rule, const std::vector<Layout> &layouts,
                     const Tensor &tensor) const
    {
        return Fail(rule.rankError, std::string(op_) + ": " + rule.name + ": shape " +
                                        ShapeText(tensor.shape) + " has " + Text(tensor.Rank()) +
                                        (tensor.Rank() == 1 ? " dimension" : " dimensions") +
                                        "; it must be " + Alternatives(WordsOf(layouts)) +
                                        Situation(layouts));
    }

    // `tries`: the layouts that come equally close.
    Status WrongShape(const Shaped &rule, const std::vector<Try> &tries, const Tensor &tensor) const
    {
        const Mismatch &mismatch = tries.back().mismatch;
        std::vector<Layout> layouts;
        std::vector<std::string> legal;
        std::vector<std::vector<std::string>> sources;
        for (const Try &each : tries) {
            layouts.push_back(each.layout);
            if (each.mismatch.position != mismatch.position || each.mismatch.divides != 0) {
                continue;
            }
            const Dim &expected = each.layout.dims[static_cast<size_t>(mismatch.position)];
            const std::string words = LegalText(expected, each.mismatch.legal);
            if (std::count(legal.begin(), legal.end(), words) == 0) {
                legal.push_back(words);
            }
            sources.push_back(Sources(expected));
        }
        return Fail(rule.shapeError,
                    std::string(op_) + ": " + rule.name + ": shape " + ShapeText(tensor.shape) +
                        " should be " + Alternatives(WordsOf(layouts)) + ": dimension " +
                        Text(mismatch.position) + " is " + Text(mismatch.size) + ", must be " +
                        (rule.atLeast ? "at least " : "") + Alternatives(legal) + Because(sources) +
                        Situation(layouts));
    }

    Status Indivisible(const Pending &found) const
    {
        const Mismatch &mismatch = found.mismatch;
        const int64_t step = mismatch.divides > 0 ? mismatch.divides : 1;
        const int64_t below = mismatch.size - mismatch.size % step;
        const std::string legal = below == 0
                                      ? " is " + Text(step)
                                      : "s are " + Text(below) + " and " + Text(below + step);
        return Fail("DivisibilityError",
                    std::string(op_) + ": " + found.name + ": dimension " +
                        Text(mismatch.position) + " is " + Text(mismatch.size) +
                        ", which is no multiple of " + found.step + " in " + found.layout.Words() +
                        Because({Sources(mismatch.step)}) + "; the nearest legal size" + legal);
    }

    const char *op_;
    std::vector<Pending> pending_;
    std::set<std::string> kept_;
    std::map<std::string, std::vector<int64_t>> rows_;  // of the tensors in each list
};

}  // namespace attndsl

#endif  // ATTNDSL_SIZES_H
