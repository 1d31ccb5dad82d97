#include "attnemu/scalar.h"

#include <cstring>

namespace attnemu {

uint64_t ScalarCache::dirty_lines = 0;
std::unordered_map<uint64_t, std::vector<LineWriter>> ScalarCache::writers;

namespace {

void take_scalar_time(Op op, const char* what, const SourceLine& at) { core->time.execute(*core, Pipe::S, {op, DType::U8}, {}, what, at); }

uint64_t line_key(const Place& p) { return reinterpret_cast<uint64_t>(p.memory->data + p.at) / kCacheLine; }

CachedLine& fetch(const Place& p, const SourceLine& at) {
  CachedLine& line = core->cache.lines[line_key(p)];
  uint64_t offset = reinterpret_cast<uint64_t>(p.memory->data + p.at) % kCacheLine;
  if (line.valid >> offset & 1) return line;
  take_scalar_time(Op::ScalarMiss, "cache miss", at);
  line.memory = p.memory;
  line.at = p.at - offset;
  for (uint32_t i = 0; i < kCacheLine; ++i)
    if (!(line.valid >> i & 1)) line.data[i] = line.at + i < p.memory->bytes + p.memory->room ? p.memory->data[line.at + i] : uint8_t{0};
  line.valid = ~0ull;
  return line;
}

void report_shared(const CachedLine& line, const SourceLine& other, const char* what) {
  if (!machine->knobs.racecheck) return;
  machine->report("racecheck", "shared_cache_line", line.stored_at,
                  format("a scalar store of %s shares the 64 bytes from byte %llu of %s with %s: lines are written back whole, and one of the two is lost",
                         core->label().c_str(), static_cast<unsigned long long>(line.at), line.memory->name.c_str(), what),
                  "S", line.memory->name, line.at, kCacheLine, other.file ? machine->text(other) : "");
}

// Stores of two cores into one line, in no order.
void check_other_writers(const CachedLine& line) {
  if (machine->knobs.timing) return;
  uint16_t self = core->agent(Pipe::S);
  auto& writers = ScalarCache::writers[reinterpret_cast<uint64_t>(line.memory->data + line.at) / kCacheLine];
  LineWriter* mine = nullptr;
  for (LineWriter& w : writers) {
    if (w.agent == self) { mine = &w; continue; }
    if (core->pipe(Pipe::S).clock[w.agent] < w.count)
      report_shared(line, w.stored_at, format("one of %s that nothing orders with it", machine->cores[w.agent / kPipes]->label().c_str()).c_str());
  }
  LineWriter now{self, core->pipe(Pipe::S).issued, line.stored_at};
  if (mine) *mine = now;
  else writers.push_back(now);
}

// Bytes `part` of a line go to memory, whole where one of them was stored.
void write_back(CachedLine& line, uint64_t part = ~0ull) {
  if (!(line.dirty & part)) return;
  check_other_writers(line);
  bool lost = false;
  for (uint32_t i = 0; i < kCacheLine; ++i) {
    if (!(line.valid & part & 1ull << i) || line.at + i >= line.memory->bytes + line.memory->room) continue;
    lost = lost || (!(line.dirty >> i & 1) && line.memory->data[line.at + i] != line.data[i]);
    line.memory->data[line.at + i] = line.data[i];
  }
  if (lost) report_shared(line, {nullptr, 0}, "bytes that memory has newer than the cache");
  for (uint32_t i = 0; i < kCacheLine; i += 4) {
    // whoever reads the word afterwards knows what the core had completed
    if (!((line.dirty & part) >> i & 15)) continue;
    SoftWord& word = machine->soft_words[line.memory->data + line.at + i];
    if (!word.clock.size()) word.clock = VectorClock(machine->agents());
    word.clock.join(core->snapshot(Pipe::S));
  }
  line.dirty &= ~part;
  if (!line.dirty) --ScalarCache::dirty_lines;
}

bool drops(const Place& p) { return p.memory && p.memory->kind == MemoryKind::GM && core->dropped_lines.count(line_key(p)); }

void report_stale(const Instruction& ins, const Place& p, uint32_t bytes) {
  if (!machine->knobs.racecheck) return;
  machine->report("racecheck", "stale_cache_line", ins.at(),
                  format("%s reads bytes [%llu, %llu) of %s from the scalar cache, where memory has newer ones: "
                         "DataCacheCleanAndInvalid the line first",
                         ins.what(), static_cast<unsigned long long>(p.at), static_cast<unsigned long long>(p.at + bytes), p.memory->name.c_str()),
                  "S", p.memory->name, p.at, bytes);
}

Work scalar_work(const Place& p, Op local, Op global) { return {p.memory && p.memory->kind == MemoryKind::GM ? global : local, DType::U8}; }

Extent extent(const Place& p, uint32_t bytes) {
  Extent e;
  e.at = p.at;
  e.run = bytes;
  return e;
}

}  // namespace

uint64_t scalar_load(Place from, uint32_t bytes, const char* what, const SourceLine& at) {
  bool signal = drops(from);
  Instruction ins(Pipe::S, what, at, signal ? kTraitScalarWord : 0);
  if (signal) {
    auto word = machine->soft_words.find(from.memory->data + from.at);
    if (word != machine->soft_words.end() && word->second.clock.size()) core->join(Pipe::S, word->second.clock);
  }
  ins.reads(from, extent(from, bytes));
  if (from.memory) ins.aligned(from, bytes, "the value");
  if (!ins.admit(scalar_work(from, Op::ScalarLoad, Op::ScalarLoadGlobal))) return 0;
  // without data, what nothing has computed is taken for 0
  if (machine->knobs.timing && from.memory->kind == MemoryKind::UB && !core->real_blocks.has_all(from.at / kBlock, 1)) return 0;
  if (!from.memory->is_defined(from.at, bytes)) ins.undefined_reaches("a scalar", from.memory, from.at, bytes);
  uint64_t bits = 0;
  const uint8_t* current = from.memory->data + from.at;
  if (from.memory->kind != MemoryKind::GM) {
    std::memcpy(&bits, current, bytes);
    return bits;
  }
  CachedLine& line = fetch(from, at);
  uint64_t offset = from.at - line.at, mask = ((bytes == 8 ? 0xFFull : (1ull << bytes) - 1)) << offset;
  std::memcpy(&bits, line.data + offset, bytes);
  if (!(line.dirty & mask) && std::memcmp(line.data + offset, current, bytes) != 0) report_stale(ins, from, bytes);
  return bits;
}

void preload_line(Place place, const SourceLine& at) {
  Instruction ins(Pipe::S, "DataCachePreload", at);
  ins.reads(place, extent(place, 1));
  if (ins.admit({Op::ScalarMiss, DType::U8})) fetch(place, at);
}

void scalar_store(Place to, uint64_t bits, uint32_t bytes, const char* what, const SourceLine& at) {
  Instruction ins(Pipe::S, what, at, to.memory && to.memory->kind == MemoryKind::GM ? kTraitScalarWord : 0);
  ins.writes(to, extent(to, bytes));
  if (to.memory) ins.aligned(to, bytes, "the value");
  if (!ins.admit(scalar_work(to, Op::ScalarStore, Op::ScalarStoreGlobal))) return;
  to.memory->set_defined(to.at, bytes, true);
  if (to.memory->kind != MemoryKind::GM) {
    std::memcpy(to.memory->data + to.at, &bits, bytes);
    return;
  }
  CachedLine& line = fetch(to, at);
  uint64_t offset = to.at - line.at;
  std::memcpy(line.data + offset, &bits, bytes);
  if (!line.dirty) ++ScalarCache::dirty_lines;
  line.dirty |= (bytes == 8 ? 0xFFull : (1ull << bytes) - 1) << offset;
  line.stored_at = at;
}

uint64_t load_uncached(Place from, uint32_t bytes, const char* what, const SourceLine& at) {
  const uint8_t* word = from.memory->data + from.at;
  uint64_t bits = 0;
  bool readable = from.at + bytes <= from.memory->bytes + from.memory->room;
  if (readable) std::memcpy(&bits, word, bytes);
  if (readable && core->polled == word && core->polled_bits == bits) machine->yield(at);
  Instruction ins(Pipe::S, what, at);
  ins.accumulates(from, extent(from, bytes));
  ins.aligned(from, bytes, "the value");
  auto flag = machine->soft_words.find(word);
  if (flag != machine->soft_words.end() && flag->second.clock.size()) core->join(Pipe::S, flag->second.clock);
  if (!ins.admit({Op::ScalarMiss, DType::U8})) return 0;
  if (!from.memory->is_defined(from.at, bytes)) ins.undefined_reaches("a scalar", from.memory, from.at, bytes);
  std::memcpy(&bits, word, bytes);
  core->polled = word;
  core->polled_bits = bits;
  return bits;
}

void store_uncached(Place to, uint64_t bits, uint32_t bytes, const char* what, const SourceLine& at) {
  Instruction ins(Pipe::S, what, at);
  ins.accumulates(to, extent(to, bytes));
  ins.aligned(to, bytes, "the value");
  if (!ins.admit({Op::ScalarMiss, DType::U8})) return;
  to.memory->set_defined(to.at, bytes, true);
  std::memcpy(to.memory->data + to.at, &bits, bytes);
  core->polled = nullptr;
  // what the scalar unit waited for is complete; its own earlier stores are after a data barrier only
  VectorClock known = core->pipe(Pipe::S).clock;
  known[core->agent(Pipe::S)] = 0;
  if (core->published.size()) known.join(core->published);
  SoftWord& flag = machine->soft_words[to.memory->data + to.at];
  if (!flag.clock.size()) flag.clock = VectorClock(machine->agents());
  flag.clock.join(known);
}

void data_barrier(const SourceLine& at) {
  core->came_to(at);
  core->issue(Pipe::S, false);
  core->published = core->snapshot(Pipe::S);
}

void clean_cache_line(Place place, const SourceLine& at) {
  core->came_to(at);
  core->issue(Pipe::S, false);
  take_scalar_time(Op::CleanCache, "cache clean", at);
  auto found = core->cache.lines.find(line_key(place));
  // from the place to the end of its line
  uint64_t part = ~0ull << reinterpret_cast<uint64_t>(place.memory->data + place.at) % kCacheLine;
  bool holds_news = found != core->cache.lines.end() && (found->second.dirty & part);
  // again: the core may be polling
  if (!core->dropped_lines.insert(line_key(place)).second && !holds_news) machine->yield(at);
  if (found == core->cache.lines.end()) return;
  write_back(found->second, part);
  found->second.valid &= ~part;
  if (!found->second.valid) core->cache.lines.erase(found);
}

void clean_cache(const SourceLine& at) {
  core->came_to(at);
  core->issue(Pipe::S, false);
  take_scalar_time(Op::CleanCache, "cache clean", at);
  for (auto& entry : core->cache.lines) write_back(entry.second);
  core->cache.lines.clear();
}

void clean_nothing(const SourceLine& at) {
  core->came_to(at);
  core->issue(Pipe::S, false);
  take_scalar_time(Op::CleanCache, "cache clean", at);
}

void write_back_at_end() {
  for (auto& entry : core->cache.lines) {
    CachedLine& line = entry.second;
    if (!line.dirty) continue;
    if (machine->knobs.racecheck && !machine->knobs.clean_at_end)
      machine->report("racecheck", "cache_not_cleaned", line.stored_at,
                      format("a scalar store to %s is still in the scalar cache when the kernel ends: DataCacheCleanAndInvalid its line", line.memory->name.c_str()),
                      "S", line.memory->name, line.at, kCacheLine);
    write_back(line);
  }
}

void check_written_back(Instruction& ins, const Memory& m, const Extent& e) {
  if (!machine->knobs.racecheck) return;
  for (auto& c : machine->cores) {
    if (c.get() == core && ins.pipe() == Pipe::S) continue;  // sees its own cache
    for (auto& entry : c->cache.lines) {
      const CachedLine& line = entry.second;
      if (!line.dirty || line.memory != &m || line.at >= e.end() || line.at + kCacheLine <= e.at) continue;
      bool touched = false;
      for_each_block(e, [&](uint64_t block, uint32_t mask) {
        for (uint32_t i = 0; i < kBlock; ++i) {
          uint64_t byte = block * kBlock + i;
          if ((mask >> i & 1) && byte >= line.at && byte < line.at + kCacheLine && (line.dirty >> (byte - line.at) & 1)) touched = true;
        }
      });
      if (touched)
        machine->report("racecheck", "cache_not_cleaned", line.stored_at,
                        format("%s at %s reads %s before a scalar store of %s left the scalar cache: DataCacheCleanAndInvalid its line in between",
                               ins.what(), machine->text(ins.at()).c_str(), m.name.c_str(), c->label().c_str()),
                        "S", m.name, line.at, kCacheLine, machine->text(ins.at()));
    }
  }
}

}  // namespace attnemu
