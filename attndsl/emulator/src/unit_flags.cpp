#include "attnemu/unit_flags.h"

#include <algorithm>
#include <utility>

#include "attnemu/machine.h"

namespace attnemu {
namespace {

void report(const char* what, const SourceLine& at, const std::string& text, const char* pipe, uint64_t address) {
  if (machine->knobs.synccheck) machine->report("synccheck", "unit_flag", at, std::string(what) + text, pipe, name_of(MemoryKind::L0C), address);
}

}  // namespace

void UnitFlags::list(const Extent& e, bool rows_first, Fractals& out) {
  std::vector<Fractals> columns;
  size_t longest = 0;
  for (uint64_t o = 0; o < e.outer; ++o)
    for (uint64_t i = 0; i < e.inner; ++i) {
      uint64_t from = e.at + o * e.jump + i * e.step, end = from + e.run;
      columns.emplace_back();
      for (uint64_t n = from / kFractalOfResults; n * kFractalOfResults < end && n < kL0cBytes / kFractalOfResults; ++n)
        columns.back().push_back(static_cast<uint32_t>(n));
      longest = std::max(longest, columns.back().size());
    }
  if (!rows_first)
    for (const Fractals& column : columns) out.insert(out.end(), column.begin(), column.end());
  else
    for (size_t row = 0; row < longest; ++row)
      for (const Fractals& column : columns)
        if (row < column.size()) out.push_back(column[row]);
}

void UnitFlags::come(Pipe pipe, const Fractals& fractals, const char* what, const SourceLine& at) {
  for (uint32_t n : fractals) {
    const Flag& flag = flags_[n];
    const uint64_t address = static_cast<uint64_t>(n) * kFractalOfResults;
    if (pipe == Pipe::M && flag.set_at.file)
      report(what, at, format(": waits for ever for the unit flag of L0C byte %llu, set by %s: no Fixpipe with unitFlag 3 took the results away",
                              static_cast<unsigned long long>(address), machine->text(flag.set_at).c_str()), name_of(pipe), address);
    if (pipe == Pipe::FIX && !flag.set_at.file)
      report(what, at, format(": waits for ever for the unit flag of L0C byte %llu: the last product there must have unitFlag 3",
                              static_cast<unsigned long long>(address)), name_of(pipe), address);
    if (flag.done) core->join(pipe, *flag.done);
  }
}

void UnitFlags::leave(Pipe pipe, uint32_t mode, const Fractals& fractals, const SourceLine& at) {
  const bool changes = mode == kChanges;
  auto done = changes ? std::make_shared<const VectorClock>(core->snapshot(pipe)) : nullptr;
  for (uint32_t n : fractals) {
    Flag& flag = flags_[n];
    if (pipe == Pipe::M) flag.set_at = changes ? at : SourceLine{nullptr, 0};
    else if (changes) flag.set_at = {nullptr, 0};
    if (changes) flag.done = done;
  }
}

void UnitFlags::report_left_over() const {
  for (uint64_t n = 0; n < flags_.size(); ++n)
    if (flags_[n].set_at.file)
      report("Mmad", flags_[n].set_at, format(": the unit flag of L0C byte %llu is still set when the kernel ends: a Fixpipe with unitFlag 3 is missing",
                                              static_cast<unsigned long long>(n * kFractalOfResults)), "M", n * kFractalOfResults);
}

UnitTurn::UnitTurn(UnitFlags& flags, uint32_t mode, UnitFlags::Fractals fractals) : flags_(&flags), mode_(mode), fractals_(std::move(fractals)) {}

Instant UnitTurn::go(const Instant& start, double head, double body, int cause) {
  const double each = body / static_cast<double>(fractals_.size());
  Instant begun = start;  // where it last had to wait
  begun.spend(head, cause);
  size_t since = 0;
  through_.resize(fractals_.size());
  for (size_t i = 0; i < fractals_.size(); ++i) {
    const Instant& free = flags_->changed(fractals_[i]);
    if (free.at > begun.at + each * static_cast<double>(i - since)) {
      begun = free;
      since = i;
    }
    through_[i] = begun;
    through_[i].spend(each * static_cast<double>(i - since + 1), cause);
  }
  return through_.back();
}

void UnitTurn::leave(double later, int later_cause, double latency, int cause) {
  if (mode_ != UnitFlags::kChanges) return;
  for (size_t i = 0; i < fractals_.size(); ++i) {
    through_[i].spend(later * static_cast<double>(i + 1) / static_cast<double>(fractals_.size()), later_cause);
    through_[i].spend(latency, cause);
    flags_->change_at(fractals_[i], through_[i]);
  }
}

}  // namespace attnemu
