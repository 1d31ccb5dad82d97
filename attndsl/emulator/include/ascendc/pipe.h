// TPipe, TQue, TBuf: linear allocation of on-chip memory, and the events of queues.
#pragma once
#include <memory>
#include <vector>

#include "spm_buffer.h"

namespace AscendC {

// One buffer of a queue.
struct QueueBuffer {
  uint32_t at = 0, bytes = 0;
  attnemu::MemoryKind memory = attnemu::MemoryKind::UB;
  bool taken = false;
  attnemu::SourceLine taken_at = {};
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

using QueueBuffers = std::shared_ptr<std::vector<QueueBuffer>>;
QueueBuffers new_buffers(uint32_t number);

// Whoever hands memory to queues: at the end, or when the memory gets another use, the queues' last events are waited for.
class BufferOwner {
 public:
  BufferOwner();
  BufferOwner(const BufferOwner&);
  BufferOwner& operator=(const BufferOwner&);
  ~BufferOwner();
  void settle(const SourceLine& at);
  // What was taken and not queued again has no event that would be missed.
  void report_kept() const;
  void add(const QueueBuffers& queue);
  void clear();

 private:
  std::vector<QueueBuffers> queues_;
};

// Whole blocks; a length that leaves no room for rounding stays too long for any memory.
constexpr uint32_t buffer_bytes(uint32_t len) { return len > ~31u ? ~31u : (len + 31u) & ~31u; }
constexpr attnemu::Buffer buffer_of(uint32_t at, uint32_t bytes) { return {at, static_cast<uint64_t>(at) + bytes}; }
constexpr uint32_t grown(uint32_t used, uint32_t bytes) { return bytes > ~used ? ~0u : used + bytes; }
void report_buffers(bool fits, const char* rule, const SourceLine& at, const std::string& message, MemoryKind kind, uint64_t from, uint64_t bytes);

}  // namespace detail

class TPipe : public SpmBuffer {
 public:
  explicit TPipe(attnemu::SourceLine at = attnemu::SourceLine::here()) : at_(at) { Init(); }
  ~TPipe();
  // A copy knows how much is taken, and owns neither queues nor events.
  TPipe(const TPipe& other);
  TPipe& operator=(const TPipe&) = delete;

  // On the cube core TPipe keeps M_MTE1 ids 0..2 set for itself until it is destroyed.
  void Init();
  void Destroy(attnemu::SourceLine at = attnemu::SourceLine::here());
  void DestroyWithoutPipeAll(attnemu::SourceLine at = attnemu::SourceLine::here());
  void Reset(attnemu::SourceLine at = attnemu::SourceLine::here());

  template <class Q>
  bool InitBuffer(Q& queue, uint8_t num, uint32_t len, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    uint32_t bytes = detail::buffer_bytes(len);
    owner_.add(queue.start(num));
    for (uint32_t i = 0; i < num; ++i) queue.place(i, allocate(Q::srcPosition, bytes, at), bytes);
    return true;
  }
  template <class B>
  bool InitBuffer(B& buffer, uint32_t len, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    uint32_t bytes = detail::buffer_bytes(len);
    buffer.take(allocate(B::position, bytes, at), bytes);
    return true;
  }
  template <class P>
  bool InitBufPool(P& pool, uint32_t len, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    uint32_t bytes = detail::buffer_bytes(len);
    pool.take(allocate(P::poolPos, bytes, at), bytes);
    return true;
  }
  // The same memory as another pool's.
  template <class P, class U>
  bool InitBufPool(P& pool, uint32_t len, U& shared, attnemu::SourceLine at = attnemu::SourceLine::here()) {
    shared.share_with(pool, len, at);
    return true;
  }
  // Where the memory of a position begins that nobody asked for yet.
  uint64_t GetBaseAddr(int8_t position) const { return used_[static_cast<int>(detail::memory_of(static_cast<TPosition>(position)))]; }
  template <TPosition pos, class T>
  LocalTensor<T> GetAbsAddr(int32_t offset, int32_t size) const { return LocalTensor<T>(pos, static_cast<uint32_t>(offset), static_cast<uint32_t>(size)); }

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
  static constexpr uint32_t kFixpipeBytes = 7168;

