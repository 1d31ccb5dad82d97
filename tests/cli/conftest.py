"""What is compiled here is found again in the next run: its folders have the same paths."""

from tests.support.stable_folders import tmp_path, tmp_path_factory

__all__ = ["tmp_path", "tmp_path_factory"]
