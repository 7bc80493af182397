"""Keeping pytest's root where it is without ``--board``.

pytest looks for its root and its settings before it loads plugins. It does not know their options
then, so the value in ``--board ../store.sqlite`` looks like a path to test as soon as that file
exists, and the root of the project would move to the folder above. Here the search is done again,
with what is known once the plugins are there.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest

__all__ = ["correct"]


def correct(config: Any, args: list[str]) -> None:
    """Give `config` the root and the settings it has by its real arguments, if they differ."""
    from _pytest.config import findpaths

    known = config.known_args_namespace
    wanted = {
        "inifile": known.inifilename,
        "override_ini": known.override_ini,
        "args": known.file_or_dir,
        "rootdir_cmd_arg": known.rootdir or None,
        "invocation_dir": config.invocation_params.dir,
    }
    accepted = inspect.signature(findpaths.determine_setup).parameters
    root, inipath, settings, *_ = findpaths.determine_setup(
        **{name: value for name, value in wanted.items() if name in accepted}
    )
    if (root, inipath) == (config.rootpath, config.inipath):
        return
    wrong_options = list(config.getini("addopts"))
    if args[: len(wrong_options)] == wrong_options:
        del args[: len(wrong_options)]
    config._rootpath, config._inipath = root, inipath
    setattr(config, "_inicfg" if "_inicfg" in vars(config) else "inicfg", settings)
    config._inicache.clear()
    config._parser.extra_info.update(rootdir=str(root), inifile=str(inipath))
    options = list(config.getini("addopts"))
    args[:0] = options
    config.pluginmanager.consider_preparse(options, exclude_only=False)
    had_own_limit = any(word.startswith("--confcutdir") for word in args)
    limit = known.confcutdir if had_own_limit else str(inipath.parent if inipath else root)
    config.known_args_namespace = config._parser.parse_known_args(
        args, namespace=copy.copy(config.option)
    )
    config.known_args_namespace.confcutdir = limit
    if hasattr(config, "_configure_python_path"):  # older versions do it later, by a plugin
        config._configure_python_path()
    _correct_rewriting(config)


def _correct_rewriting(config: pytest.Config) -> None:
    """The names of test modules are a setting, which the import hook has read already."""
    from _pytest.assertion import rewrite

    state = config.stash.get(rewrite.assertstate_key, None)
    if state is not None and state.hook is not None:
        state.hook.fnpats = config.getini("python_files")
