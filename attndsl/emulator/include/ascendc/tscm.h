// Queues of memory in L1 that a vector core fills through its cube core, for products of the Matmul library.
#pragma once
#include "data_copy.h"
#include "pipe.h"
#include "sys.h"

namespace AscendC {

// On a vector core the queue sets no flags: its cube core does one request after the other. Both vector cores of a block share
// the cube core's L1, where the second one's buffers lie apart, unless bit 2 of the mask puts them in the same place.
template <TPosition pos, int32_t depth, auto mask = 0>
class TSCM {
  static_assert(pos == TPosition::GM, "TSCM: sources in UB are not modelled");

 public:
  static constexpr TPosition srcPosition = TPosition::TSCM;

  template <class T>
  LocalTensor<T> AllocTensor(attnemu::SourceLine at = attnemu::SourceLine::here()) {
    for (QueueBuffer& b : *storage_) {
      if (b.taken) continue;
      b.taken = true;
      b.taken_at = at;
      detail::require(!apart() || b.at + b.bytes <= first_ + kApart, "unsupported", at, attnemu::format("TSCM: more than %u bytes for each vector core of a block are not modelled", kApart));
      if (b.free_id >= 0) {
        attnemu::wait_flag(Pipe::MTE1, Pipe::MTE2, b.free_id, at, attnemu::FlagOwner::Queue);
        attnemu::release_event(Pipe::MTE1, Pipe::MTE2, b.free_id);
        b.free_id = -1;
      }
      return tensor<T>(&b);
    }
    detail::require(false, "queue_exhausted", at, "AllocTensor: every buffer of the queue is taken: a FreeTensor is missing");
    return storage_->empty() ? LocalTensor<T>() : tensor<T>(&(*storage_)[0]);
  }
  template <class T>
  bool EnQue(const LocalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    QueueBuffer* b = t.address().bufferHandle;
    if (!detail::require(b && b->taken && !b->queued, "queue_order", at, "EnQue: the tensor was not taken from a queue by AllocTensor, or is queued already")) return false;
    detail::require(!depth || queued_.size() < static_cast<size_t>(depth), "queue_depth", at, "EnQue: the queue holds as many tensors as its depth already: one would be lost");
    b->enqueue_id = set(Pipe::MTE2, Pipe::MTE1, at);
    b->queued = true;
    queued_.push_back(b);
    return true;
  }
  template <class T>
  LocalTensor<T> DeQue(attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (!detail::require(!queued_.empty(), "queue_order", at, "DeQue: the queue is empty: an EnQue is missing")) return LocalTensor<T>();
    QueueBuffer* b = queued_.front();
    queued_.erase(queued_.begin());
    b->queued = false;
    if (b->enqueue_id >= 0) {
      attnemu::wait_flag(Pipe::MTE2, Pipe::MTE1, b->enqueue_id, at, attnemu::FlagOwner::Queue);
      attnemu::release_event(Pipe::MTE2, Pipe::MTE1, b->enqueue_id);
    }
    return tensor<T>(b);
  }
  template <class T>
  void FreeTensor(LocalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    QueueBuffer* b = t.address().bufferHandle;
    if (!detail::require(b && b->taken, "queue_order", at, "FreeTensor: the tensor is not taken: freed twice?")) return;
    b->free_event = HardEvent::MTE1_MTE2;
    b->free_id = set(Pipe::MTE1, Pipe::MTE2, at);
    b->taken = false;
  }

 private:
  friend class TPipe;
  using Pipe = attnemu::Pipe;
  static constexpr uint32_t kApart = 180 << 10;  // half of what the library leaves of L1
  static bool same_place() {
    if constexpr (std::is_integral_v<decltype(mask)>) return mask & 4;
    else return mask && mask->scmBlockGroup;
  }
  static bool apart() { return attnemu::core->kind == attnemu::CoreKind::Vector && GetSubBlockNum() == 2 && !same_place(); }
  static int set(Pipe from, Pipe to, const attnemu::SourceLine& at) {
    if (attnemu::core->kind == attnemu::CoreKind::Vector) return -1;
    int id = attnemu::allocate_event(from, to, at);
    attnemu::set_flag(from, to, id, at, attnemu::FlagOwner::Queue);
    return id;
  }
  const detail::QueueBuffers& start(uint32_t number) {
    queued_.clear();
    storage_ = std::make_shared<std::vector<QueueBuffer>>(number);
    return storage_;
  }
  void place(uint32_t index, uint32_t at, uint32_t bytes) {
    first_ = apart() && GetSubBlockIdx() == 1 ? kApart : 0;
    (*storage_)[index].at = first_ + at;
    (*storage_)[index].bytes = bytes;
    (*storage_)[index].memory = attnemu::MemoryKind::L1;
  }
  template <class T>
  LocalTensor<T> tensor(QueueBuffer* b) const {
    LocalTensor<T> t;
    t.SetAddr({b->bytes, b->at, b, static_cast<uint8_t>(TPosition::TSCM), 0, detail::buffer_of(b->at, b->bytes)});
    return t;
  }
  detail::QueueBuffers storage_ = std::make_shared<std::vector<QueueBuffer>>();
  std::vector<QueueBuffer*> queued_;
  uint32_t first_ = 0;  // byte of L1 where this core's part begins
};

}  // namespace AscendC
