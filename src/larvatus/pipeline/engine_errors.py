"""What the pipeline has to know of engines: their errors, and whether their work may run in another thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from larvatus.core.errors import EngineError, LarvatusError, MachineError
from larvatus.core.system_errors import is_failure_of_machine, machine_failure
from larvatus.data.contracts import Method
from larvatus.data.microdata import Microdata


@contextmanager
def naming_method(method: Method) -> Iterator[None]:
    """Add the name of the method to errors that an engine raises inside this context, and explain the loss of Spark."""
    try:
        yield
    except (EngineError, MachineError) as error:
        if error.subject == method.name() or type(error) not in (EngineError, MachineError):
            raise
        raise type(error)(str(error), subject=method.name()) from None
    except (LarvatusError, OSError, MemoryError):
        raise
    except Exception as error:
        if is_failure_of_machine(error):
            raise MachineError(machine_failure(error), subject=method.name()) from None
        raise


def in_main_thread(data: Microdata) -> bool:
    """Whether the work has to stay in the caller's thread, as that of a Spark session has to."""
    return data.engine.name == "spark"
