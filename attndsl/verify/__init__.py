"""Verification: generated cases on all backends, compared with the executable spec in float64."""

from attndsl.verify.results import BackendResult, Row, Verification
from attndsl.verify.runner import DEFAULT_CASES, NotGenerated, run_case, verify

__all__ = ["DEFAULT_CASES", "BackendResult", "NotGenerated", "Row", "Verification", "run_case", "verify"]
