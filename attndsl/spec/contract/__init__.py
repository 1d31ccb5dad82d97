"""The contract: arguments, layouts, constraints and their messages, each declared once."""
