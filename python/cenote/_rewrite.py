"""Rewrites decorated functions so that ``for i in cn.range(n):`` becomes a loop of the program.

The body of the loop becomes a function of the loop variable. Variables that it assigns, and that are read in a later round or after
the loop, are ``nonlocal`` there, and their names go to :func:`cenote._control.loop`; a liveness analysis finds them. In functions that
mention ``reveal``, the two blocks of an ``if`` become functions as well, so that a revealed bit can choose. Line numbers stay those of
the source.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

from . import _control, _ops
from ._errors import CompileError, located
from ._heap import names_of

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_HELPER = "__cn_control"


def rewrite(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its loops rewritten; as it is where it has none or its source is not at hand."""
    code = getattr(function, "__code__", None)
    if code is None or not _mentions(function):
        return function
    try:
        lines, first = inspect.getsourcelines(function)
        filename = inspect.getsourcefile(function) or code.co_filename
    except (OSError, TypeError):
        return function
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:
        return function
    ast.increment_lineno(tree, first - 1)
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return function
    scope = _Names(function)
    _Rewriter(scope, filename, _reveals(function)).function(definition)
    return _compiled(function, definition, filename)


def _mentions(function: Any) -> bool:
    """Whether a function has anything to rewrite, as far as its names tell."""
    names = names_of(function.__code__)
    values = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    known = (values.get(name) for name in names)
    return "range" in names or "reveal" in names or any(value is _control.range or value is _ops.reveal for value in known)


def _reveals(function: Any) -> bool:
    names = names_of(function.__code__)
    return "reveal" in names or any(function.__globals__.get(name) is _ops.reveal for name in names)


