// Runs ATB's kernel unpad_flashattention.
#include "prompt.h"
#include "aclrtlaunch_unpad_flashattention.h"

int main(int count, char** words) {
  return run_prompt(count, words, [](const Plan& plan, const std::vector<Mki::Tensor>& in, void* out) {
    const auto& s = plan.scratch;
    ACLRT_LAUNCH_KERNEL(unpad_flashattention)
    (plan.info.blocks, plan.stream, plan.sync, in[0].data, in[1].data, in[2].data, in[3].data, in[4].data, in[5].data, in[6].data,
     in[7].data, in[8].data, in[9].data, in[10].data, in[11].data, out, s[0], s[1], s[2], s[3], plan.tiling);
  });
}
