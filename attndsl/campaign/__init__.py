"""Verification runs: cases through backends, results, committed records.

The package makes no case and judges no result; that is :mod:`attndsl.verify`.
"""

from attndsl.campaign.judging import run_case
from attndsl.campaign.results import BackendResult, Row, Verification
from attndsl.campaign.runner import DEFAULT_CASES, NotGenerated, verify

__all__ = ["DEFAULT_CASES", "BackendResult", "NotGenerated", "Row", "Verification", "run_case", "verify"]
