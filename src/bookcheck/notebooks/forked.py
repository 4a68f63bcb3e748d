"""Kernels of notebooks as forks of a process that has imported what every chapter imports."""

import os
import signal
import sys
from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import nbval.kernel
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from bookcheck import warm
from bookcheck.notebooks.reach import refuse, refused_modules

NAME = "forked"


@cache
def out_of_reach() -> frozenset[str]:
    """The modules that a reader's kernel would not find."""
    return frozenset(refused_modules("ipykernel"))


def run_kernel(
    arguments: list[str], folder: str, environment: dict[str, str], refused: Collection[str]
) -> None:
    """Be a kernel, in the folder and with the variables that a started one would have."""
    from ipykernel.kernelapp import launch_new_instance

    os.setsid()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    # It ends when the process that forked it ends, and that one with the tests, even killed ones.
    warm.settle(folder, environment | {"JPY_PARENT_PID": str(os.getppid())})
    refuse(refused)
    launch_new_instance(argv=arguments)


class ForkedKernel:
    """A forked kernel with the methods of `subprocess.Popen` that Jupyter calls."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], folder: str, environment: dict[str, str]) -> None:
        self.process = warm.start(run_kernel, arguments, folder, environment, out_of_reach())
        self.pid = self.process.pid

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self.process.exitcode

    def wait(self) -> int | None:
        """The exit status, at the end."""
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, if it still runs."""
        if self.pid is not None and self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class ForkedProvisioner(LocalProvisioner):
    """Jupyter's way to a local kernel, with a fork in place of a new process."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> Any:
        """Fork a kernel; `cmd` is what would start one: Python, -m, its module, its arguments."""
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        # Jupyter's own class declares these three as None.
        kernel: Any = ForkedKernel(arguments, options["cwd"], dict(options["env"]))
        self.process, self.pid, self.pgid = kernel, kernel.pid, None
        return self.connection_info


def use_forked_kernels() -> None:
    """Let nbval fork the kernels of notebooks."""
    factory = KernelProvisionerFactory.instance()
    place = f"{__name__}:{ForkedProvisioner.__name__}"
    factory.provisioners[NAME] = EntryPoint(NAME, place, factory.GROUP_NAME)
    plain = nbval.kernel.NbvalKernelspecManager.get_kernel_spec

    def get_kernel_spec(manager: Any, kernel_name: str) -> Any:
        spec = plain(manager, kernel_name)
        spec.metadata["kernel_provisioner"] = {"provisioner_name": NAME}
        return spec

    nbval.kernel.NbvalKernelspecManager.get_kernel_spec = get_kernel_spec
