// The messages in which vector cores ask the cube core of their block for products (the library's KFC), in place of two classes of
// AscendC's headers. Their words travel as there, by a copy of UB to global memory that the other core polls; but a message is
// put together here in a struct of the core's, since addresses of UB are no pointers, and who finds one is ordered behind it.
#pragma once
#include "attnemu/soft_sync.h"
#include "dav_c220/kfc/kfc_comm.h"
#include "kernel_tpipe.h"
#include "tensors.h"

// What the headers define in these files is defined here.
#define __KERNEL_KFC_COMM_CLIENT_H__
#define __INTF_KFC_COMM_SERVER_H__

namespace attnemu::intrinsics {

// Orders who reads this place behind what a pipe of its writer has done.
inline void sent(const void* p, Pipe by, ATTNEMU_AT) {
  Place place = in_global(p, "a message", at);
  if (place.memory) message_sent(place, by, at);
}
inline void found(const void* p, ATTNEMU_AT) {
  Place place = in_global(p, "a message", at);
  if (place.memory) message_found(place, at);
}
// Cleaning a line again and again gives way to other cores.
inline void look_again(void* p, ATTNEMU_AT) { dcci(p, SINGLE_CACHE_LINE, CACHELINE_OUT, at); }
template <AscendC::HardEvent event>
void order_pipes() {
  const auto id = static_cast<event_t>(GetTPipePtr()->FetchEventID(event));
  AscendC::SetFlag<event>(id);
  AscendC::WaitFlag<event>(id);
}

// Messages that a core writes one after the other, and another reads.
class MessageRing {
 public:
  void begin(uint8_t* first) { first_ = reinterpret_cast<AscendC::KfcMsg*>(first); }
  AscendC::KfcMsg* here() const { return first_ + place_; }
  bool filled() const { return AscendC::KfcMsgGetState(here()->head) != 0; }
  void forward() { place_ = (place_ + 1) % MAX_MSG_COUNT; }
  void back() { place_ = (place_ + MAX_MSG_COUNT - 1) % MAX_MSG_COUNT; }

 private:
  AscendC::KfcMsg* first_ = nullptr;
  int place_ = 0;
};

}  // namespace attnemu::intrinsics

namespace AscendC {

// A vector core's side.
class KfcCommClient {
 public:
  KfcCommClient(uint8_t* workspace, int subBlockID, uint8_t enableHardWare = 0) : idle_(g_coreType != AIV || enableHardWare) {
    if (idle_) return;
    ring_.begin(GetMsgHead(workspace, subBlockID));
    event_ = static_cast<event_t>(GetTPipePtr()->template AllocEventID<HardEvent::MTE3_S>());
    SetFlag<HardEvent::MTE3_S>(event_);
    room_ = GetUBMapAddr(workspace);
    freed_ = GetUBAvaliedAddr(workspace);
  }
  // Tells the cube core that this core asks for nothing more.
  ~KfcCommClient() {
    if (idle_) return;
    KfcMsg* message = AllocMessage();
    message->head = KfcMsgMakeFlag(KFC_Enum::SERVICE_QUIT, 0);
    attnemu::intrinsics::sent(message, attnemu::Pipe::S);
    attnemu::intrinsics::look_again(message);
  }
  KfcCommClient(const KfcCommClient&) = delete;
  KfcCommClient& operator=(const KfcCommClient&) = delete;

