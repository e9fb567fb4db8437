"""The session of Spark that a run works in: the caller's, or one that it starts."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import Any, NamedTuple

from shoal.engines.ranges.spill import Spill
from shoal.errors import InputError, PolicyError

__all__ = ["LOCAL", "Session", "check_installed", "session_of"]

LOCAL = "local[*]"
"""The master where nobody says: this machine, all of its cores."""
ASKED = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.daemon.module": "shoal.engines.spark.daemon",
}
HERE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def check_installed() -> None:
    """Refuse a run without Spark before anything else is done."""
    if importlib.util.find_spec("pyspark") is None:
        raise PolicyError('engine spark: needs PySpark; install it: pip install "shoal[spark]"')


class Session(NamedTuple):
    """Spark's session, and whether it was started for this run, which then ends it."""

    spark: Any
    ours: bool = False
    folder: Spill | None = None
    """Where Spark keeps records meanwhile, on this machine. Where it would put them by itself,
    everybody who has an account can read them."""

    def close(self) -> None:
        """End it, if nobody else has it."""
        if self.ours:
            self.spark.stop()
        if self.folder is not None:
            self.folder.remove()


def session_of(frame: Any, master: str | None) -> Session:
    """The session of a data frame, the active one, or a new one."""
    check_installed()
    if frame is not None:
        return Session(frame.sparkSession)
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return Session(active)
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise PolicyError("engine spark: needs Java 17 or newer; there is no java on the PATH")
    master = master or LOCAL
    settings, folder = dict(ASKED), None
    if master.startswith("local"):
        folder = Spill(None)
        settings |= {**HERE, "spark.local.dir": str(folder.path)}
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("shoal")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        if folder is not None:
            folder.remove()
        raise InputError(
            f"engine spark: no session of Spark at {master} ({type(error).__name__}); "
            "is its master running, and does it answer from here?"
        ) from None
    session.sparkContext.setLogLevel("ERROR")
    return Session(session, True, folder)
