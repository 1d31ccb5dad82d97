"""What Python says of a spec's slips, and what an author writes instead.

A name, attribute or argument that does not exist is told by Python before any check of ours runs. Its text
stays; what there is follows it.
"""

from __future__ import annotations

import difflib
import inspect
import re
import types
from collections.abc import Callable, Mapping
from typing import Any

import attndsl.spec as for_authors
from attndsl.expr import Expr
from attndsl.spec.authoring import attend
from attndsl.spec.authoring.prefix_sums import PrefixSums
from attndsl.spec.authoring.values import TensorValue, Value
from attndsl.spec.operator.operator import Operator

_HIDE = (
    "s.where(visible), as in s.where(attend.KEY <= attend.QUERY), keeps what is visible, and "
    "s.replace(hidden, number) puts a number where hidden holds"
)
_PRODUCTS = "attend.scores(query, keys) and probabilities @ values are the products"
_LAYOUT = (
    'the layout of op.input says how a tensor lies, as in op.input("key", "B T K D", axes="B T K D", ...)'
)
_REDUCTIONS = (
    "nothing is summed over channels or keys but by the products and the softmax: p.row_sum, p.row_max and "
    "p.lse of p = attend.softmax(s) are a row's numbers; an RMS norm or a mean of results is an operation of "
    "its own after the kernel"
)
CALLED_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("where", "mask", "masked_fill", "masked_fill_", "tril", "triu", "causal"), _HIDE),
    **dict.fromkeys(("lse", "logsumexp", "log_sum_exp"), "p.lse of p = attend.softmax(s) is it"),
    **dict.fromkeys(("matmul", "dot", "bmm", "einsum", "mm"), _PRODUCTS),
    **dict.fromkeys(("max", "amax"), "p.row_max of p = attend.softmax(s) is that of a row's scores"),
    **dict.fromkeys(("transpose", "permute", "reshape", "view", "swapaxes", "T", "shape"), _LAYOUT),
    **dict.fromkeys(("sum", "mean", "var", "std", "norm", "prod", "rms_norm", "layer_norm"), _REDUCTIONS),
    "dropout": "operators are of inference: leave it out",
    "softplus": "attend.log(attend.exp(x) + 1.0) is it",
    "silu": "x * attend.sigmoid(x) is it",
    "gelu": "x * attend.sigmoid(x * 1.702) is near it",
    "pow": "x ** 2 is the square, and attend.exp(attend.log(x) * power) any power",
}
"""What other libraries have under a name, by that name."""

_CALL = re.compile(r"(?:\w+\.)*(\w+)\(\) (?=missing|takes|got)")
_WRITTEN_ON = {Operator: "op", Value: "x", TensorValue: "x", PrefixSums: "ends"}
_EXAMPLES = {"op.axes": "(B=B, N=N, Q=S, ...)", "op.schedule": "(tile_k=512, ...)"}
"""How functions are called that take any names."""


def advice(error: BaseException, names: Mapping[str, Any]) -> str:
    """What an author writes instead, after "; "; empty where nothing is known.

    Args:
        error: what executing the spec raised.
        names: what the spec has defined by then.
    """
    for kind, rule in _RULES.items():
        if isinstance(error, kind):
            found = rule(error, names)
            return f"; {found}" if found else ""
    return ""


def without_classes(error: BaseException) -> str:
    """The text of an error with functions as authors call them: ``op.output()``, ``attend.rows()``."""
    text = str(error)
    call = _CALL.match(text) if isinstance(error, TypeError) else None
    found = _function(call[1]) if call else None
    return text if call is None or found is None else f"{found[0]}() {text[call.end() :]}"


def _of_name(error: NameError, names: Mapping[str, Any]) -> str:
    name = error.name or ""
    if name in for_authors.__all__:
        return f"write from attndsl.spec import {name}"
    if hasattr(attend, name) and not name.startswith("_"):
        return f"write attend.{name}"
    close = difflib.get_close_matches(name, [each for each in names if not each.startswith("_")], 1)
    return f"did you mean '{close[0]}'?" if close else ""


def _of_attribute(error: AttributeError, names: Mapping[str, Any]) -> str:
    name, owner = error.name or "", error.obj
    there = _offered(owner)
    if not there:
        return ""
    if name in CALLED_ELSEWHERE:
        return CALLED_ELSEWHERE[name]
    if name in _offered(attend) and isinstance(owner, Value):
        return f"write attend.{name}(x)"
    close = difflib.get_close_matches(name, there, 1)
    return f"did you mean '{close[0]}'?" if close else f"there are {', '.join(there)}"


def _offered(owner: object) -> list[str]:
    """What authors may call of the vocabulary, an operator or a value; nothing of other objects."""
    if owner is attend:
        return [
            name
            for name, each in vars(attend).items()
            if not name.startswith("_")
            and (isinstance(each, Expr) or getattr(each, "__module__", "") == attend.__name__)
        ]
    if isinstance(owner, Operator | Value):
        return [name for name in dir(type(owner)) if not name.startswith("_") and name != "node"]
    return []


def _of_type(error: TypeError, names: Mapping[str, Any]) -> str:
    text = str(error)
    call = _CALL.match(text)
    found = _function(call[1]) if call else None
    if found is not None:
        return f"write {found[0]}{_EXAMPLES.get(found[0]) or _parameters(found[1])}"
    ufunc = re.search(r"no callable (\w+) method", text)
    if ufunc:
        name = ufunc[1]
        return f"write attend.{name}(x)" if name in _offered(attend) else CALLED_ELSEWHERE.get(name, "")
    if re.search(r"'(Tensor)?Value' object is not subscriptable", text):
        return "only arguments are read by index; attend.window(rows, start, length=count) is a part of rows"
    if re.search(r"\b(Symbol|Binary|Compare|Load|Logic|Const)\b", text):
        return (
            "a size or a parameter has no value until the operator is called: compute with + - * / // %, or "
            "pass the result as a parameter, as in op.param(name, float)"
        )
    return ""


def _of_assertion(error: AssertionError, names: Mapping[str, Any]) -> str:
    return "what must hold of calls is stated by op.require(condition, text)"


_RULES: dict[type[BaseException], Callable[[Any, Mapping[str, Any]], str]] = {
    NameError: _of_name,
    AttributeError: _of_attribute,
    TypeError: _of_type,
    AssertionError: _of_assertion,
}


def _function(name: str) -> tuple[str, Callable[..., Any]] | None:
    """A function that authors call, with the name that they write."""
    for owner, written in ((attend, "attend"), *_WRITTEN_ON.items()):
        found = inspect.getattr_static(owner, name, None)
        if isinstance(found, types.FunctionType) and not name.startswith("_"):
            return f"{written}.{name}", found
    return None


def _parameters(function: Callable[..., Any]) -> str:
    """The parameters as they are passed, without types."""
    signature = inspect.signature(function)
    shown = [
        each.replace(annotation=inspect.Parameter.empty)
        for name, each in signature.parameters.items()
        if name != "self"
    ]
    return str(inspect.Signature(shown))
