// Rows that library functions reduce: one row after the other, its value taken by the scalar unit.
#pragma once
#include "library_steps.h"
#include "vector_reduce.h"

namespace AscendC::detail {

// Orders the scalar unit and the vector unit, and nothing else: what a kernel forgot to order is still found.
inline void in_turn(Pipe first, Pipe second, HardEvent event, const SourceLine& at) {
  int32_t id = GetTPipePtr()->FetchEventID(event);
  attnemu::set_flag(first, second, id, at);
  attnemu::wait_flag(first, second, id, at);
}
inline void vector_to_scalar(const SourceLine& at) { in_turn(Pipe::V, Pipe::S, HardEvent::V_S, at); }
inline void scalar_to_vector(const SourceLine& at) { in_turn(Pipe::S, Pipe::V, HardEvent::S_V, at); }
template <class T>
float value_at(const LocalTensor<T>& t, uint32_t i, const SourceLine& at) {
  vector_to_scalar(at);
  float v = static_cast<float>(t.GetValue(i, at));
  scalar_to_vector(at);
  return v;
}
// The sum or the extreme of `n` elements at `src`, with `room` lanes of scratch at `w` for the value of each repeat.
template <attnemu::Reduction op, class T>
float row_value(const LocalTensor<T>& src, uint32_t n, const LocalTensor<T>& w, uint32_t room, const SourceLine& at) {
  constexpr uint32_t per = 256 / sizeof(T), most = MAX_REPEAT_TIMES;
  auto reduce = [&](const LocalTensor<T>& to, const LocalTensor<T>& from, uint32_t mask, uint32_t repeats) {
    if (!repeats) return;
    auto m = static_cast<int32_t>(mask), r = static_cast<int32_t>(repeats);
    if constexpr (op == attnemu::Reduction::Sum) WholeReduceSum(to, from, m, r, 1, 1, 8, at);
    else if constexpr (op == attnemu::Reduction::Max) WholeReduceMax(to, from, m, r, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE, at);
    else WholeReduceMin(to, from, m, r, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE, at);
  };
  float value = 0;
  room = std::min(room, most);
  for (uint32_t first = 0; first < n; first += room * per) {
    uint32_t left = std::min(n - first, room * per);
    LocalTensor<T> from = src[first];
    // each level leaves one lane a repeat; behind the first one it works in place
    for (;;) {
      reduce(w, from, per, left / per);
      finish(at);  // in place, the rest's lane may be one that was read
      reduce(w[left / per], from[left / per * per], left % per, left % per != 0);
      finish(at);
      left = (left + per - 1) / per;
      if (left == 1) break;
      from = w;
    }
    float part = value_at(w, 0, at);
    if (first == 0) value = part;
    else if constexpr (op == attnemu::Reduction::Sum) value += part;
    else if constexpr (op == attnemu::Reduction::Max) value = std::max(value, part);
    else value = std::min(value, part);
  }
  return value;
}
// A single element, which need not lie at the start of a block. What reads it behind the vector unit is ordered by what orders that.
template <class T>
void set_value(const LocalTensor<T>& t, uint32_t i, float v, const SourceLine& at) {
  vector_to_scalar(at);
  t.SetValue(i, static_cast<T>(v), at);
  scalar_to_vector(at);
}
template <class T>
void fill_block(const LocalTensor<T>& t, float v, const SourceLine& at) {
  Duplicate(t, static_cast<T>(v), static_cast<int32_t>(32 / sizeof(T)), at);
  finish(at);
}
// A row in float: the row itself, or, of halves, what `wide` then holds.
inline LocalTensor<float> widened(const LocalTensor<float>& row, const LocalTensor<float>&, uint32_t, const SourceLine&) { return row; }
template <class Wide>
LocalTensor<Wide> widened(const LocalTensor<half>& row, const LocalTensor<Wide>& wide, uint32_t n, const SourceLine& at) {
  Cast(wide, row, RoundMode::CAST_NONE, n, at);
  finish(at);
  return wide;
}
inline LocalTensor<float> working_row(const LocalTensor<float>& dst, const LocalTensor<float>&) { return dst; }
inline LocalTensor<float> working_row(const LocalTensor<half>&, const LocalTensor<float>& wide) { return wide; }
inline void narrow(const LocalTensor<float>&, const LocalTensor<float>&, uint32_t, const SourceLine&) {}
template <class Wide>
void narrow(const LocalTensor<half>& dst, const LocalTensor<Wide>& row, uint32_t n, const SourceLine& at) {
  Cast(dst, row, RoundMode::CAST_NONE, n, at);
  finish(at);
}

}  // namespace AscendC::detail
