// TPipe, TQue, TBuf: linear allocation of on-chip memory, and the events of queues.
#pragma once
#include <vector>

#include "sync.h"

namespace AscendC {

// One buffer of a queue.
struct QueueBuffer {
  uint32_t at = 0, bytes = 0;
  bool taken = false;
  int enqueue_id = -1;  // event the consumer waits for
  int free_id = -1;     // event the next producer waits for
  HardEvent free_event = HardEvent::MAX;
  bool queued = false;
};

namespace detail {

struct QueueEvents { HardEvent enqueue, free; };
// Events of a queue whose data come from `from` and go to `to`.
constexpr QueueEvents queue_events(TPosition from, TPosition to) {
  using P = TPosition;
  using H = HardEvent;
  if (from == P::VECIN && to == P::VECOUT) return {H::MTE2_MTE3, H::MTE3_MTE2};
  if (from == P::VECIN || to == P::VECIN) return {H::MTE2_V, H::V_MTE2};
  if (from == P::VECOUT || to == P::VECOUT) return {H::V_MTE3, H::MTE3_V};
  if (from == P::VECCALC) return {H::V_V, H::V_V};
  if (from == P::A1 || from == P::B1 || from == P::C1 || from == P::TSCM) return {H::MTE2_MTE1, H::MTE1_MTE2};
  if (from == P::A2 || from == P::B2 || from == P::C2) return {H::MTE1_M, H::M_MTE1};
  if (from == P::CO1) return {H::M_FIX, H::FIX_M};
  return {H::MTE1_FIX, H::FIX_MTE1};
}

}  // namespace detail

class TPipe {
 public:
  explicit TPipe(attnemu::SourceLine at = attnemu::SourceLine::here()) : at_(at) { Init(); }
  ~TPipe() {
    if (alive_) Destroy(at_);
    attnemu::core->buffers = nullptr;
  }
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;

  // On the cube core TPipe keeps M_MTE1 ids 0..2 set for itself until it is destroyed.
  void Init() {
    attnemu::core->buffers = this;
    attnemu::core->reg.atomic = attnemu::AtomicOp::None;
    alive_ = true;
    if (attnemu::core->kind != attnemu::CoreKind::Cube) return;
    for (int i = 0; i < kHeldEvents; ++i) {
      int id = attnemu::allocate_event(detail::Pipe::M, detail::Pipe::MTE1, at_);
      attnemu::set_flag(detail::Pipe::M, detail::Pipe::MTE1, id, at_, attnemu::FlagOwner::Holder);
    }
  }
  void Destroy(attnemu::SourceLine at = attnemu::SourceLine::here()) {
    alive_ = false;
    for (QueueBuffer* b : queue_buffers_)
      if (b->free_id >= 0) {
        detail::PipePair p = detail::pipes_of(b->free_event);
        attnemu::wait_flag(p.from, p.to, b->free_id, at, attnemu::FlagOwner::Queue);
        attnemu::release_event(p.from, p.to, b->free_id);
        b->free_id = -1;
      }
    if (attnemu::core->kind == attnemu::CoreKind::Cube)
      for (int id = 0; id < kHeldEvents; ++id) {
        attnemu::wait_flag(detail::Pipe::M, detail::Pipe::MTE1, id, at, attnemu::FlagOwner::Holder);
        attnemu::release_event(detail::Pipe::M, detail::Pipe::MTE1, id);
      }
    attnemu::pipe_barrier_all(at);
  }
  void Reset() {
    for (uint32_t& n : used_) n = 0;
    buffers_ = 0;
  }

  template <class Q>
  bool InitBuffer(Q& queue, uint8_t num, uint32_t len, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    uint32_t bytes = static_cast<uint32_t>(attnemu::round_up(len, attnemu::kBlock));
    queue.storage_.resize(num);
    for (QueueBuffer& b : queue.storage_) {
      b.at = allocate(Q::srcPosition, bytes, at);
      b.bytes = bytes;
      queue_buffers_.push_back(&b);
    }
    return true;
  }
  template <class B>
  bool InitBuffer(B& buffer, uint32_t len, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    uint32_t bytes = static_cast<uint32_t>(attnemu::round_up(len, attnemu::kBlock));
    buffer.address_ = {bytes, allocate(B::position, bytes, at), nullptr, static_cast<uint8_t>(B::position)};
    return true;
  }

  template <HardEvent event>
  TEventID AllocEventID(attnemu::SourceLine at = attnemu::SourceLine::here()) {
    constexpr detail::PipePair p = detail::pipes_of(event);
    return static_cast<TEventID>(attnemu::allocate_event(p.from, p.to, at));
  }
  template <HardEvent event>
  void ReleaseEventID(TEventID id) {
    constexpr detail::PipePair p = detail::pipes_of(event);
    attnemu::release_event(p.from, p.to, id);
  }
  TEventID FetchEventID(HardEvent event) {
    detail::PipePair p = detail::pipes_of(event);
    return static_cast<TEventID>(attnemu::peek_event(p.from, p.to));
  }
  template <HardEvent event>
  TEventID FetchEventID() { return FetchEventID(event); }

 private:
  static constexpr int kHeldEvents = 3;
  static constexpr uint32_t kMaxBuffers = 64;

  uint32_t allocate(TPosition position, uint32_t bytes, const attnemu::SourceLine& at) {
    attnemu::MemoryKind kind = detail::memory_of(position);
    uint32_t& used = used_[static_cast<int>(kind)];
    uint32_t from = used, capacity = attnemu::memory_bytes(kind);
    used += bytes;
    if (used > capacity && attnemu::machine->knobs.memcheck)
      attnemu::machine->report("memcheck", "buffer_capacity", at,
                               attnemu::format("InitBuffer: %u bytes more than %u make %u in %s, which has %u", bytes, from, used, attnemu::name_of(kind), capacity),
                               "", attnemu::name_of(kind), from, bytes);
    if (++buffers_ == kMaxBuffers + 1 && attnemu::machine->knobs.memcheck)
      attnemu::machine->report("memcheck", "buffer_count", at, attnemu::format("InitBuffer: more than %u buffers in one TPipe", kMaxBuffers));
    return from;
  }

