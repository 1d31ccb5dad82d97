"""From a graph to a joint tile program: all cores in one tree, without addresses or synchronisation.

The package knows the graph, the device and the tile IR; it knows no file, no template and no C++ spelling.
"""
