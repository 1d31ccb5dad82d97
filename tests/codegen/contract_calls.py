"""Calls of the contracts' error tables, and what the Python functions say of them."""

from __future__ import annotations

import warnings

from attndsl.api import ops
from attndsl.base.errors import UserError
from tests.support import error_table_incre, error_table_nsa, error_table_relay, error_table_self_attention

TABLES = {
    "incre_flash_attention": {row[0]: row[1] for row in error_table_incre.TABLE},
    "relay_attention": {f"{row[0]} {row[1]}": row[2] for row in error_table_relay.TABLE},
    "nsa_compress_attention": {row[0]: row[1] for row in error_table_nsa.TABLE},
    "self_attention": {name: row[0] for name, row in error_table_self_attention.TABLE.items()},
}
LEGAL = {
    "incre_flash_attention": {
        "dense": error_table_incre.dense(),
        "bnsd": error_table_incre.bnsd(),
        "paged": error_table_incre.paged(),
    },
    "relay_attention": error_table_relay.LEGAL,
    "nsa_compress_attention": error_table_nsa.LEGAL,
    "self_attention": error_table_self_attention.LEGAL,
}


def in_python(name, call):
    """Class, message and warnings of the Python function, its target limits included."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            getattr(ops, name).bind(**call).check_target()
        except UserError as error:
            return type(error), str(error), list(dict.fromkeys(str(w.message) for w in caught))
    return None, "", list(dict.fromkeys(str(w.message) for w in caught))
