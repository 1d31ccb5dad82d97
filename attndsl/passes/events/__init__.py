"""Events and barriers between the pipes of a core, derived from the buffers that instructions access."""
