// A stand-in of ours: libraries remember schemas and whether a function was given for them.
#pragma once
#include <map>
#include <string>

struct Library {
    std::string schema;
    std::map<std::string, int> functions;
    void def(const char *text) { schema = text; }
    template <typename F>
    void def(const char *, F) {}
    template <typename F>
    void impl(const char *name, F) { functions[name] += 1; }
};
#define TORCH_FN(f) (&f)
#define TORCH_LIBRARY_FRAGMENT(ns, m) [[maybe_unused]] static void Define_##ns(Library &m)
#define TORCH_LIBRARY_IMPL(ns, key, m) [[maybe_unused]] static void Implement_##ns##_##key(Library &m)
