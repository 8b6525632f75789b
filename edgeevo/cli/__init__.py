"""The command line: formatting and exit codes only. Each command's module is imported when it is called, so that `status` stays light.

Errors are two lines on stderr (`edgeevo: fact`, `hint: what to do`), never a traceback; the exit code tells the kind (edgeevo.errors):
1 other, 2 configuration or usage, 3 refused, 4 sandbox, 5 model, 6 store, 7 daemon, 8 worker, 9 task, 130 interrupted.
`run` with --check exits with 10 when the check does not pass; `logs --follow` exits as the job did.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from edgeevo import __version__
from edgeevo.errors import EdgeevoError

COMMANDS = {
    "daemon": "machine:daemon",
    "status": "status:status",
    "run": "running:run",
    "jobs": "jobs:jobs",
    "logs": "jobs:logs",
    "cancel": "jobs:cancel",
    "apply": "jobs:apply_job",
    "undo": "undoing:undo",
    "resume-apply": "undoing:resume_apply",
    "feedback": "feedback:feedback",
    "ask": "work:ask",
    "night": "nights:night",
    "audit": "nights:audit",
    "history": "nights:history",
    "report": "report:report",
    "env": "environments:env",
    "adapters": "nights:adapters",
    "rollback": "nights:rollback",
    "model": "machine:model",
    "doctor": "machine:doctor",
    "config": "machine:config",
    "demo": "machine:demo",
}
INTERRUPTED = 130


class Settings:
    """What the group's options say; the configuration is read when a command first wants it."""

    def __init__(self, config: str | None, settings: tuple[str, ...]) -> None:
        self.config_option, self.settings = config, settings
        self._loaded: Any = None

    @property
    def loaded(self) -> Any:
        """The configuration (edgeevo.config.Loaded); raises ConfigError."""
        if self._loaded is None:
            from edgeevo.config import find_config, load

            self._loaded = load(find_config(self.config_option), self.settings)
        return self._loaded

    @property
    def socket(self) -> Path:
        """Where the daemon answers, without reading more of the configuration than that; raises ConfigError."""
        from edgeevo.places import Raw, find_config

        return Raw.read(find_config(self.config_option), self.settings).socket


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, imported now; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"edgeevo.cli.{module}"), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="edgeevo")
@click.option(
    "--config", "config", metavar="FILE", help="Configuration file (else $EDGEEVO_CONFIG, else /etc/edgeevo/edgeevo.toml, else defaults)."
)
@click.option(
    "--set", "settings", metavar="SECTION.KEY=VALUE", multiple=True, help="Override one key of the configuration; may be repeated."
)
@click.pass_context
def edgeevo(ctx: click.Context, config: str | None, settings: tuple[str, ...]) -> None:
    """A small local agent that does terminal tasks offline and gets better overnight."""
    ctx.obj = Settings(config, settings)


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: runs a command and turns every error into two lines and an exit code."""
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code. Errors are printed, never raised, unless EDGEEVO_TRACEBACK is set."""
    try:
        result = edgeevo.main(args=None if arguments is None else list(arguments), prog_name="edgeevo", standalone_mode=False)
    except EdgeevoError as error:
        return _explain(str(error), error.hint, error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.UsageError as error:
        context = error.ctx.command_path if error.ctx else "edgeevo"
        return _explain(error.format_message(), f"`{context} --help` shows what it takes", 2)
    except click.ClickException as error:
        return _explain(error.format_message(), "`edgeevo --help` lists the commands", 1)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read us is gone; the flush at exit must not complain
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("EDGEEVO_TRACEBACK"):
            raise
        return _explain(f"unexpected {type(error).__name__}: {error}", "this is a fault of edgeevo; EDGEEVO_TRACEBACK=1 shows where", 1)
    return result if isinstance(result, int) else 0


def _explain(message: str, hint: str, code: int) -> int:
    from edgeevo.cli.text import clean

    click.echo(f"edgeevo: {clean(message)}", err=True)
    if hint:
        click.echo(f"hint: {clean(hint)}", err=True)
    return code
