"""Templates, rendered strictly: a name that Python did not provide is an error, never an empty string."""

from __future__ import annotations

from functools import lru_cache

import jinja2

from attndsl.base.package_files import templates_dir
from attndsl.codegen.text.line_breaks import wrap_lines
from attndsl.codegen.text.markdown import filled


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_dir()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # texts of a page come from users' specs; those of source files are checked names and literals
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
    )


def load_templates(*folders: str) -> None:
    """Compile the templates of some folders of ``templates/``: processes that are forked have them then."""
    environment = _environment()
    for name in environment.list_templates(filter_func=lambda name: name.endswith(".j2")):
        if name.split("/", 1)[0] in folders:
            environment.get_template(name)


def runtime(path: str) -> str:
    """A file of ``templates/runtime``: plain C++, the same in every project."""
    return (templates_dir() / "runtime" / path).read_text(encoding="utf-8")


def render(template: str, **values: object) -> str:
    """A template of ``templates/`` with its values.

    Long lines of C++ are wrapped, paragraphs of Markdown filled.
    """
    lines = [line.rstrip() for line in _environment().get_template(template).render(**values).split("\n")]
    if template.endswith((".cpp.j2", ".h.j2")):
        lines = list(wrap_lines(lines))
    elif template.endswith(".md.j2"):
        lines = list(filled(lines))
    return "\n".join(lines)
