#!/usr/bin/env python3
"""A link with a constant delay between two TUN devices, for kernels without netem.

Usage: delay_link.py DEVICE DEVICE MILLISECONDS

Creates both devices, prints "ready", and passes every packet from one to the other, MILLISECONDS
later, until it is terminated. The devices may be moved into network namespaces. Give them their
rates with tbf.
"""

import collections
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000


def tun(name: str) -> int:
    """A descriptor of a new TUN device."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def relay(a: int, b: int, delay: float) -> None:
    """Passes packets between two descriptors, `delay` seconds late."""
    other = {a: b, b: a}
    waiting: collections.deque[tuple[float, int, bytes]] = collections.deque()
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select([a, b], [], [], timeout)
        now = time.monotonic()
        for fd in readable:
            try:
                while True:
                    waiting.append((now + delay, other[fd], os.read(fd, 65536)))
            except BlockingIOError:
                pass
        while waiting and waiting[0][0] <= now:
            _, fd, packet = waiting.popleft()
            try:
                os.write(fd, packet)
            except OSError:
                pass  # The device is down: the packet is lost, as on any link.


if __name__ == "__main__":
    first, second = tun(sys.argv[1]), tun(sys.argv[2])
    print("ready", flush=True)
    relay(first, second, float(sys.argv[3]) / 1000)
