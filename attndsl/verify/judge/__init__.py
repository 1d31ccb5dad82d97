"""Whether a result is right: golden results, tolerances, accuracy classes. It knows calls, not cases."""
