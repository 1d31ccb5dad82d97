"""The values of schedule options that not every computation can have: the one list of them."""

from __future__ import annotations

from attndsl.lowering.attention.continuous import PREFETCHED_SCORES
from attndsl.lowering.attention.few_keys import ROWS_OF_FEW_KEYS
from attndsl.lowering.attention.gathered_sums import SUMS_IN_WORKSPACE
from attndsl.lowering.attention.halves import ALTERNATING_HALVES
from attndsl.lowering.attention.kept_keys import VALUES_FROM_KEYS
from attndsl.lowering.attention.kept_maxima import KEPT_MAXIMA
from attndsl.lowering.attention.narrow_scores import NARROW_SCORES
from attndsl.lowering.attention.probabilities import PROBABILITIES_AS_FRACTALS
from attndsl.lowering.attention.warm_slots import WARMED_SLOTS
from attndsl.lowering.joint_items import JOINT_ITEMS

WAYS = (
    VALUES_FROM_KEYS,
    PREFETCHED_SCORES,
    WARMED_SLOTS,
    PROBABILITIES_AS_FRACTALS,
    ROWS_OF_FEW_KEYS,
    NARROW_SCORES,
    SUMS_IN_WORKSPACE,
    ALTERNATING_HALVES,
    KEPT_MAXIMA,
    JOINT_ITEMS,
)