  uint32_t allocate(TPosition position, uint32_t bytes, const attnemu::SourceLine& at);

  attnemu::SourceLine at_;
  bool alive_ = false;
  uint32_t used_[attnemu::kMemories] = {};
  uint32_t buffers_ = 0;
  detail::BufferOwner owner_;
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
    for (size_t i = 0; i < storage_->size(); ++i) {
      QueueBuffer& b = (*storage_)[(next_ + i) % storage_->size()];
      if (b.taken) continue;
      b.taken = true;
      b.taken_at = at;
      next_ = (next_ + i + 1) % storage_->size();
      if (b.free_id >= 0) {
        constexpr detail::PipePair p = detail::pipes_of(kEvents.free);
        attnemu::wait_flag(p.from, p.to, b.free_id, at, attnemu::FlagOwner::Queue);
        attnemu::release_event(p.from, p.to, b.free_id);
        b.free_id = -1;
      }
      return tensor<T>(&b);
    }
    complain("queue_exhausted", at, storage_->empty() ? "AllocTensor: the queue has no buffers: an InitBuffer is missing" : "AllocTensor: every buffer of the queue is taken: a FreeTensor is missing");
    return storage_->empty() ? LocalTensor<T>() : tensor<T>(&(*storage_)[0]);
  }
  template <class T>
  bool EnQue(const LocalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) { return enqueue<kEvents.enqueue>(t, at); }
  // Between other positions than the queue's own: the event is that of the user's two.
  template <TPosition from, TPosition to, class T>
  bool EnQue(const LocalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) { return enqueue<detail::queue_events(from, to).enqueue>(t, at); }
  template <class T>
  LocalTensor<T> DeQue(attnemu::SourceLine at = attnemu::SourceLine::here()) { return dequeue<T, kEvents.enqueue>(at); }
  template <TPosition from, TPosition to, class T>
  LocalTensor<T> DeQue(attnemu::SourceLine at = attnemu::SourceLine::here()) { return dequeue<T, detail::queue_events(from, to).enqueue>(at); }
  // In place of the results above.
  template <class T>
  void AllocTensor(LocalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) { t = AllocTensor<T>(at); }
  template <class T>
  void DeQue(LocalTensor<T>& t, attnemu::SourceLine at = attnemu::SourceLine::here()) { t = DeQue<T>(at); }
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
    for (const QueueBuffer& b : *storage_)
      if (!b.taken) return true;
    return false;
  }

  // Waits until every buffer's latest reader is done.
  void FreeAllEvent(attnemu::SourceLine at = attnemu::SourceLine::here()) {
    detail::BufferOwner all;
    all.add(storage_);
    all.settle(at);
  }
  // For pools of a kernel's own: buffers one by one.
  void InitStartBufHandle(TBufHandle, uint8_t num, uint32_t) { start(num); }
  template <class P>
  void InitBufHandle(P* pool, uint32_t index, TBufHandle, uint32_t address, uint32_t len) {
    pool->owner_.add(storage_);
    place(index, address, len);
  }

 private:
  friend class TPipe;
  template <TPosition pos, uint32_t number> friend class TBufPool;
  static constexpr detail::QueueEvents kEvents = detail::queue_events(src, dst);
  const detail::QueueBuffers& start(uint32_t number) {
    queued_.clear();
    storage_ = detail::new_buffers(number);
    return storage_;
  }
  void place(uint32_t index, uint32_t at, uint32_t bytes) {
    (*storage_)[index].at = at;
    (*storage_)[index].bytes = bytes;
    (*storage_)[index].memory = detail::memory_of(src);
  }
  template <HardEvent event, class T>
  bool enqueue(const LocalTensor<T>& t, const attnemu::SourceLine& at) {
    QueueBuffer* b = t.address().bufferHandle;
    if (!b || !b->taken || b->queued) { complain("queue_order", at, "EnQue: the tensor was not taken from a queue by AllocTensor, or is queued already"); return false; }
    // headers of asc-devkit: of depth 0 a queue has no places, and none is checked
    if (depth && queued_.size() >= static_cast<size_t>(depth))
      complain("queue_depth", at, "EnQue: the queue holds as many tensors as its depth already: one would be lost");
    constexpr detail::PipePair p = detail::pipes_of(event);
    b->enqueue_id = attnemu::allocate_event(p.from, p.to, at);
    attnemu::set_flag(p.from, p.to, b->enqueue_id, at, attnemu::FlagOwner::Queue);
    b->queued = true;
    queued_.push_back(b);
    return true;
  }
  template <class T, HardEvent event>
  LocalTensor<T> dequeue(const attnemu::SourceLine& at) {
    if (queued_.empty()) { complain("queue_order", at, "DeQue: the queue is empty: an EnQue is missing"); return LocalTensor<T>(); }
    QueueBuffer* b = queued_.front();
    queued_.erase(queued_.begin());
    b->queued = false;
    constexpr detail::PipePair p = detail::pipes_of(event);
    attnemu::wait_flag(p.from, p.to, b->enqueue_id, at, attnemu::FlagOwner::Queue);
    attnemu::release_event(p.from, p.to, b->enqueue_id);
    b->enqueue_id = -1;
    return tensor<T>(b);
  }
  template <class T>
  LocalTensor<T> tensor(QueueBuffer* b) const {
    LocalTensor<T> t;
    t.SetAddr({b->bytes, b->at, b, static_cast<uint8_t>(src), 0, detail::buffer_of(b->at, b->bytes)});
    return t;
  }
  static void complain(const char* rule, const attnemu::SourceLine& at, const char* message) {
    if (attnemu::machine->knobs.memcheck) attnemu::machine->report("memcheck", rule, at, message);
  }
  detail::QueueBuffers storage_ = detail::new_buffers(0);
  size_t next_ = 0;
  std::vector<QueueBuffer*> queued_;
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<pos, pos, depth, mask> {};

