"""The root of every error that attndsl raises on purpose.

A message names the argument, the value, the violated constraint and the nearest legal value or the
next step. Anything else that escapes is a defect of ours.
"""


class AttnDslError(Exception):
    """Root of all errors of this package."""


class UserError(AttnDslError):
    """The input is at fault; the command line turns it into one line and exit code 2."""


class InternalError(AttnDslError):
    """A pass or a backend broke one of its own rules: a defect of attndsl, to be reported."""
