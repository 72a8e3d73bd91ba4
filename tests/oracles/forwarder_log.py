"""A plain twin of what a forwarder's log holds after a crash; shares no code with the package.

A log is a list of writes: each either a segment's first record or a message. A crash keeps the
first bytes of the newest file. What is left are the messages whose last byte was kept; where not
even the first record of the newest file was kept, that file counts for nothing.
"""

from __future__ import annotations


def messages_left(files: list[tuple[int, list[tuple[int, int]]]], kept: int) -> list[int]:
    """Return the sequences that a log still has.

    Parameters
    ----------
    files
        Oldest first: bytes of the first record, and (sequence, bytes) of each message.
    kept
        Bytes of the newest file that the crash left.
    """
    left = [sequence for _, messages in files[:-1] for sequence, _ in messages]
    head, messages = files[-1]
    place = head
    if kept < head:
        return left
    for sequence, size in messages:
        place += size
        if place > kept:
            break
        left.append(sequence)
    return left
