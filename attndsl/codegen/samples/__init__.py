"""Direct launches and device tests: calls with saved results, as data for their templates."""
