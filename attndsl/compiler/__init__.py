"""The whole way from an operator to a finished tile program, and from a call to a prepared launch."""
