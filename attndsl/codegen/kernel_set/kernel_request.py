"""Which specializations a user asks for, and those that an operator's project has by default.

By default there is a kernel for each optional tensor and for each value of what the computation depends on,
each as near to the defaults of the contract as its constraints allow; combinations are asked for by name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from attndsl.base.errors import UserError
from attndsl.codegen.host.problem_members import io_tensor
from attndsl.codegen.kernel_set.asked_sizes import (
    HeadSizes,
    check_sizes,
    legal_sizes,
    why_illegal,
    with_sizes,
)
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.expr.argument_facts import GIVEN, asks, dtype_of, given, kind_of
from attndsl.lowering.signature.specialization import (
    Specialization,
    feature_names,
    features_told,
    kernel_inputs,
    specialized_on,
)
from attndsl.spec.operator.covering import Choice, choosable, nearest_choice
from attndsl.spec.operator.operator import Operator
from attndsl.spec.operator.specialization_parameters import spelled

# ASCII digits alone: int() and float() also read 1_000, blanks, other scripts, inf and nan.
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_DECIMAL = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?([eE][-+]?[0-9]{1,3})?")


class UnknownFeature(UserError, ValueError):
    """A feature that the operator does not have."""


class UnknownDtype(UserError, ValueError):
    """A dtype that the operator does not have."""


class UnknownSetting(UserError, ValueError):
    """A name that no kernel is specialized on."""


class IllegalSetting(UserError, ValueError):
    """A value that a setting cannot have."""


class NoLegalCall(UserError, ValueError):
    """Features and settings that the contract does not allow together."""


def chosen_mode(operator: Operator, request: KernelRequest) -> tuple[Operator, KernelRequest]:
    """The operator that a request speaks of, where a parameter decides between modes, and what it says
    besides."""
    chosen = dict(request.settings)
    parameter, _ = operator.modes_by_value
    if parameter not in chosen:
        return operator, request
    mode = operator.mode_named(chosen.pop(parameter))
    if mode is operator:
        return operator, request
    return mode, replace(request, settings=tuple(chosen.items()))  # all of its calls have this value


@dataclass(frozen=True, slots=True)
class Wanted:
    """One specialization, and what it is there for: a feature, a setting's value, or nothing more."""

    label: str
    special: Specialization


def wanted_specializations(operator: Operator, request: KernelRequest) -> tuple[Wanted, ...]:
    """What a request stands for, each specialization once.

    Raises:
        UnknownFeature, UnknownDtype, IllegalHeadSize, UnknownSetting, IllegalSetting: naming what is legal.
        NoLegalCall: the contract does not allow the combination.
    """
    request = with_sizes(operator, request)
    check_sizes(operator, request)
    dtypes = _dtypes(operator, request)
    asked = _asked(operator, request)
    choices = [
        (label, dtype, legal_choice(operator, values, dtype)) for dtype in dtypes for label, values in asked
    ]
    legal = [(label, dtype, choice) for label, dtype, choice in choices if choice is not None]
    found: dict[Specialization, Wanted] = {}
    for label, dtype, choice in legal:
        for sizes in legal_sizes(operator, request, choice):
            special = specialization_of_choice(operator, choice, dtype, sizes)
            found.setdefault(special, Wanted(label, special))
    whole = operator.device.architecture.whole_fractals
    made = {special.padded_head_size for special in found}
    if not found or not made >= {whole(size) for size in request.head_sizes}:
        reasons = (why_illegal(operator, request, choice) for _, _, choice in legal)
        raise _no_legal_call(operator, request, dtypes, next(filter(None, reasons), ""))
    return tuple(found.values())


def _no_legal_call(
    operator: Operator, request: KernelRequest, dtypes: tuple[str, ...], reason: str
) -> NoLegalCall:
    named = [*sorted(request.features or ()), *(f"{name}={value}" for name, value in request.settings)]
    sizes = {"D": request.head_sizes, "E": request.value_sizes}
    named += [f"{axis}={size}" for axis, all_sizes in sizes.items() for size in all_sizes]
    dtype = f" in {' or '.join(dtypes)}" if request.dtypes else ""
    return NoLegalCall(
        f"{operator.name}: no call that the contract allows has {', '.join(named) or 'any features'}{dtype}"
        f"{f'; with {reason}' if reason else ''}; "
        f"attndsl show {operator.in_commands} --stage contract prints the constraints"
    )


def specialization_of_choice(
    operator: Operator, choice: Choice, dtype: str, sizes: HeadSizes
) -> Specialization:
    """What the kernel of calls with this choice is specialized on."""
    padded = sizes.padded(operator)
    return specialized_on(operator, _inputs(operator, choice), choice.settings, dtype, padded)


def _inputs(operator: Operator, choice: Choice) -> frozenset[str]:
    """The tensors that kernels for a choice take."""
    return kernel_inputs(operator, choice.present & frozenset(feature_names(operator)))


def _asked(operator: Operator, request: KernelRequest) -> list[tuple[str, dict[str, Any]]]:
    """Labels, and the values that a specialization must have."""
    if not request.by_name:
        return list(_covering(operator))
    return [("", requested_values(operator, request))]


