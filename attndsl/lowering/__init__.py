"""From a graph to a joint tile program: all cores in one tree, without addresses or synchronization.

Knows the graph, an operator's declarations, the device and the tile IR; knows no pass, no file, no template
and no C++ spelling. The packages in it import downward only, in this order:

    lower, phases, work_partition    the program of a kernel from its phases
    preconditions                    what a graph must satisfy beyond its shape
    results, selection, attention    stages of an item
    scores                           score modifiers
    masks                            kinds of masks
    context                          one attention: an emitter with its rows, keys and values
    keys                             where keys and values are
    rows                             which query rows a task has
    emit                             what rules write statements with
    match                            the pattern of a graph, the options of a schedule
    signature                        what a kernel takes
"""
