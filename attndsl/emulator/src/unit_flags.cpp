#include "attnemu/unit_flags.h"

#include "attnemu/machine.h"

namespace attnemu {
namespace {

constexpr uint32_t kWaitsMode = 2, kChangesMode = 3;

// Calls f(number of a fractal) for everything that `e` touches of L0C.
template <class F>
void for_each_fractal(const Extent& e, uint32_t bytes, size_t count, F&& f) {
  for (uint64_t o = 0; o < e.outer; ++o)
    for (uint64_t i = 0; i < e.inner; ++i) {
      uint64_t from = e.at + o * e.jump + i * e.step;
      for (uint64_t n = from / bytes; e.run && n <= (from + e.run - 1) / bytes && n < count; ++n) f(n);
    }
}

// A pipe that waits for the flags of what an instruction of it touches.
class Waiter {
 public:
  explicit Waiter(Pipe pipe) : pipe_(pipe), done_(std::make_shared<const VectorClock>(core->snapshot(pipe))) {}
  // `other`: what the other pipe had done when it changed the flag; ours from then on where we change it.
  void after(std::shared_ptr<const VectorClock>& other, bool changes) const {
    if (other) core->join(pipe_, *other);
    if (changes) other = done_;
  }

 private:
  Pipe pipe_;
  std::shared_ptr<const VectorClock> done_;
};

void report(const char* what, const SourceLine& at, const std::string& text, const char* pipe, uint64_t address) {
  if (machine->knobs.synccheck) machine->report("synccheck", "unit_flag", at, std::string(what) + text, pipe, name_of(MemoryKind::L0C), address);
}

}  // namespace

void UnitFlags::product(uint32_t mode, const Extent& result, const char* what, const SourceLine& at) {
  if (mode != kWaitsMode && mode != kChangesMode) return;
  const Waiter waiter(Pipe::M);
  for_each_fractal(result, kFractalOfResults, set_at_.size(), [&](uint64_t n) {
    if (set_at_[n].file)
      report(what, at, format(": waits for ever for the unit flag of L0C byte %llu, set by %s: no Fixpipe with unitFlag 3 took the results away",
                              static_cast<unsigned long long>(n * kFractalOfResults), machine->text(set_at_[n]).c_str()), "M", n * kFractalOfResults);
    set_at_[n] = mode == kChangesMode ? at : SourceLine{nullptr, 0};
    waiter.after(done_[n], mode == kChangesMode);
  });
}

void UnitFlags::write_back(uint32_t mode, const Extent& result, const char* what, const SourceLine& at) {
  if (mode != kWaitsMode && mode != kChangesMode) return;
  const Waiter waiter(Pipe::FIX);
  for_each_fractal(result, kFractalOfResults, set_at_.size(), [&](uint64_t n) {
    if (!set_at_[n].file)
      report(what, at, format(": waits for ever for the unit flag of L0C byte %llu: the last product there must have unitFlag 3",
                              static_cast<unsigned long long>(n * kFractalOfResults)), "FIX", n * kFractalOfResults);
    if (mode == kChangesMode) set_at_[n] = {nullptr, 0};
    waiter.after(done_[n], mode == kChangesMode);
  });
}

void UnitFlags::report_left_over() const {
  for (uint64_t n = 0; n < set_at_.size(); ++n)
    if (set_at_[n].file)
      report("Mmad", set_at_[n], format(": the unit flag of L0C byte %llu is still set when the kernel ends: a Fixpipe with unitFlag 3 is missing",
                                        static_cast<unsigned long long>(n * kFractalOfResults)), "M", n * kFractalOfResults);
}

}  // namespace attnemu
