"""Commands that are longer than the screen can still be pasted into a shell."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.report.terminal.tune import continued


@given(
    st.lists(st.text(alphabet="ab '\"\\$=/.中", min_size=1, max_size=12), min_size=1, max_size=12), st.integers(8, 80)
)
def test_a_shell_reads_the_same_words(words, width):
    text = continued(shlex.join(words), width=width)
    assert shlex.split(text.replace("\\\n", "")) == words
    longest = max(len(shlex.quote(word)) for word in words)
    assert all(len(line) <= max(width, longest + 4) for line in text.splitlines())


@pytest.mark.parametrize("width", [20, 40, 200])
def test_bash_runs_it_as_one_command(width):
    text = continued("A=1 B='two words' python3 -c 'import os; print(os.environ[\"B\"], 7)' --flag", width=width)
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "two words 7\n"
