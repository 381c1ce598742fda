"""A network namespace in which only loopback exists, yet the machine's own name still leads somewhere."""

import fcntl
import os
import socket
import struct

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8913, 0x8914, 0x8916, 0x891C
_IFF_UP = 0x1


def own_addresses() -> list[str]:
    """Return the non-loopback IPv4 addresses of this host's name; call before the namespace is left.

    torchrun and gloo meet at the address of the host name; without it on loopback they would wait for ever.
    """
    try:
        found = socket.gethostbyname_ex(socket.gethostname())[2] if _named_in_hosts_file() else []
    except OSError:
        return []
    return [address for address in found if not address.startswith("127.")]


def _named_in_hosts_file() -> bool:
    """Only the hosts file answers without asking a name server, which could take seconds."""
    name = os.fsencode(socket.gethostname())
    with open("/etc/hosts", "rb") as hosts:
        return any(name in line.split(b"#")[0].split()[1:] for line in hosts)


def raise_loopback(extra: list[str]) -> None:
    """Bring `lo` up and give it the addresses `extra` besides 127.0.0.1; raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack("16sh22x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))
        for index, address in enumerate(extra):
            label = f"lo:{index}".encode()
            for call, text in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.255")):
                packed = struct.pack("16sHH4s16x", label, socket.AF_INET, 0, socket.inet_aton(text))
                fcntl.ioctl(control, call, packed)
