#include "attnemu/cost.h"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace attnemu {
namespace {

const char* const op_names[] = {
#define ATTNEMU_NAME(name) #name,
    ATTNEMU_OPS(ATTNEMU_NAME)
#undef ATTNEMU_NAME
};

int op_number(const std::string& name) {
  for (int i = 0; i < kOps; ++i)
    if (name == op_names[i]) return i;
  throw std::runtime_error("cost of an unknown operation: " + name);
}

int type_number(const std::string& name) {
  if (name == "any") return 0;
  for (int t = 0; t <= static_cast<int>(DType::U64); ++t)
    if (name == name_of(static_cast<DType>(t))) return 1 + t;
  throw std::runtime_error("cost of an unknown type: " + name);
}

struct RateName { const char* name; double Rates::*field; };
constexpr RateName rate_names[] = {{"clock", &Rates::clock}, {"l2", &Rates::l2}, {"l2_read", &Rates::l2_read}, {"l2_bytes", &Rates::l2_bytes},
                                   {"hbm", &Rates::hbm}, {"miss", &Rates::miss},
                                   {"atomic", &Rates::atomic}, {"accumulate", &Rates::accumulate}, {"bank", &Rates::bank}, {"read_write", &Rates::read_write}, {"queue", &Rates::queue}};

}  // namespace

const char* name_of(Op op) { return op_names[static_cast<int>(op)]; }

void CostTable::set_rate(const std::string& name, double value) {
  for (const RateName& r : rate_names)
    if (name == r.name) { rates.*r.field = value; return; }
  throw std::runtime_error("no such rate: " + name);
}

void CostTable::read(std::istream& in) {
  std::string line, word, name, type;
  while (std::getline(in, line)) {
    std::istringstream s(line);
    s >> word >> name;
    if (word == "rate") {
      double value = 0;
      s >> value;
      set_rate(name, value);
      continue;
    }
    Cost c;
    s >> type >> c.head >> c.per_unit >> c.latency >> c.least >> c.per_row >> c.per_piece;
    if (word != "cost" || !s) throw std::runtime_error("unreadable cost: " + line);
    c.known = true;
    cost_[op_number(name)][type_number(type)] = c;
  }
  for (int i = 0; i < kOps; ++i)
    if (!cost_[i][0].known) throw std::runtime_error(std::string("no cost for ") + op_names[i] + " in attndsl/target/costs.py");
  for (const RateName& r : rate_names)
    if (rates.*r.field <= 0) throw std::runtime_error(std::string("no rate for ") + r.name + " in attndsl/target/costs.py");
  complete_ = true;
}

void CostTable::read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read the costs in '" + path + "'");
  read(in);
}

CostTable& cost_table() { static CostTable table; return table; }

}  // namespace attnemu
