"""From graph to tile program: tile shapes, partition, memory plan and synchronisation, pass by pass."""
