"""Runs ``fanwise`` and has it receive a signal at a chosen moment: python signalled.py ...

Moments are counted in calls of functions of ours, so that they do not depend on how fast a machine
is. With moment 0 no signal is sent, and the number of calls is told at the end of standard error.
"""

import os
import signal
import sys
import threading

HOME = os.sep + "fanwise" + os.sep


def main():
    moment, number = int(sys.argv[1]), int(sys.argv[2])
    sys.argv = ["fanwise", *sys.argv[3:]]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the shell said
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        if event != "call" or HOME not in frame.f_code.co_filename:
            return
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            return  # it has not begun to listen
        calls += 1
        if calls == moment:
            os.kill(os.getpid(), number)

    from fanwise.cli.main import main as run

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
        if not moment:
            sys.stderr.write(f"{calls}\n")


main()
