// Memory in a workspace for what UB has no room for; on Atlas A2 nothing else than global memory takes it.
#pragma once
#include "data_copy.h"
#include "sync.h"

namespace AscendC {
namespace detail {

// `to` waits for everything `from` has been given.
inline void order(Pipe from, Pipe to, const SourceLine& at) {
  int id = attnemu::peek_event(from, to);
  attnemu::set_flag(from, to, id, at);
  attnemu::wait_flag(from, to, id, at);
}

}  // namespace detail

// A face of TPipe. Offsets count elements, as in CANN's headers (the API reference says bytes). Copies come with the events that
// order them with V, MTE2 and MTE3.
class SpmBuffer {
 public:
  template <class T>
  void InitSpmBuffer(const GlobalTensor<T>& workspace, const int32_t bufferSize) {
    memory_.SetGlobalBuffer(reinterpret_cast<uint8_t*>(const_cast<T*>(workspace.GetPhyAddr())), static_cast<uint64_t>(bufferSize));
  }
  template <class T>
  void WriteSpmBuffer(const LocalTensor<T>& writeLocal, const DataCopyParams& p, int32_t writeOffset = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    using attnemu::Pipe;
    if (!fits<T>("WriteSpmBuffer", p.dstStride, p, writeOffset, at)) return;
    detail::order(Pipe::V, Pipe::MTE3, at);
    detail::order(Pipe::MTE2, Pipe::MTE3, at);
    DataCopy(tensor<T>(writeOffset), writeLocal, p, at);
    detail::order(Pipe::MTE3, Pipe::MTE2, at);
    detail::order(Pipe::MTE3, Pipe::V, at);
  }
  template <class T>
  void WriteSpmBuffer(const LocalTensor<T>& writeLocal, const int32_t writeSize, int32_t writeOffset = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    WriteSpmBuffer(writeLocal, run(writeLocal, writeSize, at), writeOffset, at);
  }
  template <class T>
  void ReadSpmBuffer(const LocalTensor<T>& readLocal, const DataCopyParams& p, int32_t readOffset = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    using attnemu::Pipe;
    if (!fits<T>("ReadSpmBuffer", p.srcStride, p, readOffset, at)) return;
    detail::order(Pipe::V, Pipe::MTE2, at);
    DataCopy(readLocal, tensor<T>(readOffset), p, at);
    detail::order(Pipe::MTE2, Pipe::V, at);
    detail::order(Pipe::MTE2, Pipe::MTE3, at);
  }
  template <class T>
  void ReadSpmBuffer(const LocalTensor<T>& readLocal, const int32_t readSize, int32_t readOffset = 0, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    ReadSpmBuffer(readLocal, run(readLocal, readSize, at), readOffset, at);
  }

 private:
  // 0 elements: as many as the tensor's shape says.
  template <class T>
  static DataCopyParams run(const LocalTensor<T>& t, int32_t elements, const attnemu::SourceLine& at) {
    return detail::whole<T>(static_cast<uint32_t>(elements ? elements : GetShapeSize(t.GetShapeInfo())), at);
  }
  template <class T>
  GlobalTensor<T> tensor(int32_t offset) const {
    GlobalTensor<T> t;
    t.SetGlobalBuffer(reinterpret_cast<T*>(const_cast<uint8_t*>(memory_.GetPhyAddr())) + offset);
    return t;
  }
  template <class T>
  bool fits(const char* what, uint16_t stride, const DataCopyParams& p, int32_t offset, const attnemu::SourceLine& at) const {
    uint64_t blocks = p.blockCount ? p.blockCount * static_cast<uint64_t>(p.blockLen) + (p.blockCount - 1ull) * stride : 0;
    uint64_t end = static_cast<uint64_t>(offset) * sizeof(T) + blocks * attnemu::kBlock;
    return detail::require(offset >= 0 && end <= memory_.GetSize(), "spm_range", at,
                           attnemu::format("%s: the copy ends at byte %llu of an SPM buffer of %llu bytes", what, static_cast<unsigned long long>(end), static_cast<unsigned long long>(memory_.GetSize())));
  }
  GlobalTensor<uint8_t> memory_;
};

}  // namespace AscendC
