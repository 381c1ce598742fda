"""`python -m pitstop` is the `pitstop` command."""

from pitstop.cli import main

if __name__ == "__main__":
    main()
