// The compiler's own names, which sources use beside the API's: global functions, pipes as operands.
#pragma once
#include <type_traits>

#include "attnemu/sync.h"
#include "macros.h"
#include "types.h"

inline void pipe_barrier(pipe_t pipe, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  if (pipe == PIPE_ALL) attnemu::pipe_barrier_all(at);
  else attnemu::pipe_barrier(AscendC::detail::pipe_of(pipe), at);
}
// `id` from 0 to 7 for each pair of pipes, shared with SetFlag and WaitFlag of the pair.
inline void set_flag(pipe_t from, pipe_t to, int32_t id, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::set_flag(AscendC::detail::pipe_of(from), AscendC::detail::pipe_of(to), id, at);
}
inline void wait_flag(pipe_t from, pipe_t to, int32_t id, attnemu::SourceLine at = attnemu::SourceLine::here()) {
  attnemu::wait_flag(AscendC::detail::pipe_of(from), AscendC::detail::pipe_of(to), id, at);
}
// The pack is empty: it makes them less of a match than a program's own or std's, where such are in sight.
template <class T, class U, class... None, class = std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<U> && sizeof...(None) == 0>>
constexpr std::common_type_t<T, U> min(T a, U b, None...) { return static_cast<std::common_type_t<T, U>>(b) < static_cast<std::common_type_t<T, U>>(a) ? b : a; }
template <class T, class U, class... None, class = std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<U> && sizeof...(None) == 0>>
constexpr std::common_type_t<T, U> max(T a, U b, None...) { return static_cast<std::common_type_t<T, U>>(a) < static_cast<std::common_type_t<T, U>>(b) ? b : a; }
// Instructions need no cache in the model.
inline void icache_preload(int64_t) {}
