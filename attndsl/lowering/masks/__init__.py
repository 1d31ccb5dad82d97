"""One rule for each kind of mask: what it loads, what it hides, which keys it lets a task skip."""
