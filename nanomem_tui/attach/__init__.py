"""What of nanomem runs inside an agent's own process: a recall tool, a hook around each turn, the pipe to our engine.

Every module here imports the standard library and its neighbours only: an agent lives in an environment of its own that
may lack everything else of nanomem. Modules name each other relatively, so the folder also works under another name.
"""

from __future__ import annotations

TOOL = "memory_recall"
"""The one tool that a model sees; it reads and does nothing else."""

COMMAND_VARIABLE = "NANOMEM_COMMAND"
"""Environment: the command line of nanomem, when it is not the `nanomem` of PATH."""

WORKSPACE_VARIABLE = "NANOMEM_WORKSPACE"
"""Environment: the workspace whose memory is used, instead of the one that the agent runs on."""

ATTACH_VARIABLE = "NANOMEM_ATTACH"
"""Environment: the folder of this package, set by the launcher for the agent and the gateways that it starts."""
