"""The command line: one file per command."""


def main() -> None:
    """Run the `pitstop` command (entry point)."""