template <TPosition pos = TPosition::LCM>
class TBuf {
 public:
  static constexpr TPosition position = pos;
  void InitStartBufHandle(TBufHandle, uint8_t, uint32_t) {}
  template <class P>
  void InitBufHandle(P*, uint32_t, TBufHandle, uint32_t address, uint32_t len) { take(address, len); }
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
  void FreeTensor(LocalTensor<T>&) {}  // as queues have it; there is nothing to give back
  template <class T>
  LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset) const {
    LocalTensor<T> t;
    TBuffAddr a = address_;
    a.bufferAddr += bufOffset;
    a.dataLen = static_cast<uint32_t>(detail::bytes_of<T>(size));
    t.SetAddr(a);
    return t;
  }

 private:
  friend class TPipe;
  template <TPosition p, uint32_t number> friend class TBufPool;
  void take(uint32_t at, uint32_t bytes) { address_ = {bytes, at, nullptr, static_cast<uint8_t>(pos), 0, detail::buffer_of(at, bytes)}; }
  TBuffAddr address_ = {0, 0, nullptr, static_cast<uint8_t>(pos), 0, {0, 0}};  // no byte before InitBuffer
};

// All of a memory that no buffer has.
template <class T, TPosition pos>
bool PopStackBuffer(LocalTensor<T>& t) {
  uint32_t from = static_cast<uint32_t>(GetTPipePtr()->GetBaseAddr(static_cast<int8_t>(pos)));
  uint32_t capacity = attnemu::memory_bytes(detail::memory_of(pos));
  t = LocalTensor<T>(pos, from, static_cast<uint32_t>((from < capacity ? capacity - from : 0) / sizeof(T)));
  return true;
}

}  // namespace AscendC
