"""Python starts with one source changed: what ``ATTNDSL_MUTATED`` names has the text of the file
that ``ATTNDSL_MUTATED_TEXT`` names, for imports and for whoever reads it, so that no cache takes it for its
own."""

import importlib.machinery
import os
import pathlib

_target = os.environ.get("ATTNDSL_MUTATED")
if _target:
    _text = pathlib.Path(os.environ["ATTNDSL_MUTATED_TEXT"]).read_bytes()
    _get_code = importlib.machinery.SourceFileLoader.get_code
    _read_bytes, _read_text = pathlib.Path.read_bytes, pathlib.Path.read_text

    def _code(self, name):
        if self.get_filename(name) == _target:
            return compile(_text, _target, "exec", dont_inherit=True)
        return _get_code(self, name)

    def _bytes(self):
        return _text if str(self) == _target else _read_bytes(self)

    def _words(self, *arguments, **options):
        return _text.decode() if str(self) == _target else _read_text(self, *arguments, **options)

    importlib.machinery.SourceFileLoader.get_code = _code
    pathlib.Path.read_bytes, pathlib.Path.read_text = _bytes, _words
