"""A link that is slow, or cut: a proxy in a thread, between whoever dials it and a server."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class Proxy:
    """Passes bytes on; use it with ``with``.

    Parameters
    ----------
    bytes_per_second
        Of each direction of each connection; None for as fast as they come.
    delay
        Seconds that each piece waits.
    """

    def __init__(self, bytes_per_second: float | None = None, delay: float = 0.0) -> None:
        self.rate, self.delay = bytes_per_second, delay
        self.target = ("127.0.0.1", 0)
        self.passed = 0
        self.num_connections = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """End all connections, in the middle of whatever is said."""

        async def work() -> None:
            for writer in list(self._writers):
                writer.transport.abort()

        self._run(work())

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _close(self) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader, writer) -> None:
        self.num_connections += 1
        self._writers.add(writer)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            onward = await asyncio.open_connection(*self.target)
            self._writers.add(onward[1])
            await asyncio.gather(self._pass(reader, onward[1]), self._pass(onward[0], writer))

    async def _pass(self, reader, writer) -> None:
        try:
            while data := await reader.read(1 << 12):
                wait = self.delay + (len(data) / self.rate if self.rate else 0.0)
                if wait:
                    await asyncio.sleep(wait)
                self.passed += len(data)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()
