import os

from pitstop.measure.output import CapturedOutput


def test_what_was_written_is_kept_per_stream(tmp_path):
    captured = CapturedOutput(tmp_path)
    os.write(captured.writers[0], b"out")
    os.write(captured.writers[1], b"err")
    captured.started()
    captured.finish()
    assert (tmp_path / "stdout").read_bytes() == b"out"
    assert (tmp_path / "stderr").read_bytes() == b"err"


def test_a_flood_keeps_its_beginning_and_its_end(tmp_path):
    captured = CapturedOutput(tmp_path)
    writer = os.dup(captured.writers[0])
    captured.started()
    os.write(writer, b"begin")
    for _ in range(200):
        os.write(writer, b"x" * 65_000)
    os.write(writer, b"end")
    os.close(writer)
    captured.finish()
    kept = (tmp_path / "stdout").read_bytes()
    assert kept.startswith(b"beginx")
    assert kept.endswith(b"xend")
    head, _, tail = kept.partition(b"\n[pitstop: ")
    left_out, _, tail = tail.partition(b" bytes left out]\n")
    assert len(head) + int(left_out) + len(tail) == 5 + 200 * 65_000 + 3


def test_a_process_that_holds_the_pipe_does_not_hold_the_run(tmp_path):
    captured = CapturedOutput(tmp_path)
    holder = os.dup(captured.writers[0])
    captured.started()
    os.write(holder, b"early")
    captured.finish(timeout_s=0.2)
    assert (tmp_path / "stdout").read_bytes() in {b"early", b""}
    os.write(holder, b"late")
    os.close(holder)
