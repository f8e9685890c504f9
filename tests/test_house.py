"""The ceilings and the import directions of the house, with no list of exceptions."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "bench").rglob("*.py")])
VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
NESTING = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.Match)
FLOORS = {
    "model": set(),
    "store": {"model"},
    "llm": {"model"},
    "capture": {"model", "store", "llm"},
    "distill": {"model", "store", "llm"},
    "curate": {"model", "store", "llm"},
    "recall": {"model", "store", "llm"},
    "pipeline": {"model", "store", "llm"},
    "replay": {"model"},
    "interop": {"model"},
    "testing": {"model", "store", "llm", "pipeline"},
}


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _depth(node: ast.AST, level: int = 0) -> int:
    deepest = level
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
        inner = level + (isinstance(child, NESTING) and not chained)
        deepest = max(deepest, _depth(child, inner))
    return deepest


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_keeps_under_the_ceilings(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 400, f"{path}: {lines} lines"
    for function in _functions(path):
        where = f"{path}:{function.lineno} {function.name}"
        length = (function.end_lineno or 0) - function.lineno + 1
        assert length <= 40, f"{where}: {length} lines"
        given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        names = [argument.arg for argument in given if argument.arg not in {"self", "cls"}]
        assert len(names) <= 6, f"{where}: {len(names)} parameters"
        assert _depth(function) <= 3, f"{where}: nested {_depth(function)} deep"


def test_no_module_has_a_vague_name() -> None:
    assert [str(path) for path in SOURCES if path.stem in VAGUE or path.parent.name in VAGUE] == []


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("stenolith.")}


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_imports_only_what_is_below_it(floor: str) -> None:
    allowed = FLOORS[floor] | {floor, "errors"}
    for path in (ROOT / "src/stenolith" / floor).rglob("*.py"):
        assert _imports(path) <= allowed, f"{path} imports {_imports(path) - allowed}"


def test_every_package_of_ours_is_on_a_floor() -> None:
    """A new package must be given its place, or the direction test would not see it."""
    packages = {path.parent.name for path in (ROOT / "src/stenolith").glob("*/__init__.py")}
    assert packages - FLOORS.keys() - {"engine", "cli", "demo"} == set()


def test_the_import_contracts_hold() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_two_test_files_have_one_name() -> None:
    """They are imported by their bare names; of two with one name the whole run breaks."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []
