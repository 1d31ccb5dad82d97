"""The legal calls of an operator as variables and clauses, and the search for assignments."""