  attnemu::SourceLine at_;
  bool alive_ = false;
  uint32_t used_[attnemu::kMemories] = {};
  uint32_t buffers_ = 0;
  std::vector<QueueBuffer*> queue_buffers_;
};

}  // namespace AscendC

// In the global namespace in CANN, too.
inline AscendC::TPipe* GetTPipePtr() { return static_cast<AscendC::TPipe*>(attnemu::core->buffers); }

namespace AscendC {

using ::GetTPipePtr;

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
 public:
  static constexpr TPosition srcPosition = src;

  template <class T>
  LocalTensor<T> AllocTensor(attnemu::SourceLine at = attnemu::SourceLine::here()) {
    // buffers take turns, so that the one given back last is taken last
    for (size_t i = 0; i < storage_.size(); ++i) {
      QueueBuffer& b = storage_[(next_ + i) % storage_.size()];
      if (b.taken) continue;
      b.taken = true;
      next_ = (next_ + i + 1) % storage_.size();
      if (b.free_id >= 0) {
        constexpr detail::PipePair p = detail::pipes_of(kEvents.free);
        attnemu::wait_flag(p.from, p.to, b.free_id, at, attnemu::FlagOwner::Queue);
        attnemu::release_event(p.from, p.to, b.free_id);
        b.free_id = -1;
      }
      return tensor<T>(&b);
    }
    complain("queue_exhausted", at, "AllocTensor: every buffer of the queue is taken: a FreeTensor is missing");
    return storage_.empty() ? LocalTensor<T>() : tensor<T>(&storage_[0]);
  }
  template <class T>
  bool EnQue(const LocalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    QueueBuffer* b = t.address().bufferHandle;
    if (!b || !b->taken || b->queued) { complain("queue_order", at, "EnQue: the tensor was not taken from a queue by AllocTensor, or is queued already"); return false; }
    constexpr detail::PipePair p = detail::pipes_of(kEvents.enqueue);
    b->enqueue_id = attnemu::allocate_event(p.from, p.to, at);
    attnemu::set_flag(p.from, p.to, b->enqueue_id, at, attnemu::FlagOwner::Queue);
    b->queued = true;
    queued_.push_back(b);
    return true;
  }
  template <class T>
  LocalTensor<T> DeQue(attnemu::SourceLine at = attnemu::SourceLine::here()) {
    if (queued_.empty()) { complain("queue_order", at, "DeQue: the queue is empty: an EnQue is missing"); return LocalTensor<T>(); }
    QueueBuffer* b = queued_.front();
    queued_.erase(queued_.begin());
    b->queued = false;
    constexpr detail::PipePair p = detail::pipes_of(kEvents.enqueue);
    attnemu::wait_flag(p.from, p.to, b->enqueue_id, at, attnemu::FlagOwner::Queue);
    attnemu::release_event(p.from, p.to, b->enqueue_id);
    b->enqueue_id = -1;
    return tensor<T>(b);
  }
  template <class T>
  void FreeTensor(LocalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    QueueBuffer* b = t.address().bufferHandle;
    if (!b || !b->taken) { complain("queue_order", at, "FreeTensor: the tensor is not taken: freed twice?"); return; }
    constexpr detail::PipePair p = detail::pipes_of(kEvents.free);
    b->free_id = attnemu::allocate_event(p.from, p.to, at);
    b->free_event = kEvents.free;
    attnemu::set_flag(p.from, p.to, b->free_id, at, attnemu::FlagOwner::Queue);
    b->taken = false;
  }
  bool VacantInQue() const { return queued_.size() < static_cast<size_t>(depth); }
  bool HasTensorInQue() const { return !queued_.empty(); }
  int32_t GetTensorCountInQue() const { return static_cast<int32_t>(queued_.size()); }
  bool HasIdleBuffer() const {
    for (const QueueBuffer& b : storage_)
      if (!b.taken) return true;
    return false;
  }

 private:
  friend class TPipe;
  static constexpr detail::QueueEvents kEvents = detail::queue_events(src, dst);
  template <class T>
  LocalTensor<T> tensor(QueueBuffer* b) const {
    LocalTensor<T> t;
    t.SetAddr({b->bytes, b->at, b, static_cast<uint8_t>(src)});
    return t;
  }
  static void complain(const char* rule, const attnemu::SourceLine& at, const char* message) {
    if (attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message);
  }
  std::vector<QueueBuffer> storage_;
  size_t next_ = 0;
  std::vector<QueueBuffer*> queued_;
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<pos, pos, depth, mask> {};

template <TPosition pos = TPosition::LCM>
class TBuf {
 public:
  static constexpr TPosition position = pos;
  template <class T>
  LocalTensor<T> Get() const {
    LocalTensor<T> t;
    t.SetAddr(address_);
    return t;
  }
  template <class T>
  LocalTensor<T> Get(uint32_t len) const {
    LocalTensor<T> t = Get<T>();
    t.SetSize(len);
    return t;
  }
  template <class T>
  LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset) const {
    LocalTensor<T> t;
    TBuffAddr a = address_;
    a.bufferAddr += bufOffset;
    a.dataLen = static_cast<uint32_t>(size * sizeof(T));
    t.SetAddr(a);
    return t;
  }

 private:
  friend class TPipe;
  TBuffAddr address_;
};

}  // namespace AscendC
