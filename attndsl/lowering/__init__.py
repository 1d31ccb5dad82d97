"""From a graph to a joint tile program: all cores in one tree, without addresses or synchronization.

Knows the graph, an operator's declarations, the device and the tile IR; knows no pass, no file, no template
and no C++ spelling. Its parts import downward only: docs/packages/lowering.md lists them in order, each with
the question that it answers.
"""