def requested_values(operator: Operator, request: KernelRequest) -> dict[str, Any]:
    """What a request's features and settings ask for, by the names that conditions use, such as ``given(x)``.

    Raises:
        UnknownFeature, UnknownSetting, IllegalSetting: naming what is legal.
    """
    request = with_sizes(operator, request)
    _check_features(operator, request.features or frozenset())
    values: dict[str, Any] = {given(name).name: True for name in request.features or ()}
    for name, text in request.settings:
        for told, value in _setting(operator, name, text).items():
            if values.setdefault(told, value) != value:
                raise IllegalSetting(
                    f"--set {name}={text}: another --set or --feature says {told}={_word(values[told])}, "
                    f"this one {told}={_word(value)}; leave one of them out"
                )
    return values


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _covering(operator: Operator) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "", {}
    for name in feature_names(operator):
        yield name, {given(name).name: True}
    for name in sorted(operator.specialization_parameters):
        for value in choosable(operator).get(name, ()):
            yield f"{name}={spelled(operator, name, value)}", {name: value} | _passed(operator, name)


def _passed(operator: Operator, setting: str) -> dict[str, Any]:
    """A dtype or layout matters of a tensor that is passed."""
    kind, argument = asks(setting)
    return {given(argument).name: True} if kind and operator.tensor(argument).optional else {}


def legal_choice(operator: Operator, values: Mapping[str, Any], dtype: str) -> Choice | None:
    """The legal choice nearest to the defaults with these values and this io dtype."""
    io = io_tensor(operator)
    if len(io.dtypes) > 1:
        values = {**values, dtype_of(io.name).name: dtype}
    return _nearest_legal(operator, tuple(values.items()))


@lru_cache(maxsize=4096)
def _nearest_legal(operator: Operator, pinned: tuple[tuple[str, Any], ...]) -> Choice | None:
    """A kernel's choice is asked for again by what describes the kernel, its cases and its host code."""
    values = dict(pinned)
    named = {asks(name)[1] for name, value in values.items() if kind_of(name) == GIVEN and value}
    features = frozenset(feature_names(operator))

    def all_used(choice: Choice) -> bool:
        return named & features <= features_told(operator, _inputs(operator, choice), choice.settings)

    # What a setting needs to be legal may keep its tensor from being read, a mask that indices give.
    return nearest_choice(operator, values, all_used) or nearest_choice(operator, values)


def _setting(operator: Operator, name: str, text: str) -> dict[str, Any]:
    legal = choosable(operator)
    if name not in legal or kind_of(name) == GIVEN:  # what is passed is told by features
        settable = sorted(each for each in legal if kind_of(each) != GIVEN)
        raise UnknownSetting(
            f"--set {name}: {_meant(name, ['D', *settable])}kernels of {operator.name} are specialized on D, "
            f"{', '.join(settable)}; "
            "sizes are run time, and optional tensors are named by --feature"
        )
    spellings = _spellings(operator, name) | _as_number(operator, name, text)
    if text not in spellings:
        words = ", ".join(dict.fromkeys(spellings))
        legal_numbers = _legal_numbers(operator, name)
        raise IllegalSetting(f"--set {name}={text}: {operator.name} takes {legal_numbers or words}")
    return {name: spellings[text]} | _passed(operator, name)


def _meant(name: str, legal: Iterable[str]) -> str:
    """A question after the nearest legal name, where one is near."""
    close = difflib.get_close_matches(name, list(legal), 1)
    return f"did you mean '{close[0]}'? " if close else ""


def _as_number(operator: Operator, name: str, text: str) -> dict[str, Any]:
    """Any number within its bounds is a value of a parameter that is a number."""
    param = operator.find_param(name)
    if param is None or param.choices or param.type not in (int, float):
        return {}
    if not (_WHOLE if param.type is int else _DECIMAL).fullmatch(text):
        return {}
    number = param.type(text)
    if not abs(number) < 1 << 63:
        return {}
    return {text: number} if all(bound.evaluate({name: number}) for bound in param.bounds()) else {}


def _legal_numbers(operator: Operator, name: str) -> str:
    """What the value of a parameter may be that is a number; empty of other settings."""
    param = operator.find_param(name)
    if param is None or param.choices or param.type not in (int, float):
        return ""
    kind = "whole numbers" if param.type is int else "numbers"
    bounds = " and ".join(str(bound) for bound in param.bounds())
    return f"{kind} of 64 bits, in digits 0 to 9" + (f", with {bounds}" if bounds else "")


def _spellings(operator: Operator, name: str) -> dict[str, Any]:
    """The words for each value of a setting."""
    param = operator.find_param(name)
    words: dict[str, Any] = {}
    if param is not None and param.choices:
        words = {str(spelled): value for spelled, value in param.choices.items()}
    for value in choosable(operator)[name]:
        words.setdefault(_word(value), value)
    return words


def _dtypes(operator: Operator, request: KernelRequest) -> tuple[str, ...]:
    io = io_tensor(operator)
    for dtype in request.dtypes or ():
        if dtype not in io.dtypes:
            raise UnknownDtype(f"dtype '{dtype}': {operator.name} takes {' or '.join(io.dtypes)}")
    name = dtype_of(io.name).name
    told = dict(request.settings).get(name)
    for dtype in request.dtypes or ():
        if told not in (None, dtype):
            raise IllegalSetting(
                f"--set {name}={told} and --dtype {dtype} contradict each other: both say what {io.name} is; "
                "give one of them"
            )
    return request.dtypes or (io.dtypes if told is None else (told,))


def _check_features(operator: Operator, wanted: frozenset[str]) -> None:
    legal = feature_names(operator)
    for name in sorted(wanted):
        if name not in legal:
            raise UnknownFeature(
                f"feature '{name}': {_meant(name, legal)}{operator.name} has {', '.join(legal) or 'none'}"
            )
