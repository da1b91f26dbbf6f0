"""Options that take one value are given once: of several, all but the last would be dropped.

And Ctrl-C is said: Typer would end the command without a word.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from sluicegate.errors import InterruptError, UsageError

if TYPE_CHECKING:
    from typer._click import Context


class Command(TyperCommand):
    """A command that refuses repeated options, and says that it was interrupted."""

    def invoke(self, ctx: Context) -> Any:
        """Run the command.

        Raises:
            InterruptError: After Ctrl-C.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptError("interrupted") from None

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the words behind the command.

        Raises:
            UsageError: If an option is repeated that takes one value.
        """
        # the parser changes the list that it gets
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        counts: Counter[Any] = Counter(given)
        for option, count in counts.items():
            if count > 1 and option.param_type_name == "option" and not option.multiple:
                names = "/".join([*option.opts[:1], *option.secondary_opts[:1]])
                raise UsageError(f"{names} is given {count} times, and takes one value")
        return super().parse_args(ctx, args)