class _Names:
    """What names mean in the module and the functions around a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._globals: dict[str, Any] = getattr(function, "__globals__", {})
        closure = inspect.getclosurevars(function)
        self._around: dict[str, Any] = dict(closure.nonlocals)

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            for names in (self._around, self._globals, vars(builtins)):
                if node.id in names:
                    return names[node.id]
            return None
        if isinstance(node, ast.Attribute):
            return getattr(self.value(node.value), node.attr, None)
        return None


def _compiled(function: Any, definition: ast.FunctionDef, filename: str) -> Callable[..., Any]:
    """Compiles a rewritten definition with the globals and the closure of the original."""
    code: types.CodeType = function.__code__
    definition.decorator_list = []
    outside = [_HELPER, *(name for name in code.co_freevars if name != _HELPER)]
    factory = ast.FunctionDef(
        name="__cn_factory",
        args=ast.arguments(posonlyargs=[], args=[ast.arg(arg=name) for name in outside], kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=[definition, ast.Return(value=ast.Name(id=definition.name, ctx=ast.Load()))],
        decorator_list=[],
        lineno=definition.lineno,
        end_lineno=definition.end_lineno,
        end_col_offset=definition.end_col_offset,
        col_offset=0,
    )
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    definition.returns = None
    definition.args.defaults = [ast.Constant(value=None) for _ in definition.args.defaults]
    definition.args.kw_defaults = [None if d is None else ast.Constant(value=None) for d in definition.args.kw_defaults]
    if hasattr(factory, "type_params"):
        factory.type_params = []
    module = ast.Module(body=[factory], type_ignores=[])
    ast.fix_missing_locations(module)
    names: dict[str, Any] = {}
    exec(compile(module, filename, "exec"), names)
    made = names["__cn_factory"](*([None] * len(outside))).__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[_HELPER] = types.CellType(_control)
    closure = tuple(cells.get(name) or types.CellType() for name in made.co_freevars)
    result = types.FunctionType(made, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__qualname__ = function.__qualname__
    return result


# ---- liveness ---------------------------------------------------------------------------------------------------------------------


def _read(node: ast.AST | None) -> set[str]:
    """Names that an expression or a nested function reads."""
    if node is None:
        return set()
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _root(node: ast.expr) -> str | None:
    """The variable that ``x[..] = `` or ``x.f = `` changes."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _targets(node: ast.expr) -> tuple[set[str], set[str]]:
    """Names that a target assigns as a whole, and names that it reads, changed ones included."""
    if isinstance(node, ast.Name):
        return {node.id}, set()
    if isinstance(node, (ast.Tuple, ast.List)):
        whole: set[str] = set()
        read: set[str] = set()
        for part in node.elts:
            w, r = _targets(part)
            whole, read = whole | w, read | r
        return whole, read
    if isinstance(node, ast.Starred):
        return _targets(node.value)
    return set(), {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _live(statements: Sequence[ast.stmt], after: set[str]) -> set[str]:
    """Names whose values matter before a list of statements, given those that matter after it."""
    live = set(after)
    for statement in reversed(statements):
        live = _live_before(statement, live)
    return live


def _live_before(s: ast.stmt, live: set[str]) -> set[str]:
    if isinstance(s, ast.Assign):
        whole: set[str] = set()
        read: set[str] = set()
        for target in s.targets:
            w, r = _targets(target)
            whole, read = whole | w, read | r
        return (live - whole) | read | _read(s.value)
    if isinstance(s, ast.AugAssign):
        w, r = _targets(s.target)
        return live | w | r | _read(s.value)
    if isinstance(s, ast.AnnAssign):
        w, r = _targets(s.target)
        return (live - w if s.value is not None else live) | r | _read(s.value)
    if isinstance(s, ast.If):
        return _live(s.body, live) | _live(s.orelse, live) | _read(s.test)
    if isinstance(s, (ast.For, ast.AsyncFor, ast.While)):
        return _live_loop(s, live)
    if isinstance(s, (ast.With, ast.AsyncWith)):
        inside = _live(s.body, live)
        for item in s.items:
            w, r = _targets(item.optional_vars) if item.optional_vars is not None else (set(), set())
            inside = (inside - w) | r | _read(item.context_expr)
        return inside
    if isinstance(s, ast.Return):
        return _read(s.value)
    if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (live - {s.name}) | _read(s)
    if isinstance(s, ast.Try):
        parts = [s.body, s.orelse, s.finalbody, *(handler.body for handler in s.handlers)]
        return set().union(live, *(_live(part, live | _read(s)) for part in parts))
    return live | _read(s)


def _live_loop(s: ast.For | ast.AsyncFor | ast.While, live: set[str]) -> set[str]:
    around = live | _live(s.orelse, live)
    if isinstance(s, ast.While):
        around |= _read(s.test)
        whole: set[str] = set()
    else:
        whole, read = _targets(s.target)
        around |= read
    while True:
        wider = around | (_live(s.body, around) - whole)
        if wider == around:
            break
        around = wider
    return around if isinstance(s, ast.While) else around | _read(s.iter)


class _Assigned(ast.NodeVisitor):
    """Names that statements assign or change, in order, and whether they assign them; nested functions have their own."""

    def __init__(self) -> None:
        self.names: dict[str, bool] = {}

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self.names[node.id] = True

    def _changed(self, node: ast.Subscript | ast.Attribute) -> None:
        root = _root(node)
        if isinstance(node.ctx, ast.Store) and root is not None:
            self.names.setdefault(root, False)
        self.generic_visit(node)

    visit_Subscript = visit_Attribute = _changed

    def _named(self, node: Any) -> None:
        if node.name is not None:
            self.names[node.name] = True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _named

    def visit_alias(self, node: ast.alias) -> None:
        self.names[(node.asname or node.name).split(".")[0]] = True

    def visit_Lambda(self, node: ast.Lambda) -> None:
        pass

    def _comprehension(self, node: ast.expr) -> None:
        # Its variables are its own, but for those of := in it.
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self.visit(inner.target)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def _assigned(statements: Iterable[ast.stmt]) -> dict[str, bool]:
    visitor = _Assigned()
    for statement in statements:
        visitor.visit(statement)
    return {name: bound for name, bound in visitor.names.items() if not name.startswith("__cn_")}


class _Leaves(ast.NodeVisitor):
    """Statements that leave a block in the middle."""

    def __init__(self) -> None:
        self.found: ast.stmt | None = None
        self._loops = 0

    def _leave(self, node: ast.stmt) -> None:
        self.found = self.found or node

    visit_Return = _leave

    def _jump(self, node: ast.stmt) -> None:
        if not self._loops:
            self._leave(node)

    visit_Break = visit_Continue = _jump

    def _loop(self, node: ast.stmt) -> None:
        self._loops += 1
        self.generic_visit(node)
        self._loops -= 1

    visit_For = visit_While = _loop

    def _other(self, node: Any) -> None:
        """Functions inside return for themselves."""

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _other

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, (ast.Yield, ast.YieldFrom, ast.Await)):
            self._leave(node)


