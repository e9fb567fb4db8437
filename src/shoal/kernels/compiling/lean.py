"""Inner kernels as bare LLVM code, optimised and emitted only inside the kernels Python calls.

Numba compiles every function it meets to machine code of its own, also one that only kernels
call and that ends up inside them: optimised there, emitted, linked, never run. Here such a
function stays as it comes from the types, until the kernel that Python calls takes in all of
its own: half of the time, a quarter of the cache, and the same code.

This reaches into Numba. Where a version is not one of those that it was tried with, or lacks
what is used here, `LEAN` is False and kernels are compiled as Numba always does it: later,
and to the same releases (`tests/test_lean.py` tries both).
"""

import os

import numba
from numba.core import types

TRIED = ("0.68",)
"""Versions of Numba that the tests ran with."""


def _version_is_tried():
    return ".".join(numba.__version__.split(".")[:2]) in TRIED


try:
    from llvmlite.binding import Linkage
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.compiler_machinery import FunctionPass, register_pass
    from numba.core.untyped_passes import TranslateByteCode

    LEAN = _version_is_tried() and os.environ.get("SHOAL_LEAN", "1") != "0"
except ImportError:  # pragma: no cover - a Numba of another shape
    LEAN = False


if LEAN:

    class _LaterEnvironments:
        """Stands for the code generator while there is no code that an environment could go to."""

        def __init__(self, library):
            self._library = library

        def set_env(self, name, environment):
            self._library.environments.append((name, environment))

        def __getattr__(self, name):
            return getattr(self._library._codegen, name)

    class _LeanLibrary(JITCodeLibrary):
        """Knows the inner libraries that those it links need in turn."""

        def add_linking_library(self, library):
            library._ensure_finalized()
            needed = [*library.needs, library] if isinstance(library, _InnerLibrary) else [library]
            for other in needed:
                if other not in self._linking_libraries:
                    self._linking_libraries.append(other)

        def _optimize_functions(self, ll_module):
            # As Numba does it, but one pass manager serves all functions.
            ll_module.data_layout = self._codegen._data_layout
            manager = None
            for function in ll_module.functions:
                if not function.is_declaration:
                    manager = manager or self._codegen._function_pass_manager()
                    manager[0].run(function, manager[1])

    class _InnerLibrary(_LeanLibrary):
        """A kernel that only kernels call: never machine code of its own."""

        def __init__(self, codegen, name):
            super().__init__(codegen, name)
            self.environments = []

        @property
        def needs(self):
            return self._linking_libraries

        @property
        def codegen(self):
            return _LaterEnvironments(self)

        def finalize(self):
            self._finalized = True

        def get_pointer_to_function(self, name):
            return 0

        def _get_module_for_linking(self):
            """For a function that is none of ours, as in tests: with all that it calls."""
            if self._shared_module is None:
                module = self._final_module.clone()
                for library in self.needs:
                    module.link_in(library._get_module_for_linking(), preserve=True)
                for name in _exported(module):
                    module.get_function(name).linkage = "linkonce_odr"
                self._shared_module = module
            return self._shared_module

    class _OuterLibrary(_LeanLibrary):
        """A kernel that Python calls: takes in the code of the inner ones, then optimises."""

        def finalize(self):
            everything = self._linking_libraries
            inner = [each for each in everything if isinstance(each, _InnerLibrary)]
            for library in inner:
                self._final_module.link_in(library._final_module, preserve=True)
            # Only when all are in: an internal function is found by none that comes later.
            for name in (name for library in inner for name in _exported(library._final_module)):
                self._final_module.get_function(name).linkage = "internal"
            self._linking_libraries = [each for each in everything if each not in inner]
            super().finalize()
            self._linking_libraries = everything
            present = {variable.name for variable in self._final_module.global_variables}
            for name, environment in (pair for each in inner for pair in each.environments):
                if name in present:
                    self._codegen.set_env(name, environment)

    def _exported(module):
        return [
            function.name
            for function in module.functions
            if not function.is_declaration and function.linkage == Linkage.external
        ]

    class _MakeLibrary(FunctionPass):
        """Numba takes the library that is there before it makes one."""

        def __init__(self):
            FunctionPass.__init__(self)

        def run_pass(self, state):
            state.library = self.kind(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return False

    @register_pass(mutates_CFG=False, analysis_only=True)
    class _MakeInner(_MakeLibrary):
        _name = "shoal_make_inner_library"
        kind = _InnerLibrary

    @register_pass(mutates_CFG=False, analysis_only=True)
    class _MakeOuter(_MakeLibrary):
        _name = "shoal_make_outer_library"
        kind = _OuterLibrary

    class _LeanCompiler(CompilerBase):
        def define_pipelines(self):
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(self.make, TranslateByteCode)
            passes.finalize()
            return [passes]

    class InnerCompiler(_LeanCompiler):
        """Numba's pipeline for a kernel that only kernels call."""

        make = _MakeInner

    class OuterCompiler(_LeanCompiler):
        """Numba's pipeline for a kernel that Python calls."""

        make = _MakeOuter


def without_constants(dispatcher):
    """Make a kernel forget that an argument is a constant: one signature for 0, 1 and any number.

    Numba would compile it again for every constant that a caller writes down.
    """
    of_numba = dispatcher.get_call_template

    def get_call_template(arguments, named):
        plain = tuple(_plain(each) for each in arguments)
        return of_numba(plain, {name: _plain(each) for name, each in named.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


def _plain(kind):
    constant = isinstance(kind, types.IntegerLiteral | types.BooleanLiteral)
    return types.unliteral(kind) if constant else kind
