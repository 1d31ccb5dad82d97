// Shapes of results from shapes whose sizes may be symbols, or not known yet. Nothing is checked.
// Plain C++17.
#ifndef ATTNDSL_SHAPES_H
#define ATTNDSL_SHAPES_H

#include <optional>

#include "contract.h"

namespace attndsl {

// A size that may be unknown, as CANN writes it: -1.
struct Extent {
    Extent(int64_t number = -1) : value(number < 0 ? -1 : number) {}

    int64_t value;
};

inline Extent operator*(Extent a, Extent b)
{
    return a.value < 0 || b.value < 0 ? Extent() : Extent(a.value * b.value);
}

inline Extent operator/(Extent a, Extent b)
{
    return a.value < 0 || b.value <= 0 ? Extent() : Extent(a.value / b.value);
}

inline bool operator==(Extent a, Extent b)
{
    return a.value < 0 || b.value < 0 || a.value == b.value;
}

// One factor of a dimension: a number, or a size by its name.
struct NamedFactor {
    NamedFactor(int theNumber) : number(theNumber) {}
    NamedFactor(const char *theName) : name(theName) {}

    std::string name;
    int64_t number = 1;
};

using NamedDim = std::vector<NamedFactor>;

// A layout of an argument; `applies` tells whether its condition holds.
struct NamedLayout {
    bool applies;
    const char *key;
    std::vector<NamedDim> dims;
};

// Sizes by name, learnt from shapes one by one. Integer: Extent, or symbols such as PyTorch's.
template <typename Integer>
class ShapeSolver {
public:
    using Shape = std::vector<Integer>;
    using Shapes = std::map<std::string, Shape>;

    explicit ShapeSolver(const Shapes &shapes) : shapes_(shapes) {}

    bool Known(const std::string &name) const { return sizes_.count(name) > 0; }
    const Integer &operator[](const std::string &name) const { return sizes_.at(name); }
    void Define(const std::string &name, const Integer &value) { sizes_.emplace(name, value); }

    // The key of the layout that an argument has, whose sizes are known from then on; nothing if it
    // is absent, or has no layout. With `padded`, leading dimensions of one entry may be left out.
    std::string Match(const std::string &argument, std::vector<NamedLayout> layouts,
                      bool padded = false)
    {
        const auto found = shapes_.find(argument);
        if (found == shapes_.end()) {
            return "";
        }
        Shape shape = found->second;
        for (const NamedLayout &layout : layouts) {
            if (padded && layout.applies && layout.dims.size() > shape.size()) {
                shape.insert(shape.begin(), layout.dims.size() - shape.size(), Integer(1));
            }
        }
        layouts.erase(std::remove_if(layouts.begin(), layouts.end(),
                                     [&](const NamedLayout &each) {
                                         return !each.applies || each.dims.size() != shape.size();
                                     }),
                      layouts.end());
        if (layouts.empty()) {
            return "";
        }
        size_t chosen = 0;
        while (chosen + 1 < layouts.size() && !Fits(layouts[chosen], shape)) {
            ++chosen;  // only several of one rank are told apart by their sizes
        }
        Learn(layouts[chosen], shape);
        return layouts[chosen].key;
    }

    // The shape of a result; nothing where a size has not been seen.
    std::optional<Shape> Of(const std::vector<NamedDim> &dims) const
    {
        Shape shape;
        for (const NamedDim &dim : dims) {
            const auto whole = products_.find(NameOf(dim));
            std::vector<std::string> unknown;
            const Integer product =
                whole != products_.end() ? whole->second : ProductOf(dim, unknown);
            if (!unknown.empty()) {
                return std::nullopt;
            }
            shape.push_back(product);
        }
        return shape;
    }

private:
    static std::string NameOf(const NamedDim &dim)
    {
        std::string name;
        for (const NamedFactor &factor : dim) {
            name += (factor.name.empty() ? Text(factor.number) : factor.name) + " ";
        }
        return name;
    }

    // The product of the factors that are known; the names of the others are left in `unknown`.
    Integer ProductOf(const NamedDim &dim, std::vector<std::string> &unknown) const
    {
        Integer product(1);
        bool first = true;
        for (const NamedFactor &factor : dim) {
            if (!factor.name.empty() && !Known(factor.name)) {
                unknown.push_back(factor.name);
                continue;
            }
            const Integer value =
                factor.name.empty() ? Integer(factor.number) : sizes_.at(factor.name);
            product = first ? value : product * value;
            first = false;
        }
        return product;
    }

    bool Fits(const NamedLayout &layout, const Shape &shape) const
    {
        for (size_t i = 0; i < shape.size(); ++i) {
            std::vector<std::string> unknown;
            const Integer product = ProductOf(layout.dims[i], unknown);
            if (unknown.empty() && !(shape[i] == product)) {
                return false;
            }
        }
        return true;
    }

    void Learn(const NamedLayout &layout, const Shape &shape)
    {
        for (size_t i = 0; i < shape.size(); ++i) {
            std::vector<std::string> unknown;
            const Integer known = ProductOf(layout.dims[i], unknown);
            products_.emplace(NameOf(layout.dims[i]), shape[i]);
            if (unknown.size() == 1) {
                Define(unknown[0], layout.dims[i].size() == 1 ? shape[i] : shape[i] / known);
            }
        }
    }

    const Shapes &shapes_;
    std::map<std::string, Integer> sizes_;
    std::map<std::string, Integer> products_;
};

}  // namespace attndsl

#endif  // ATTNDSL_SHAPES_H
