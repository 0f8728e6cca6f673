"""The terminal of the console: its driver, the frames that are written to it, and the signals that end it."""

import signal

SIGNALS = (
    signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGUSR1, signal.SIGUSR2,
    signal.SIGALRM,
)  # fmt: skip
"""What ends a program that does not catch it: the console saves, keeps what is being typed, restores the terminal."""
