"""Every package is public by the API reference, or its docstring marks it as internal."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.support.pages import ROOT
from tools.docs.api import PUBLIC_MODULES

SOURCE = ROOT / "src"
# Scripts of Python, which are run and not imported.
RUN = {"headrace.__main__"}
MARK = "\n\nInternal: "


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def packages_and_top_modules() -> dict[str, Path]:
    package = SOURCE / "headrace"
    found = [*package.rglob("__init__.py"), *package.glob("*.py")]
    return {name: path for path in found if (name := module_name(path)) not in RUN}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = packages_and_top_modules()


def is_public(name: str) -> bool:
    """Return whether a module is on the list, or is the package of a module on the list."""
    return any(f"{public}.".startswith(f"{name}.") for public in PUBLIC_MODULES)


def is_marked(name: str) -> bool:
    """Return whether a module, or a package around it, is marked as internal."""
    parents = (".".join(name.split(".")[:length]) for length in range(2, name.count(".") + 2))
    return any(MARK in docstring(MODULES[parent]) for parent in parents)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_package_is_either_public_or_marked_as_internal(name: str) -> None:
    assert is_public(name) != is_marked(name)


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_public_module_exists_and_the_architecture_names_it(name: str) -> None:
    import_module(name)
    words = (ROOT / "ARCHITECTURE.md").read_text().split("Users may import", 1)[1].split("\n\n")[0]
    parent, _, last = name.rpartition(".")
    assert f"`{name}`" in words or (f"`{last}`" in words and f"`{parent}`" in words)
