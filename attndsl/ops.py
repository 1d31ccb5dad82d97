"""The shipped operators as functions: ``from attndsl import ops; ops.incre_flash_attention(...)``."""

from attndsl.api.ops import __dir__ as __dir__
from attndsl.api.ops import __getattr__ as __getattr__
