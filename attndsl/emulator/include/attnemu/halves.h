// Programs whose source chooses by the preprocessor which half of it is compiled: the one for the cube core or the one for vector
// cores. Each half is a library beside the executable; what a core calls, it looks up in its own.
#pragma once
#include <map>
#include <string>
#include <typeinfo>

#include "base.h"

namespace attnemu {

enum class Half : uint8_t { Whole, Cube, Vector };
constexpr int kHalves = 3;

// Loads the halves that there are, once.
void load_halves();
// The half that is being loaded, and the one that the running core executes; Whole where a program has none.
Half loading_half();
Half running_half();
const char* name_of(Half h);

template <class T>
class ByHalf {
 public:
  void add(const std::string& name, const T& value) { tables_[static_cast<int>(loading_half())][name] = value; }
  const T* find(const std::string& name, Half half) const {
    const auto& table = tables_[static_cast<int>(half)];
    auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  }
  // In any half: what all of them agree on.
  const T* find_any(const std::string& name) const {
    for (int h = 0; h < kHalves; ++h)
      if (const T* found = find(name, static_cast<Half>(h))) return found;
    return nullptr;
  }

 private:
  std::map<std::string, T> tables_[kHalves];
};

// Ends the run: a half lacks what a kernel needs.
[[noreturn]] void refuse_half(const std::string& kernel, Half half, const char* what);
template <class T>
const T& of_running_half(const ByHalf<T>& all, const std::string& kernel) {
  Half half = running_half();
  const T* found = all.find(kernel, half);
  if (!found) refuse_half(kernel, half, "kernel");
  return *found;
}

// Launches in the text, compiled once more in each half: the call that a launch's closure makes there. A closure of one place has
// one name in all halves.
using SiteCall = void (*)(const void* closure, void* const* arguments);
bool note_site(const std::string& name, SiteCall call);
// Makes the call of the running core's half; false: there are no halves.
bool call_in_half(const std::string& name, const char* kernel, const void* closure, void* const* arguments);

template <class... T>
std::string names_of_types() {
  std::string all;
  ((all += std::string(*typeid(T).name() == '*' ? typeid(T).name() + 1 : typeid(T).name()) + ' '), ...);
  return all;
}

}  // namespace attnemu
