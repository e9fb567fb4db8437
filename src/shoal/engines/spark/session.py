"""The session of Spark that a run works in: the caller's, or one that it starts."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import Any

from shoal.errors import InputError, PolicyError

__all__ = ["LOCAL", "check_installed", "session_of"]

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


def session_of(frame: Any, master: str | None) -> tuple[Any, bool]:
    """The session of a data frame, the active one, or a new one; and whether it is new."""
    check_installed()
    if frame is not None:
        return frame.sparkSession, False
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active, False
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise PolicyError("engine spark: needs Java 17 or newer; there is no java on the PATH")
    master = master or LOCAL
    settings = {**ASKED, **(HERE if master.startswith("local") else {})}
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("shoal")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise InputError(
            f"engine spark: no session of Spark at {master} ({type(error).__name__}); "
            "is its master running, and does it answer from here?"
        ) from None
    session.sparkContext.setLogLevel("ERROR")
    return session, True
