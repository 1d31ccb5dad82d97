"""The root of every error that attndsl raises on purpose.

A message names the argument, the value, the violated constraint and the nearest legal value or the
next step. Anything else that escapes is a defect of ours.
"""


class AttnDslError(Exception):
    """Root of all errors of this package."""


class UserError(AttnDslError):
    """The input is at fault; the command line turns it into one line and exit code 2."""


class OutsideError(AttnDslError, IndexError):
    """A computation reaches beyond a tensor or a buffer, at a line of the spec."""


class InternalError(AttnDslError):
    """A pass or a backend broke one of its own rules: a defect of attndsl, to be reported."""


def error_text(error: BaseException) -> str:
    """The text of an error of somebody else's making, whose ``__str__`` may itself fail."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "its text cannot be printed"


def printable(text: str) -> str:
    """A text with what no terminal shows as it is written as its escape, such as half of a surrogate pair."""
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode()
        for each in text
    )