  // The next message, once it is free; then ubMsg may be filled.
  KfcMsg* AllocMessage() {
    KfcMsg* message = ring_.here();
    do attnemu::intrinsics::look_again(message);
    while (ring_.filled());
    attnemu::intrinsics::found(message);
    WaitFlag<HardEvent::MTE3_S>(event_);
    ring_.forward();
    return message;
  }
  template <bool isAck>
  void PostMessage(KfcMsg* message) {
    constexpr uint64_t kInUb = TOTAL_UB_SIZE - sizeof(KfcMsg);
    for (uint64_t at = 0; at < sizeof(KfcMsg); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const char*>(ubMsg) + at, sizeof(word));
      attnemu::intrinsics::store_element<uint64_t>(attnemu::intrinsics::on_chip(attnemu::MemoryKind::UB, kInUb + at), word);
    }
    attnemu::intrinsics::order_pipes<HardEvent::S_MTE3>();
    pipe_barrier(PIPE_MTE3);
    copy_ubuf_to_gm(static_cast<void*>(message), reinterpret_cast<void*>(kInUb), 0, 1, sizeof(KfcMsg) / attnemu::kBlock, 0, 0);
    attnemu::intrinsics::sent(message, attnemu::Pipe::MTE3);
    SetFlag<HardEvent::MTE3_S>(event_);
  }
  void FreeMessage(KfcMsg* message) {
    message->head = 0;
    attnemu::intrinsics::look_again(message);
  }
  // Room for an operand that lies in UB, which the cube core cannot read; the message that frees it gives `last` back.
  uint8_t* AllocUB(uint32_t size, int32_t& last) {
    if (used_ + size >= WORKSPACE_UB_SIZE) {
      do read_freed();
      while (used_ < freed_to_ || freed_to_ == 0);
      if (freed_to_ == used_ && size == freed_to_) freed_to_ = 0;
      used_ = 0;
    }
    while (used_ < freed_to_ && used_ + size >= freed_to_) read_freed();
    uint8_t* given = room_ + used_;
    used_ += size;
    last = static_cast<int32_t>(used_);
    return given;
  }

  KfcMsg* ubMsg = &built_;

 private:
  void read_freed() {
    attnemu::intrinsics::look_again(freed_);
    freed_to_ = *reinterpret_cast<const uint32_t*>(freed_);
    attnemu::intrinsics::found(freed_);
  }
  bool idle_;
  KfcMsg built_{};
  attnemu::intrinsics::MessageRing ring_;
  uint8_t *room_ = nullptr, *freed_ = nullptr;
  uint32_t used_ = 0, freed_to_ = 0;
  event_t event_ = EVENT_ID0;
};

// The cube core's side, one for each vector core.
class KfcCommServer {
 public:
  void Init(uint8_t* workspace, int i) {
    ring_.begin(GetMsgHead(workspace, i));
    freed_ = GetUBAvaliedAddr(workspace, i);
    subBlockID = static_cast<uint8_t>(i);
  }
  // The next message, or null.
  KfcMsg* RcvMessage() {
    KfcMsg* message = ring_.here();
    attnemu::intrinsics::look_again(message);
    if (!ring_.filled()) return nullptr;
    attnemu::intrinsics::found(message);
    ring_.forward();
    return message;
  }
  void RollBackMsg() { ring_.back(); }
  void FreeMessage(KfcMsg* message) {
    message->head = 0;
    attnemu::intrinsics::sent(message, attnemu::Pipe::S);
    attnemu::intrinsics::look_again(message);
  }
  // Says up to where room for operands is free again, behind everything that reads them.
  void FreeUB(int32_t last) {
    void* words = reinterpret_cast<void*>(TOTAL_L1_SIZE);
    attnemu::intrinsics::order_pipes<HardEvent::MTE3_MTE2>();
    create_cbuf_matrix(static_cast<uint32_t*>(words), 0x10001, static_cast<uint32_t>(last));
    attnemu::intrinsics::order_pipes<HardEvent::MTE2_MTE3>();
    copy_cbuf_to_gm(static_cast<void*>(freed_), words, 0, 1, 1, 1, 1);
    attnemu::intrinsics::sent(freed_, attnemu::Pipe::MTE3);
  }

  uint8_t subBlockID = 0;

 private:
  attnemu::intrinsics::MessageRing ring_;
  uint8_t* freed_ = nullptr;
};

using KFC_COMM_SERVER_PTR = KfcCommServer*;
#define KFC_COMM_SERVER KfcCommServer

#ifndef __DAV_C220_CUBE__
__BLOCK_LOCAL__ __inline__ KfcCommClient* g_kfcClient;
#endif
inline KfcCommClient* GetKfcClient() {
#ifdef __DAV_C220_CUBE__
  return nullptr;
#else
  return g_kfcClient;
#endif
}

}  // namespace AscendC
