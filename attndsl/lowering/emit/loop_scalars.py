"""The scalars of a kernel, and the numbers of the vector unit that rules compute with.

Scalar names (all ``int64``), in the order they come into being inside a kernel; ``ITEM_MEANINGS`` says what
those of an item are:

    item      unit of work of a block: a task and a key range
    task, split, batch, kvHead, firstHead, heads, firstQuery, queries, taskRows     of its task
    rowFractals               fractals of 16 rows that the task's rows fill
    keyBegin, keyEnd, firstTile, tiles, steps     of its keys; keyBegin where that is not 0
    step      running step of the item, where a tile has several: one each half of a task, or each of two runs
    tile      running tile of the item; firstKey, keys: its keys; slot: its slot of the rings
    skippedKeys               keys of the tile in front of these, which rows of a core do not see
    itemSlot  the item's slot of the statistics of the rows of all items in flight
    rowBegin, rows            the task's rows of one vector core
    r0, stepRows              first row of a vector step, and how many; head, queryIndex: where a row stands
    rowsOfStep, scorePitch    rows of a whole step, and lanes of each, where few keys leave room for more rows
    span      lanes from a step's first score to its last, in whole repeats
"""

from __future__ import annotations

import numpy as np

from attndsl.expr import Named, Symbol
from attndsl.tile.instructions.units import repeat_elements
from attndsl.tile.naming import camel

LANES = repeat_elements("float32")
REPEAT_LANES = Named(LANES, "repeatLanes")
LOWEST = Named(float(np.finfo(np.float32).min), "lowest")
SMALLEST = Named(float(np.finfo(np.float32).tiny), "smallest")

ITEM = Symbol("item")
TASK = Symbol("task")
SPLIT = Symbol("split")
BATCH = Symbol("batch")
KV_HEAD = Symbol("kvHead")
FIRST_HEAD = Symbol("firstHead")
HEADS = Symbol("heads")
FIRST_QUERY = Symbol("firstQuery")
QUERIES = Symbol("queries")
TASK_ROWS = Symbol("taskRows")
ROW_FRACTALS = Symbol("rowFractals")
KEY_BEGIN = Symbol("keyBegin")
KEY_END = Symbol("keyEnd")
FIRST_TILE = Symbol("firstTile")
TILES = Symbol("tiles")
TILE = Symbol("tile")
STEPS = Symbol("steps")
TASK_FIRST, TASK_QUERIES = Symbol("firstOfTask"), Symbol("queriesOfTask")
ROWS_OF_TASK, HALF_QUERIES = Symbol("rowsOfTask"), Symbol("queriesOfHalf")
HALVES, HALF = Symbol("halves"), Symbol("halfOfTask")
KEY_STEPS, STEP = Symbol("keySteps"), Symbol("step")
ITEM_SLOT, HALF_SLOT = Symbol("itemSlot"), Symbol("halfSlot")
SLOT = Symbol("slot")
FIRST_KEY = Symbol("firstKey")
KEYS = Symbol("keys")
SKIPPED_KEYS = Symbol("skippedKeys")
SPAN = Symbol("span")
ROW_BEGIN = Symbol("rowBegin")
FIRST_BAND_ROW, LAST_BAND_ROW = Symbol("firstBandRow"), Symbol("lastBandRow")
ROWS = Symbol("rows")
R0 = Symbol("r0")
STEP_ROWS = Symbol("stepRows")
ROWS_OF_STEP = Symbol("rowsOfStep")
HEAD = Symbol("head")
QUERY = Symbol("queryIndex")


ITEM_MEANINGS = {
    TASK.name: "its task: heads, positions and batch row, with all keys",
    SPLIT.name: "its part of the keys of the task",
    BATCH.name: "batch row",
    KV_HEAD.name: "key/value head",
    FIRST_HEAD.name: "first query head of the task",
    HEADS.name: "query heads of the task",
    FIRST_QUERY.name: "first query position of the task in its batch row",
    QUERIES.name: "query positions of the task",
    "queryLength": "query positions of the batch row",
    "firstToken": "first query of the batch row among the tokens of all",
    TASK_ROWS.name: "query rows of the task",
    ROW_FRACTALS.name: "fractals of 16 rows that the task's rows fill",
    KEY_BEGIN.name: "first key that a row of the task may see",
    KEY_END.name: "end of the keys of the task",
    "tileTotal": "key tiles of the task",
    FIRST_TILE.name: "first key tile of the item",
    TILES.name: "key tiles of the item",
    TASK_FIRST.name: "first query position of the task in its batch row",
    TASK_QUERIES.name: "query positions of the task",
    ROWS_OF_TASK.name: "query rows of the task",
    HALVES.name: "halves of the task: steps take them in turn with the same tile of keys",
    HALF_QUERIES.name: "query positions of a half, at most",
    "memberPlace": "where its members begin in memberRows",
    "keyEntry": "which tensors of the lists have its keys and values",
    "listEntry": "which tensors of the lists have its keys and values",
    "members": "batch rows of the task",
    "seenPlace": "where its tiles begin in seenTiles",
    KEY_STEPS.name: "steps of the item with keys: one or two a tile",
    STEPS.name: "steps of the item in the pipeline: those with keys, or what drains it",
}
"""Scalars of an item by their names, as the kernel explains them."""
HALF_MEANINGS = {
    HALF.name: "its number in the task",
    HALF_SLOT.name: "where the state of its rows stands",
    FIRST_QUERY.name: "its first query position in the batch row",
    QUERIES.name: "its query positions",
    TASK_ROWS.name: "its query rows",
    ROW_FRACTALS.name: "fractals of 16 rows that these fill",
    ROW_BEGIN.name: "the first of them that this vector core has",
    ROWS.name: "how many this vector core has",
    FIRST_BAND_ROW.name: "the first row of all bands that this vector core has rows of",
    LAST_BAND_ROW.name: "the last row of all bands that this vector core has rows of",
}
"""Scalars of a half of a task by their names, where a step has one."""


def own_rows(tensor: str) -> Symbol:
    """The scalar that holds the rows of the tensor that a task reads, of a list of one a batch row."""
    return Symbol(f"{camel(tensor)}Rows")
