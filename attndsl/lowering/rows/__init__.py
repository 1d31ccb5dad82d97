"""Which query rows a task has, where they are stored, and where their results go."""
