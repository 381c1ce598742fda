from pitstop.measure.sandbox.inside.mount_table import is_below, parse, visible

TABLE = r"""
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
21 20 0:5 / /proc rw - proc proc rw
22 20 8:2 / /home rw,nosuid,nodev - ext4 /dev/sda2 rw
23 22 0:40 / /home/u/with\040space rw - fuse.sshfs host:/ rw
24 20 0:41 / /data rw - nfs4 server:/data ro
25 22 0:42 / /home ro - tmpfs cover rw
26 25 0:43 / /home/u rw - ext4 /dev/sdc rw
27 26 0:44 / /home/u rw - tmpfs top rw
28 20 0:45 / /mnt/a/b rw - tmpfs hidden rw
29 20 0:46 / /mnt/a rw - tmpfs above rw
""".strip()


def test_fields_are_read():
    mounts = {mount.identity: mount for mount in parse(TABLE)}
    assert mounts[23].point == "/home/u/with space"
    assert mounts[22].flags == {"rw", "nosuid", "nodev"}
    assert mounts[24].read_only, "by its file system"
    assert mounts[25].read_only, "by its mount"
    assert not mounts[20].read_only


def test_only_what_a_path_reaches_is_visible():
    """/home was mounted over, with what was below it; /home/u twice; /mnt/a over the older /mnt/a/b."""
    assert [mount.identity for mount in visible(parse(TABLE))] == [20, 24, 25, 27, 29, 21]


def test_below_means_whole_names():
    assert is_below("/home/u", "/home")
    assert is_below("/home", "/home")
    assert is_below("/anything", "/")
    assert not is_below("/home2", "/home")
