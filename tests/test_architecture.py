"""The house rules that a machine can check: sizes, directions of imports, and what must never be in the tree."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
MAX_MODULE_LINES = 400
SOURCES = sorted((ROOT / "edgeevo").rglob("*.py"))
SCRIPTS = [*sorted((ROOT / "benchmarks").rglob("*.py")), *sorted((ROOT / "scripts").glob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def committed() -> list[Path]:
    """Every text file that is, or is about to be, in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:  # an unpacked source archive has no .git
        skipped = {".venv", ".cache", "__pycache__", "build", "dist"}
        files = [path for path in ROOT.rglob("*") if path.is_file() and not skipped & set(path.relative_to(ROOT).parts)]
    else:
        files = [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path for path in files if b"\0" not in path.read_bytes()[:1024]]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(), filename=str(path))))


def imported(path: Path) -> set[str]:
    """Top-level names of everything that a file imports, lazily or not."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_no_module_grows_past_the_cap() -> None:
    """No module of edgeevo is longer than 400 lines."""
    lengths = {name(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {k: v for k, v in lengths.items() if v > MAX_MODULE_LINES} == {}


def test_imports_point_down() -> None:
    """Every import contract of pyproject.toml is kept."""
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS], ids=name)
def test_nothing_is_pickled(path: Path) -> None:
    """No file imports a library that executes what it reads, and torch.load and numpy.load are never called."""
    assert imported(path) & {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"} == set()
    executing = {"torch.load", "torch.save", "np.load", "numpy.load"}
    assert [node.lineno for node in nodes(path) if isinstance(node, ast.Attribute) and ast.unparse(node) in executing] == []


def mentions_seed(node: ast.expr) -> bool:
    """True for `seed`, `exam_seed`, `self.seed` and the like."""
    spelled = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return bool(re.search(r"(^|_)seeds?$", spelled))


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS, *TESTS], ids=name)
def test_seeds_are_hashed_never_added_to(path: Path) -> None:
    """No seed is made by arithmetic on another one: item 1 of seed 42 would be item 0 of seed 43, and splits would leak."""
    arithmetic = (ast.Add, ast.Sub, ast.Mult, ast.BitXor)
    found = [
        node.lineno
        for node in nodes(path)
        if isinstance(node, ast.BinOp) and isinstance(node.op, arithmetic) and (mentions_seed(node.left) or mentions_seed(node.right))
    ]
    assert found == []


def machine_words() -> set[str]:
    """What only this machine can know: where the checkout and the interpreter lie, and which hosts pip is configured to ask."""
    paths = {str(ROOT), sys.prefix, sys.base_prefix} - {"/usr/local", "/opt/edgeevo", "/opt/edgeevo/.venv"}
    words = {path for path in paths if path.count("/") > 1}  # "/src" or "/usr" could be anybody's
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    hosts = re.findall(r"https?://(?:[^/@\s'\"]*@)?([^/:\s'\"]+)", listed.stdout)
    return words | {host for host in hosts if host != "pypi.org"}


def test_no_trace_of_a_machine_is_committed() -> None:
    """No file names a path of this machine or a package registry that it happens to use."""
    words = machine_words()
    pattern = re.compile("|".join(rf"{re.escape(word)}(?![\w.-])" for word in words))
    found = {name(path): hit[0] for path in committed() if (hit := pattern.search(path.read_text(errors="replace")))}
    assert found == {}


@pytest.mark.parametrize("path", [path for path in TESTS if path.name.startswith("test_")], ids=name)
def test_every_test_states_its_claim(path: Path) -> None:
    """Every test function has a docstring, and none of them is an empty body or an unconditional skip."""
    functions = [node for node in nodes(path) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    assert [node.name for node in functions if not ast.get_docstring(node)] == []
    assert [node.name for node in functions if len(node.body) == 1] == []
    hiding = {"pytest.mark.skip", "pytest.mark.xfail", "pytest.xfail"}
    assert [node.lineno for node in nodes(path) if isinstance(node, ast.Attribute) and ast.unparse(node) in hiding] == []


# --- packaging --------------------------------------------------------------------------------------------------------


def locked() -> dict[str, str]:
    """Package -> version, of both locks."""
    lines = [line for file in sorted(ROOT.glob("requirements*.lock")) for line in file.read_text().splitlines()]
    pins = [line.split(" --")[0] for line in lines if line and not line.startswith(("#", "-r "))]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins), pins
    return {canonicalize_name(pin.split("==")[0]): pin.split("==")[1] for pin in pins}


def needed(requirement: Requirement, done: dict[str, str]) -> dict[str, str]:
    """The installed versions of a requirement and of all that it needs here, added to `done`."""
    package = canonicalize_name(requirement.name)
    key = package + "".join(f"[{extra}]" for extra in sorted(requirement.extras))
    if key in done:
        return done
    found = distribution(requirement.name)
    done[key] = found.version.split("+")[0]
    for line in found.requires or []:
        child = Requirement(line)
        if child.marker is None or any(child.marker.evaluate({"extra": extra}) for extra in requirement.extras or {""}):
            needed(child, done)
    return done


def test_the_lock_pins_everything_that_is_installed_for_us() -> None:
    """Whatever our dependencies need on this machine is in requirements.lock, at the version that is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    done: dict[str, str] = {}
    for line in project["dependencies"]:
        needed(Requirement(line), done)
    pins = locked()
    assert {key.split("[")[0]: version for key, version in done.items()} == {key.split("[")[0]: pins.get(key.split("[")[0]) for key in done}


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    """The code imports exactly the packages that pyproject.toml declares, and the standard library."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    modules = set().union(*(imported(path) for path in SOURCES)) - set(sys.stdlib_module_names) - {"edgeevo", "__future__"}
    spelled = {"llama_cpp": "llama-cpp-python"}
    assert {canonicalize_name(spelled.get(module, module)) for module in modules} == declared


def test_the_version_is_told_once() -> None:
    """The version of the installed package is the one in edgeevo/__init__.py, and CHANGELOG.md has a section for it."""
    namespace: dict[str, str] = {}
    exec((ROOT / "edgeevo" / "__init__.py").read_text(), namespace)
    version = namespace["__version__"]
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    try:
        assert distribution("edgeevo").version == version
    except PackageNotFoundError:
        assert "dynamic" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_factory_adapter_is_packed_with_its_card(tmp_path: Path) -> None:
    """A wheel holds *-factory.gguf where `share("models")` looks in an installed package; git keeps it, and no other weights."""
    ignored = ["git", "check-ignore", "--no-index", "models/x-factory.gguf", "models/x.gguf"]
    found = subprocess.run(ignored, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 128 or found.stdout.split() == ["models/x.gguf"]
    builder = pytest.importorskip("hatchling.builders.wheel")
    for name in ("pyproject.toml", ".gitignore", "edgeevo/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "x-factory.gguf").touch()
    packed = {file.distribution_path for file in builder.WheelBuilder(str(tmp_path)).recurse_included_files()}
    assert "edgeevo/share/models/x-factory.gguf" in packed
