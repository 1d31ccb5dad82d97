"""Interesting values of sizes and parameters, and how integers, masks and tensors are filled."""

from __future__ import annotations

from dataclasses import dataclass

# No argument can have such a name.
GROUP, FILL, MASK, WORKLOAD, WARNED = "case.group", "case.data", "case.mask", "case.workload", "case.warned"
"""Variables that are no argument: query heads a key/value head, how tensors and masks are filled, what the
case is about, whether constraints that only warn may be broken."""
SLOPE = "case.slope"
"""Of cases of a kernel that are asked for one: how steeply scores rise along the keys, below 0 of those that
fall. Theirs step up or down from tile to tile, 1.0 by 6 in all, sunk ones lie farther below 0, and factors of
integers keep them so. Below 1 in size, every second row has the opposite; 2.0 and 2.5 are kinds of their
own."""
UNEVEN = 2.5
"""A slope of which some rows of queries have the opposite: few or all of a step, those of some steps none."""
SPIKED = 2.0
"""A slope of which some heads have many keys as high as each other and then one that is higher by a jump:
what is left of the sums before it is seen."""
FEW_FORCED, LOST = "case.forced", "case.lost"
"""True in cases of a kernel in which fewer blocks are forced than selected, some at edges of tiles; in which
all scores of some rows are -inf."""
RECIPROCAL_ROOT = "1/sqrt(D)"
# A value that is listed several times is drawn as much more often.
FLOATS = (*(RECIPROCAL_ROOT,) * 4, 1.0, 0.125, -0.5, 0.0)
PROBE, SATURATED = "probe", "extreme"
SUNK, LEVEL, RAMP = "sunk", "level", "ramp"
FILLS = (PROBE, "normal", "normal", SATURATED, RAMP, SUNK, "tiny")
SELECTION_FILLS = (*FILLS, LEVEL, LEVEL, LEVEL)
"""Of operators that select: with level scores, one lost or doubled probability changes what is selected."""
GAPS = "gaps"
"""Lengths of which about a third are 0, and indices of which are none."""
SHORT_ENDS = "short ends"
"""Lengths of which the first and the last one are 1, and all others as long as they may be."""
LENGTH_FILLS = (*("mixed", "edges") * 3, GAPS, "full", "single", "zero", "one")
LONG_FILLS = frozenset({"mixed", "edges", GAPS, "full"})
"""Those with a row as long as it may be."""
MASK_FILLS = (*("random",) * 3, "causal", *("rows",) * 2, "none", "first", "last", "all")
TRUTH_FILLS = frozenset({"none", "all", "first", "last"})
"""Those of them that elements of conditions have, which are true where nothing is hidden."""
SLACK = (0, 0, 0, 1, 3, 17)
"""What a tensor may be larger than it must."""
LONG, FEW, _MANY, _BOTH, DEEP, WIDE, EDGE = (
    "long",
    "long few",
    "many",
    "long many",
    "deep long",
    "wide",
    "edge many",
)
ANY = "any"
WORKLOADS = (FEW, _MANY, WIDE, FEW, _BOTH, FEW, EDGE, ANY, "deep many", FEW, _MANY, DEEP, FEW)
"""What the cases of a stream are in turn. ``long``: more key tiles than the ring has slots; ``few``: tasks
for half of the cores at most, which splits the keys; ``many``: two tasks a core or more. More than a third of
the cases are each of these. ``deep``: in every segment of the keys, those that rows share included, a single
core sees more tiles of a row than the ring has slots, with a split for each of the cores; ``wide``: keys or
values are farther apart than one copy can express; ``edge``: the longest row ends where its first tile does,
or one key before or after. Where a call cannot be as long as its turn wants, it is asked for ``several`` key
tiles."""
RAMPS = (3, 5)
"""The places of the list whose cases have scores that rise or fall along split keys."""
ROOMY = 6 << 20
"""Elements of a tensor in a case whose work asks for more than others."""
SCORES_OF_HALVES = 1 << 25
"""Scores of a case whose tasks have two halves: such tasks are made for so many rows alone."""
MAX_HEADS = 1100
MULTIPLES = tuple(range(16, 129, 16))


def fill_of(name: str) -> str:
    """The variable that tells how an integer tensor is filled."""
    return f"fill({name})"


def longest_keys_of(name: str) -> str:
    """The variable that is the longest of the keys, in an integer tensor of queries and then of keys."""
    return f"longest keys({name})"


@dataclass(frozen=True)
class Values:
    """Interesting values of the sizes, by their role in attention.

    ``most_elements``, ``most_scores``: what a tensor and all scores may have; with the usual ones a case
    takes a fraction of a second.
    """

    batch: tuple[int, ...] = (1, 2, 3, 5, 13, 27)
    # 256: of 256 channels or more, neighbours in memory are farther apart than one copy can express
    kv_heads: tuple[int, ...] = (1, 2, 3, 4, 8, 256)
    # 136: more than any task has rows
    group: tuple[int, ...] = (1, 2, 3, 5, 7, 8, 16, 17, 32, 33, 64, 136)
    head: tuple[int, ...] = (1, 16, 40, 64, 80, 100, 128, 256, 512)
    keys: tuple[int, ...] = (0, 1, 2, 15, 17, 33, 100, 257)
    long_keys: tuple[int, ...] = (4095, 4096, 8192)
    queries: tuple[int, ...] = (1, 2, 3, 17, 63, 64, 65, 127, 128, 129, 200, 300)
    block: tuple[int, ...] = (16, 32, 48, 128, 512)
    pages: tuple[int, ...] = (1, 3, 8, 40)
    columns: tuple[int, ...] = (1, 2, 3, 5, 9, 17, 33)
    groups: tuple[int, ...] = (1, 2, 3, 5)
    # 0: no row shares keys, and lists of a tensor for each group are empty
    share_groups: tuple[int, ...] = (1, 2, 3, 0, 5)
    ranks: tuple[int, ...] = (1, 2, 5, 16, 32)
    other: tuple[int, ...] = (1, 2, 3, 5, 17)
    plain: tuple[int, ...] = (1, 2, 3, 5, 17, 200, 500)
    most_elements: int = 1 << 21
    most_scores: int = 1 << 22

    def of_role(self, role: str, tile: int, ring: int) -> tuple[int, ...]:
        """Values for an attention axis; keys surround multiples of the schedule's key tile."""
        edges = (
            tile - 1,
            tile,
            tile + 1,
            2 * tile + 1,
            ring * tile - 1,
            ring * tile + 1,
            (ring + 2) * tile + 5,
        )
        table = {
            "B": self.batch,
            "K": self.kv_heads,
            "N": tuple(sorted({k * g for k in self.kv_heads for g in self.group if k * g <= MAX_HEADS})),
            "Q": self.queries,
            "T": (*self.keys, *edges, *self.long_keys),
            "U": (*self.keys, *edges, *self.long_keys),
            "D": self.head,
            "E": self.head,
            "P": self.pages,
            "R": self.block,
            "W": self.columns,
            "G": self.share_groups,
            "Y": self.groups,
            "X": self.ranks,
        }
        return tuple(dict.fromkeys(table.get(role, self.other)))
