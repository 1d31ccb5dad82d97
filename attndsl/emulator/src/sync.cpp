#include "attnemu/sync.h"

#include <algorithm>
#include <string>

namespace attnemu {
namespace {

std::string pair_name(Pipe from, Pipe to, int id) { return format("%s_%s id %d", name_of(from), name_of(to), id); }

void complain(const char* rule, const SourceLine& at, Pipe p, std::string message, const std::string& other = "") {
  if (machine->knobs.synccheck)
    machine->report("synccheck", rule, at, std::move(message), name_of(p), "", 0, 0, other);
}

// Both pipes exist on the running core and the id is one of eight.
bool usable(Pipe from, Pipe to, int id, const char* what, const SourceLine& at) {
  core->came_to(at);
  if (id < 0 || id >= kEventIds) {
    complain("event_id_range", at, from, format("%s %s: ids are 0..%d", what, pair_name(from, to, id).c_str(), kEventIds - 1));
    return false;
  }
  if (core->has(from) && core->has(to)) return true;
  if (machine->knobs.strict_core)
    complain("event_on_wrong_core", at, from, format("%s %s: %s has no such pipe; guard the call by the core kind", what,
                                                     pair_name(from, to, id).c_str(), core->label().c_str()));
  return false;
}

// A unit arrives at a core's counter.
void raise_counter(Core& target, int id, Arrival a) {
  CrossCounter& c = target.counters[static_cast<size_t>(id)];
  if (!c.ready.empty() && c.ready.back().mode != a.mode)
    complain("cross_core_mixed_modes", a.at, Pipe::S,
             format("cross-core flag %d of %s holds units of mode %d and mode %d at once", id, target.label().c_str(),
                    c.ready.back().mode, a.mode));
  if (target.waiting_id == id) machine->awaken(a.time.at);
  c.ready.push_back(std::move(a));
  if (c.ready.size() == kCounterMax + 1)
    complain("cross_core_overflow", c.ready.back().at, Pipe::S,
             format("cross-core flag %d of %s counts beyond %d: wait for the other side in between", id,
                    target.label().c_str(), kCounterMax));
}

// When every member has sent, one unit of each is consumed and `targets` are raised with the joined clock.
void match(const std::vector<Core*>& members, const std::vector<Core*>& targets, int mode, int id) {
  for (Core* m : members)
    if (m->counters[static_cast<size_t>(id)].sent[mode].empty()) return;
  Arrival joined = std::move(members[0]->counters[static_cast<size_t>(id)].sent[mode].front());
  for (Core* m : members) {
    auto& sent = m->counters[static_cast<size_t>(id)].sent[mode];
    if (m != members[0]) {
      joined.clock.join(sent.front().clock);
      joined.time.not_before(sent.front().time);
    }
    sent.pop_front();
  }
  for (Core* t : targets) raise_counter(*t, id, joined);
}

std::vector<Core*> all_of(CoreKind kind) {
  std::vector<Core*> out;
  for (auto& c : machine->cores)
    if (c->kind == kind) out.push_back(c.get());
  return out;
}

std::vector<Core*> block_of(int block, CoreKind kind) {
  std::vector<Core*> out;
  for (auto& c : machine->cores)
    if (c->kind == kind && c->block == block) out.push_back(c.get());
  return out;
}

}  // namespace

void set_flag(Pipe from, Pipe to, int id, const SourceLine& at, FlagOwner owner) {
  if (!usable(from, to, id, "SetFlag", at)) return;
  EventFlag& f = core->events.flag[static_cast<int>(from)][static_cast<int>(to)][id];
  core->issue(from, false);
  VectorClock now = core->snapshot(from);
  if (f.set) {
    if (f.held_by_runtime && owner != FlagOwner::Holder)
      complain("event_held_by_pipe", at, from, format("SetFlag %s: TPipe holds this id for itself from its construction; call pipe.Destroy() first or take another id",
                                                      pair_name(from, to, id).c_str()));
    else
      complain("doubled_set", at, from, format("SetFlag %s: the flag is already set (at %s) and nothing waited for it",
                                               pair_name(from, to, id).c_str(), machine->text(f.set_at).c_str()),
               machine->text(f.set_at));
  } else if (!machine->knobs.flags_count && !machine->knobs.timing && owner == FlagOwner::Kernel && f.waited && to != Pipe::S && now[core->agent(to)] < f.wait_count) {
    complain("set_overtakes_wait", at, from,
             format("SetFlag %s may fire before pipe %s passed its previous wait (at %s): order %s after it by a flag %s_%s",
                    pair_name(from, to, id).c_str(), name_of(to), machine->text(f.wait_at).c_str(), name_of(from),
                    name_of(to), name_of(from)),
             machine->text(f.wait_at));
  }
  f.set = true;
  f.held_by_runtime = owner == FlagOwner::Holder;
  f.captured = std::move(now);
  f.fires = core->time.set_flag(*core, from);
  f.set_at = at;
}

void wait_flag(Pipe from, Pipe to, int id, const SourceLine& at, FlagOwner owner) {
  if (!usable(from, to, id, "WaitFlag", at)) return;
  EventFlag& f = core->events.flag[static_cast<int>(from)][static_cast<int>(to)][id];
  uint32_t count = core->issue(to, false);
  if (!f.set) {
    if (owner != FlagOwner::Holder)
      complain("wait_without_set", at, to, format("WaitFlag %s: no SetFlag comes before it in program order: pipe %s would wait for ever",
                                                  pair_name(from, to, id).c_str(), name_of(to)));
    return;
  }
  if (f.held_by_runtime && owner != FlagOwner::Holder)
    complain("event_held_by_pipe", at, to, format("WaitFlag %s: takes the unit TPipe set for itself; call pipe.Destroy() first or take another id",
                                                  pair_name(from, to, id).c_str()));
  core->join(to, f.captured);
  core->time.wait_flag(*core, to, f.fires, at);
  f.set = false;
  f.held_by_runtime = false;
  f.waited = true;
  f.wait_count = count;
  f.wait_at = at;
}

void pipe_barrier(Pipe p, const SourceLine& at) {
  core->came_to(at);
  if (!core->has(p)) return;
  core->barrier(p);
  core->time.barrier(*core, p, at);
  if (p == Pipe::V) core->open_results.clear();
}

void pipe_barrier_all(const SourceLine& at) {
  core->came_to(at);
  core->barrier_all();
  core->time.barrier_all(*core, at);
  core->open_results.clear();
}

void blocks_meet(const char* what, const SourceLine& at) {
  if (machine->blocks_start_together || machine->shape.blocks < 2) return;
  complain("blocks_start_apart", at, Pipe::S,
           format("%s: the %d blocks wait for each other, but the launch does not ask for all of them to start together: set the schedule mode to 1 (batch mode)",
                  what, machine->shape.blocks));
}

void cross_core_set(int mode, Pipe p, int id, const SourceLine& at) {
  core->came_to(at);
  if (id < 0 || id >= kCounterIds) {
    complain("cross_core_id_range", at, p, format("CrossCoreSetFlag: id %d, ids are 0..%d", id, kCounterIds - 1));
    id &= kCounterIds - 1;
  }
  if (mode < 0 || mode > 2) return complain("cross_core_mode", at, p, format("CrossCoreSetFlag: mode %d, modes are 0, 1, 2", mode));
  if (!core->has(p)) {
    if (machine->knobs.strict_core)
      complain("event_on_wrong_core", at, p, format("CrossCoreSetFlag: %s has no pipe %s", core->label().c_str(), name_of(p)));
    return;
  }
  if (mode == 1 && core->kind == CoreKind::Cube) return complain("cross_core_mode", at, p, "CrossCoreSetFlag mode 1 is for the vector cores of a block");
  CrossCounter& own = core->counters[static_cast<size_t>(id)];
  for (int other = 0; other < 3; ++other)
    if (other != mode && !own.sent[other].empty())
      complain("cross_core_mixed_modes", at, p, format("cross-core flag %d set in mode %d while a set in mode %d is outstanding", id, mode, other));
  core->issue(p, false);
  own.sent[mode].push_back({core->snapshot(p), at, mode, core->time.cross_core_set(*core, p)});
  if (mode == 0) {
    blocks_meet("CrossCoreSetFlag mode 0", at);
    auto group = all_of(core->kind);
    return match(group, group, mode, id);
  }
  auto vectors = block_of(core->block, CoreKind::Vector);
  if (mode == 1) return match(vectors, vectors, mode, id);
  auto cubes = block_of(core->block, CoreKind::Cube);
  if (cubes.empty() || vectors.empty())
    return complain("cross_core_mode", at, p, "CrossCoreSetFlag mode 2 needs cube and vector cores in the block");
  core->kind == CoreKind::Cube ? match(cubes, vectors, mode, id) : match(vectors, cubes, mode, id);
}

void cross_core_wait(int id, const SourceLine& at) {
  core->came_to(at);
  if (id < 0 || id >= kCounterIds) {
    complain("cross_core_id_range", at, Pipe::S, format("CrossCoreWaitFlag: id %d, ids are 0..%d", id, kCounterIds - 1));
    id &= kCounterIds - 1;
  }
  machine->wait_for_counter(id, at);
  auto& ready = core->counters[static_cast<size_t>(id)].ready;
  core->issue(Pipe::S, false);
  core->join(Pipe::S, ready.front().clock);
  core->time.wait_until(*core, ready.front().time, Op::CrossCoreWait, "cross-core flag", at);
  ready.pop_front();
}

int peek_event(Pipe from, Pipe to) {
  uint8_t taken = core->events.reserved[static_cast<int>(from)][static_cast<int>(to)];
  for (int id = 0; id < kEventIds; ++id)
    if (!(taken >> id & 1)) return id;
  return -1;
}

int allocate_event(Pipe from, Pipe to, const SourceLine& at) {
  int id = peek_event(from, to);
  if (id < 0) {
    complain("events_exhausted", at, from, format("AllocEventID: all %d ids of %s_%s are taken", kEventIds, name_of(from), name_of(to)));
    return 0;
  }
  core->events.reserved[static_cast<int>(from)][static_cast<int>(to)] |= static_cast<uint8_t>(1u << id);
  return id;
}

void release_event(Pipe from, Pipe to, int id) {
  if (id >= 0 && id < kEventIds)
    core->events.reserved[static_cast<int>(from)][static_cast<int>(to)] &= static_cast<uint8_t>(~(1u << id));
}

// Another address than the host's sends a core's flags astray; the model delivers them all the same.
void set_sync_base(uint64_t address, const SourceLine& at) {
  core->came_to(at);
  if (address != kSyncBase)
    complain("sync_base", at, Pipe::S,
             format("SetSyncBaseAddr: 0x%llx is not where cross-core flags live: pass on 0x%llx, which aclrtGetHardwareSyncAddr tells the host",
                    static_cast<unsigned long long>(address), static_cast<unsigned long long>(kSyncBase)));
}

}  // namespace attnemu