def _leaving(statements: Iterable[ast.stmt]) -> ast.stmt | None:
    visitor = _Leaves()
    for statement in statements:
        visitor.visit(statement)
    return visitor.found


# ---- rewriting --------------------------------------------------------------------------------------------------------------------


class _Declarations(ast.NodeTransformer):
    """Takes the ``global`` and ``nonlocal`` of a function out of its blocks, which become functions themselves."""

    def __init__(self) -> None:
        self.found: dict[str, type[ast.Global | ast.Nonlocal]] = {}

    def _declare(self, node: ast.Global | ast.Nonlocal) -> ast.stmt:
        self.found.update((name, type(node)) for name in node.names)
        return ast.copy_location(ast.Pass(), node)

    visit_Global = visit_Nonlocal = _declare

    def _other(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _other


class _Rewriter:
    def __init__(self, names: _Names, filename: str, branches: bool) -> None:
        self._names, self._filename, self._branches = names, filename, branches
        self._count = 0
        #: Names that nested functions read, at whatever time they are called, and those that belong to the module or functions around.
        self._shared: set[str] = set()
        self._declared: dict[str, type[ast.Global | ast.Nonlocal]] = {}

    def function(self, definition: Function) -> None:
        outer = self._shared, self._declared
        declarations = _Declarations()
        statements = [declarations.visit(statement) for statement in definition.body]
        inner = [n for s in statements for n in ast.walk(s) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
        self._declared = declarations.found
        self._shared = set(self._declared).union(*(_read(n) for n in inner))
        own = [name for name, bound in _assigned(statements).items() if bound and name not in self._declared]
        body = self._block(statements, set(self._shared))
        definition.body = [*self._variables(own, self._declared, definition), *body]
        self._shared, self._declared = outer

    def _block(self, statements: Sequence[ast.stmt], after: set[str]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        live = set(after)
        for statement in reversed(statements):
            before = _live_before(statement, live)
            result[:0] = self._statement(statement, live)
            live = before
        return result

    def _statement(self, s: ast.stmt, after: set[str]) -> list[ast.stmt]:
        if isinstance(s, ast.For) and self._is_loop(s.iter):
            return self._loop(s, after)
        if isinstance(s, ast.If):
            if self._branches and _leaving([s]) is None:
                return self._branch(s, after)
            s.body, s.orelse = self._block(s.body, after), self._block(s.orelse, after)
        elif isinstance(s, (ast.For, ast.While)):
            around = _live_loop(s, after)
            s.body, s.orelse = self._block(s.body, around), self._block(s.orelse, after)
        elif isinstance(s, ast.With):
            s.body = self._block(s.body, after)
        elif isinstance(s, ast.Try):
            around = after | _read(s)
            s.body, s.orelse, s.finalbody = (self._block(part, around) for part in (s.body, s.orelse, s.finalbody))
            for handler in s.handlers:
                handler.body = self._block(handler.body, around)
        elif isinstance(s, ast.Match):
            for case in s.cases:
                case.body = self._block(case.body, after)
        elif isinstance(s, ast.FunctionDef):
            self.function(s)
        return [s]

    def _is_loop(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._names.value(node.func) is _control.range

    def _refuse(self, node: ast.stmt, message: str) -> CompileError:
        return CompileError(located(message, self._filename, node.lineno))

    def _loop(self, s: ast.For, after: set[str]) -> list[ast.stmt]:
        if not isinstance(s.target, ast.Name):
            raise self._refuse(s, "cn.range gives one number: write `for i in cn.range(..):`")
        leaving = _leaving(s.body)
        if leaving is not None:
            word = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue"}.get(type(leaving), "yield")
            raise self._refuse(
                leaving,
                f"`{word}` inside a loop of cn.range: every round runs in full, or its number would show. Keep a Bit that says "
                f"whether the loop is done, and choose with cn.where",
            )
        if s.orelse:
            raise self._refuse(s, "`else` of a loop of cn.range: write it after the loop")
        around = _live_loop(s, after)
        variable = s.target.id
        carried = [n for n in _assigned(s.body) if n in around and n != variable]
        rounds = self._fresh("rounds")
        made = self._closure("body", [variable], s.body, around, carried, s)
        lines: list[ast.stmt] = [
            _assign(rounds, s.iter),
            made,
            self._call("loop", [_name(rounds), _name(made.name)], carried),
        ]
        if variable in after:
            lines.append(_assign(variable, ast.Call(func=_helper("last"), args=[_name(rounds)], keywords=[])))
        return [_at(line, s) for line in lines]

    def _branch(self, s: ast.If, after: set[str]) -> list[ast.stmt]:
        before = _live(s.body, after) | _live(s.orelse, after)
        assigned = _assigned([*s.body, *s.orelse])
        carried, dead = [n for n in assigned if n in after], [n for n in assigned if n in before and n not in after]
        test = self._fresh("test")
        then = self._closure("then", [], s.body, after, [*carried, *dead], s)
        other = self._closure("else", [], s.orelse or [ast.copy_location(ast.Pass(), s)], after, [*carried, *dead], s)
        call = self._call("branch", [_name(n) for n in (test, then.name, other.name)], carried, dead)
        return [_at(line, s) for line in (_assign(test, s.test), then, other, call)]

    def _fresh(self, what: str) -> str:
        self._count += 1
        return f"__cn_{what}_{self._count}"

    def _closure(
        self, what: str, params: list[str], body: Sequence[ast.stmt], after: set[str], outer: list[str], at: ast.stmt
    ) -> ast.FunctionDef:
        """A function of the parameters that runs the block; ``outer`` are variables of the function around it."""
        bound = [n for n, whole in _assigned(body).items() if whole and n not in params]
        own = [n for n in bound if n not in outer]
        made = ast.FunctionDef(
            name=self._fresh(what),
            args=ast.arguments(posonlyargs=[], args=[ast.arg(arg=n) for n in params], kwonlyargs=[], kw_defaults=[], defaults=[]),
            body=[*self._variables(own, [n for n in bound if n in outer], at), *self._block(body, after)],
            decorator_list=[],
        )
        if hasattr(made, "type_params"):
            made.type_params = []
        return ast.copy_location(made, at)

    def _variables(self, own: Iterable[str], outer: Iterable[str], at: ast.AST) -> list[ast.stmt]:
        """Says whose variables are: assignments to them may stand in functions inside alone. None of it runs."""
        lines: list[ast.stmt] = [self._declared.get(name, ast.Nonlocal)(names=[name]) for name in outer]
        for name in own:
            target = ast.Name(id=name, ctx=ast.Store())
            lines.append(ast.AnnAssign(target=target, annotation=ast.Constant(value=None), value=None, simple=1))
        return [ast.copy_location(line, at) for line in lines]

    def _call(self, what: str, args: list[ast.expr], *names: list[str]) -> ast.stmt:
        texts = [ast.Tuple(elts=[ast.Constant(value=n) for n in some], ctx=ast.Load()) for some in names]
        return ast.Expr(value=ast.Call(func=_helper(what), args=[*args, *texts], keywords=[]))


def _at(made: ast.stmt, source: ast.stmt) -> ast.stmt:
    """Puts a statement at the first line of another; one that ends further down would be reported there."""
    if not isinstance(made, ast.FunctionDef):
        made.lineno = made.end_lineno = source.lineno
        made.col_offset = made.end_col_offset = source.col_offset
    return made


def _name(name: str) -> ast.expr:
    return ast.Name(id=name, ctx=ast.Load())


def _helper(what: str) -> ast.expr:
    return ast.Attribute(value=_name(_HELPER), attr=what, ctx=ast.Load())


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)
