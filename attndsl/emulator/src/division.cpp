// Integer divisions by zero: the host's processor traps, the scalar unit does not.
#include "attnemu/division.h"

#include <signal.h>
#include <ucontext.h>

#include "attnemu/machine.h"

namespace attnemu {
namespace {

#if defined(__x86_64__) && defined(__linux__)

struct Division {
  int length = 0;  // of the instruction, in bytes; 0: it is no division
  int bits = 32;
};

// Bytes that ModRM's operand takes: itself, SIB and displacement.
int operand_length(const uint8_t* modrm) {
  int mod = *modrm >> 6, rm = *modrm & 7;
  if (mod == 3) return 1;
  int length = rm == 4 ? 2 : 1;
  int base = rm == 4 ? modrm[1] & 7 : rm;
  if (mod == 1) return length + 1;
  if (mod == 2) return length + 4;
  return base == 5 ? length + 4 : length;
}

Division decode(const uint8_t* code) {
  Division d;
  const uint8_t* p = code;
  for (; *p == 0x66 || *p == 0x2E || *p == 0x3E; ++p)
    if (*p == 0x66) d.bits = 16;
  if ((*p & 0xF0) == 0x40) {  // REX; its bit 3 makes it 64
    if (*p & 8) d.bits = 64;
    ++p;
  }
  if (*p != 0xF6 && *p != 0xF7) return d;
  if (*p == 0xF6) d.bits = 8;
  int operation = (p[1] >> 3) & 7;
  if (operation != 6 && operation != 7) return d;  // div and idiv
  d.length = static_cast<int>(p + 1 - code) + operand_length(p + 1);
  return d;
}

// As on processors that do not trap: the quotient is 0, the remainder the dividend.
void give_zero(gregset_t& r, int bits) {
  auto dividend = static_cast<uint64_t>(r[REG_RAX]);
  auto put = [&](int which, uint64_t value) {
    uint64_t kept = bits == 16 ? static_cast<uint64_t>(r[which]) & ~0xFFFFull : 0;
    r[which] = static_cast<greg_t>(kept | (bits == 64 ? value : value & ((1ull << bits) - 1)));
  };
  if (bits == 8) {  // AL and AH
    r[REG_RAX] = static_cast<greg_t>((dividend & ~0xFFFFull) | (dividend & 0xFF) << 8);
    return;
  }
  put(REG_RDX, dividend);
  put(REG_RAX, 0);
}

bool step_over(void* context) {
  gregset_t& r = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Division d = decode(reinterpret_cast<const uint8_t*>(r[REG_RIP]));
  if (!d.length) return false;
  give_zero(r, d.bits);
  r[REG_RIP] += d.length;
  return true;
}

#else

bool step_over(void*) { return false; }

#endif

}  // namespace

bool step_over_division(int number, int code, void* context) { return number == SIGFPE && code == FPE_INTDIV && step_over(context); }

bool pass_division(int number, int code, void* context) {
  if (!core || !machine || !step_over_division(number, code, context)) return false;
  machine->report("memcheck", "division_by_zero", core->last,
                  "behind this instruction an integer is divided by zero, or its quotient does not fit: the core goes on, and what comes out is nowhere defined");
  return true;
}

}  // namespace attnemu
