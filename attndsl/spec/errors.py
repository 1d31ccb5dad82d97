"""One class per mistake, in a spec or in a call.

Mistakes in a call derive from the builtin class that the operator's contract names. Where a contract
names none, the class derives from both ValueError and RuntimeError, so that callers written against
either of the existing implementations keep working.
"""

from __future__ import annotations

from attndsl.base.errors import UserError, printable
from attndsl.base.source_location import SourceLine
from attndsl.graph.errors import GraphError as GraphError

# ------------------------------------------------------------------------------------------------
# Mistakes of a spec's author


class SpecError(UserError):
    """A spec contradicts itself; the message starts with the author's line."""

    def __init__(self, message: str, where: SourceLine | None = None) -> None:
        self.where = where
        super().__init__(printable(f"{where}: {message}" if where else message))


class LayoutTextError(SpecError):
    """A layout text cannot be read, or names an axis without a declared size."""


class DuplicateNameError(SpecError):
    """Two arguments, dimensions or outputs share a name."""


class UnknownNameError(SpecError):
    """A spec refers to a dimension, argument or dtype that it does not declare."""


class IncompleteSpecError(SpecError):
    """A spec lacks something that it needs, such as an output."""


class UnknownTargetError(SpecError):
    """A spec names a device that there is not."""


class SpecFileError(UserError):
    """A spec file cannot be read, raises, or holds no Operator."""


class UnknownOperatorError(UserError, AttributeError):
    """No spec has this name."""


class UnknownBackendError(UserError, ValueError):
    """No backend has this name."""


class BackendNotInstalledError(UserError, RuntimeError):
    """The installation does not register a backend of attndsl itself."""


class BackendLoadError(UserError, RuntimeError):
    """A registered backend cannot be imported, or is none."""


# ------------------------------------------------------------------------------------------------
# Mistakes of a call


class CallError(UserError):
    """Base of all mistakes in a call."""


class UnclassifiedError(CallError, ValueError, RuntimeError):
    """A violated constraint for which the contract names no error class."""


class SignatureError(CallError, TypeError):
    """An argument is unknown, missing, repeated or one too many."""


class ArgumentTypeError(CallError, TypeError):
    """An argument has the wrong Python type."""


class DtypeError(CallError, TypeError):
    """A tensor's dtype is not among the declared ones."""


class DtypeMismatchError(CallError, TypeError):
    """Two tensors that must share a dtype differ."""


class NotASequenceError(CallError, TypeError):
    """A tuple or list of tensors is needed."""


class NullTensorError(CallError, ValueError):
    """A list of tensors has an entry that is None."""


class SequenceLengthError(UnclassifiedError):
    """A tuple or list has the wrong number of tensors."""


class ChoiceError(UnclassifiedError):
    """A parameter is none of its legal values."""


class HeadCountError(CallError, RuntimeError):
    """The number of heads is not positive."""


class HeadMismatchError(UnclassifiedError):
    """The numbers of heads of two arguments do not go together."""


class RangeError(UnclassifiedError):
    """A number lies outside its range."""


class RankError(UnclassifiedError):
    """A tensor has the wrong number of dimensions."""


class ShapeError(UnclassifiedError):
    """A tensor's dimension contradicts the declared shape or another argument."""


class MaskShapeError(CallError, RuntimeError):
    """An attention mask has none of its legal shapes."""


class EmptyTensorError(UnclassifiedError):
    """A tensor without elements where there must be some."""


class DivisibilityError(UnclassifiedError):
    """One size must be a multiple of another and is not."""


class LengthCountError(UnclassifiedError):
    """A list of lengths has neither one entry nor one a batch row."""


class LengthRangeError(UnclassifiedError):
    """A length is negative or beyond the capacity."""


class ShareGroupError(UnclassifiedError):
    """A batch row names a share group that does not exist."""


class MissingInputError(UnclassifiedError):
    """A feature in use needs a further input."""


class PagingError(UnclassifiedError):
    """A paged cache, its block size or its block table breaks a rule."""


class QuantizationError(UnclassifiedError):
    """Quantized data and their scales or offsets do not go together."""


class NotSupportedError(CallError, RuntimeError):
    """A documented argument that is disabled: it must be None."""


class InputCountError(UnclassifiedError, TypeError):
    """The features in use need an input that is missing, or leave no place for one that is passed."""


class ParameterError(UnclassifiedError):
    """Two parameters contradict each other, or one is not available in the mode of the call."""


class HeadSizeError(UnclassifiedError):
    """A head size that the features in use do not take."""


class MaskValueError(UnclassifiedError):
    """A mask whose values do not follow the convention of its dtype, or not the pattern of its type."""


class LayerError(UnclassifiedError):
    """A layer that the cache does not have."""


class ReadOnlyError(UnclassifiedError):
    """An argument that is updated in place cannot be written."""


class ContractWarning(UserWarning):
    """A call that the contract advises against and that is computed all the same."""


class IgnoredParameterWarning(ContractWarning):
    """A parameter has no effect in the mode of the call."""


class TargetLimitError(UnclassifiedError):
    """Legal for the operator, but beyond what its kernels on the target take."""
