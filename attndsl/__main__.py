"""``python -m attndsl``."""

from attndsl.cli import main

main()
