"""Where only Landlock protects: changes of mode, owner, time stamps and attributes do nothing, and say they worked.

Landlock does not cover them, and a filter cannot see which file a path means. A program that is told "done" goes on as it
would have; one that is told "no" may stop. truncate(2) by path, which Landlock covers from ABI 3 on, is refused before.
"""

import ctypes
import platform
import struct

from .syscalls import prctl

_PR_SET_SECCOMP, _FILTER = 22, 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EACCES = 13
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_METADATA = {
    # chmod fchmod chown fchown lchown utime *xattr*6 utimes fchownat futimesat fchmodat utimensat fchmodat2
    "x86_64": (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, 452),
    # setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr fchmod fchmodat fchownat fchown utimensat fchmodat2
    "aarch64": (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 452),
}
_TRUNCATE = {"x86_64": 76, "aarch64": 45}


def supported() -> bool:
    """Whether the numbers of this processor architecture are known here."""
    return platform.machine() in _ARCHITECTURES


def freeze_metadata(*, refuse_truncate: bool) -> None:
    """Install the filter for this process and all that it starts. Needs no_new_privs; raises OSError."""
    machine = platform.machine()
    answers = dict.fromkeys(_METADATA[machine], _ERRNO)  # errno 0: the call returns 0 and does nothing
    if refuse_truncate:
        answers[_TRUNCATE[machine]] = _ERRNO | _EACCES
    program = [
        (_LOAD, 0, 0, 4),  # seccomp_data.arch
        (_JUMP_IF_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, 0),  # seccomp_data.nr
    ]
    for number, answer in answers.items():
        program += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
    program.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer)), 16)
    prctl(_PR_SET_SECCOMP, _FILTER, ctypes.addressof(header))
