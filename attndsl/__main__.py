"""``python -m attndsl``."""

from attndsl.cli.cli import main

main()
