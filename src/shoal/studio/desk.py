"""Asks the process that keeps the table open; the server itself never opens it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from shoal.errors import InputError

__all__ = ["AskDesk"]

LONGEST_ANSWER = 64 << 20


class AskDesk:
    """One process at a time, started when the first question comes."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def ask(self, what: str, **given: Any) -> dict[str, Any]:
        """The answer to a question; see `shoal.studio.workers.desk`.

        Raises
        ------
        InputError
            With what the table, or the question, lacks.
        """
        async with self._turn:
            process = await self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            line = b""
            try:
                with suppress(OSError, ValueError):  # gone, or longer than any answer may be
                    process.stdin.write(json.dumps({"what": what, **given}).encode() + b"\n")
                    await process.stdin.drain()
                    line = await process.stdout.readline()
            finally:
                # Its answer would be taken for that of the next question. Only the one that was
                # asked: another may have taken its place.
                if not line.endswith(b"\n"):
                    self._end(process)
        if not line.endswith(b"\n"):
            raise InputError("the process that reads the table ended; is there enough memory?")
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise InputError(answer["refused"])
        return answer

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "shoal.studio.workers.desk",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=None if os.environ.get("SHOAL_DEBUG") else asyncio.subprocess.DEVNULL,
                limit=LONGEST_ANSWER, start_new_session=True,
            )  # fmt: skip
        return self._process

    def close(self) -> asyncio.subprocess.Process | None:
        """End the process, whatever it does."""
        process = self._process
        if process is not None:
            self._end(process)
        return process

    def _end(self, process: asyncio.subprocess.Process) -> None:
        if self._process is process:
            self._process = None
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    async def closed(self) -> None:
        """End the process, and wait until it is gone."""
        process = self.close()
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            await process.wait()
            await asyncio.sleep(0)  # its pipes are told, while there is a loop to tell them
