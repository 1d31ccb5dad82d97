"""Which calls the kernel of a file is for, read off its name."""

from __future__ import annotations

import re
from typing import Any

from attndsl.codegen.kernel.kernel import name_of
from attndsl.codegen.kernel_set.kernel_request import legal_choice
from attndsl.codegen.names.arguments import names_of
from attndsl.compiler.prepare_launch import specialisation_of
from attndsl.expr.argument_facts import dtype_of, given, passed
from attndsl.lowering.signature.kernel_names import setting_word
from attndsl.lowering.signature.specialisation import feature_names
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.covering import choosable
from attndsl.spec.operator.operator import Operator
from attndsl.spec.operator.specialization_parameters import default_specialization, spelled
from attndsl.target import ATLAS_A2
from attndsl.verify.cases.cases import WantedKernel


def wanted_kernel(operator: Operator, name: str) -> WantedKernel:
    """The kernel of a file, without its suffix.

    The name tells what to look for; whether a call is for the kernel is asked of the call.
    """
    words = name.removeprefix(f"{names_of(operator).op}_")
    axes = operator.axis_extents
    sizes: dict[str, tuple[int, ...]] = {}
    for letter, axis in (("d", "D"), ("e", "E")):
        if found := re.search(rf"_{letter}(\d+)(?=_|$)", words):
            bucket = int(found[1])
            whole = ATLAS_A2.whole_fractals
            near = (bucket, bucket, bucket - 1, bucket - 7, bucket - ATLAS_A2.fractal + 1)
            sizes[str(axes[axis])] = tuple(each for each in near if each > 0 and whole(each) == bucket)
    io = operator.tensor(operator.outputs[0].like)
    pins: dict[str, Any] = {}
    dtype = next((each for each in io.dtypes if _has(words, each)), io.dtypes[0])
    pins[dtype_of(io.name).name] = dtype
    features = {given(feature).name: _has(words, feature) for feature in feature_names(operator)}
    pins |= {asked: True for asked, told in features.items() if told}
    for setting, values in choosable(operator).items():
        named = {
            word: value
            for value in values
            if setting in operator.specialization_parameters
            and (word := setting_word(setting, _spelling(operator, setting, value), dtype))
            and _has(words, word)
        }
        if named:
            pins[setting] = named[max(named, key=len)]
    likely: dict[str, Any] = {**features, **default_specialization(operator)}
    if (choice := legal_choice(operator, pins, dtype)) is not None:
        likely = {**passed((spec.name for spec in operator.tensors), choice.present), **choice.settings}
    numbers = {spec.name for spec in operator.params if not spec.choices}  # left to the case
    likely = {each: value for each, value in likely.items() if each not in numbers and value is not None}
    return WantedKernel(
        name=name,
        mode=operator,
        pins=pins,
        likely=likely,
        sizes=sizes,
        takes=lambda call: _name(call) == name,
    )


def _spelling(operator: Operator, setting: str, value: Any) -> Any:
    param = operator.find_param(setting)
    return spelled(operator, setting, value) if param is not None and param.choices else value


def _has(words: str, word: str) -> bool:
    return re.search(rf"(?:^|_){re.escape(word)}(?=_|$)", words) is not None


def _name(call: Call) -> str:
    return name_of(call.operator, specialisation_of(call))
