#include "attnemu/soft_sync.h"

#include <algorithm>

#include "attnemu/errands.h"
#include "attnemu/findings.h"
#include "attnemu/machine.h"
#include "attnemu/sync.h"

namespace attnemu {
namespace {

SoftWord& word_of(Place p) {
  SoftWord& w = machine->soft_words[p.memory->data + p.at];
  if (!w.clock.size()) w.clock = VectorClock(machine->agents());
  return w;
}

// Everything the core issued so far is complete; the clock that says so.
VectorClock arrive(const SourceLine& at) {
  core->last = at;
  core->barrier_all();
  core->time.barrier_all(*core, at);
  core->issue(Pipe::S, false);
  return core->snapshot(Pipe::S);
}

void take_over(const VectorClock& past, const Instant& when, const SourceLine& at) {
  core->issue(Pipe::S, false);
  core->join(Pipe::S, past);
  core->time.wait_until(*core, when, Op::SoftSync, "word", at);
}

void leave(SoftWord& w, const VectorClock& now) {
  w.clock.join(now);
  w.set_at.not_before(core->time.now());
}

}  // namespace

void soft_set(const char* what, const SourceLine& at, Place word) {
  VectorClock now = arrive(at);
  SoftWord& w = word_of(word);
  if (w.count) machine->wait_until([&w] { return w.count == 0; }, format("the word %s sets to be clear", what), at);
  take_over(w.clock, w.set_at, at);
  leave(w, now);
  w.count = 1;
}

void soft_take(const char* what, const SourceLine& at, Place word) {
  blocks_meet(what, at);
  VectorClock now = arrive(at);
  SoftWord& w = word_of(word);
  machine->wait_until([&w] { return w.count != 0; }, format("the word of %s to be set", what), at);
  take_over(w.clock, w.set_at, at);
  leave(w, now);
  w.count = 0;
}

void soft_barrier(const char* what, const SourceLine& at, Place workspace, uint32_t parties) {
  blocks_meet(what, at);
  VectorClock now = arrive(at);
  SoftWord& w = word_of(workspace);
  leave(w, now);
  uint64_t round = w.round;
  if (++w.count == parties) {
    w.count = 0;
    w.released = w.clock;
    w.released_at = w.set_at;
    ++w.round;
  } else {
    machine->wait_until([&w, round] { return w.round != round; }, format("%s of %u cores", what, parties), at);
  }
  take_over(w.released, w.released_at, at);
}

void soft_arrive(const SourceLine& at, Place word) {
  VectorClock now = arrive(at);
  SoftWord& w = word_of(word);
  leave(w, now);
  ++w.count;
}

void soft_await(const char* what, const SourceLine& at, Place word, uint32_t times) {
  blocks_meet(what, at);
  arrive(at);
  SoftWord& w = word_of(word);
  machine->wait_until([&w, times] { return w.count >= times; }, format("arrival %u of %s", times, what), at);
  take_over(w.clock, w.set_at, at);
}

void turn_begin(const char* what, const SourceLine& at, Place workspace, uint32_t place) {
  blocks_meet(what, at);
  arrive(at);
  SoftWord& w = word_of(workspace);
  machine->wait_until([&w, place] { return w.count == place; }, format("its turn %u in %s", place, what), at);
  take_over(w.clock, w.set_at, at);
}

void turn_end(const SourceLine& at, Place workspace, uint32_t parties) {
  VectorClock now = arrive(at);
  SoftWord& w = word_of(workspace);
  leave(w, now);
  w.count = w.count + 1 == parties ? 0 : w.count + 1;
}

void message_sent(Place message, Pipe by, const SourceLine& at) {
  core->came_to(at);
  SoftWord& w = word_of(message);
  w.clock = core->snapshot(by);
  w.set_at = core->time.done(by);
}

void message_found(Place message, const SourceLine& at) {
  core->came_to(at);
  auto sent = machine->soft_words.find(message.memory->data + message.at);
  if (sent == machine->soft_words.end()) return;
  core->issue(Pipe::S, false);
  core->join(Pipe::S, sent->second.clock);
  core->time.wait_until(*core, sent->second.set_at, Op::ScalarMiss, "message", at);
}

void ask_cube(const char* what, const SourceLine& at, const std::function<void()>& work) {
  Errand errand{&work, arrive(at), core->time.now(), false};
  machine->errands[core->block].push_back(&errand);
  machine->wait_until([&errand] { return errand.done; }, format("the cube core of its block to do its %s (does that core register the object?)", what), at);
  take_over(errand.clock, errand.when, at);
}

bool serves_vectors() { return core->kind == CoreKind::Cube && machine->shape.vectors > 0; }

void serve_vectors(const SourceLine& at) {
  auto& waiting = machine->errands[core->block];
  auto all_ended = [block = core->block] {
    for (auto& c : machine->cores)
      if (c->block == block && c->kind == CoreKind::Vector && !c->ended) return false;
    return true;
  };
  while (true) {
    machine->wait_until([&] { return !waiting.empty() || all_ended(); }, "requests of the vector cores of its block", at);
    if (waiting.empty()) return;
    Errand& errand = *waiting.front();
    waiting.pop_front();
    take_over(errand.clock, errand.when, at);
    (*errand.work)();
    errand.clock = arrive(at);
    errand.when = core->time.now();
    errand.done = true;
  }
}

}  // namespace attnemu
