"""A server on the official Python SDK whose tools leave a trace, with a little of all else that a server may have.

Every tool with an effect appends one line to the file named by the environment variable LEDGER and
syncs it: what stands there has happened, whatever the client was told.

    server.py stdio
    server.py http [PORT]     0, the default, takes a free port; the URL is the first line on stdout
"""

import json
import os
import socket
import sys
import warnings
from typing import Any

import anyio
import uvicorn
from mcp import MCPDeprecationWarning, MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import Completion, ToolAnnotations

# Logging is of the revisions before 2026-07-28, which are spoken here too.
warnings.simplefilter("ignore", MCPDeprecationWarning)

server = MCPServer("peer-python", version="1.0.0", log_level="ERROR")


def record(tool: str, **arguments: Any) -> None:
    """Appends one effect in a single write, so that overlapping calls cannot mix their lines."""
    line = json.dumps({"tool": tool, "arguments": arguments}) + "\n"
    ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(ledger, line.encode())
        os.fsync(ledger)
    finally:
        os.close(ledger)


@server.tool()
def pay(amount: int) -> str:
    """Pays an amount."""
    record("pay", amount=amount)
    return f"paid {amount}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))
def pay_hinted(amount: int) -> str:
    """Pays an amount, and claims to be read-only and idempotent: a lie that must change nothing."""
    record("pay_hinted", amount=amount)
    return f"paid {amount}"


@server.tool()
async def slow(ms: int) -> str:
    """Takes its time, then has its effect. By the SDK's default, a cancel ends the wait."""
    await anyio.sleep(ms / 1000)
    record("slow", ms=ms)
    return f"waited {ms} ms"


@server.tool()
async def wait(ms: int, context: Context) -> str:
    """Says that it has begun, and takes its time. Its only effect is to record that it was cancelled, if it was."""
    await context.report_progress(1)
    try:
        await anyio.sleep(ms / 1000)
    except anyio.get_cancelled_exc_class():
        record("cancelled")
        raise
    return f"waited {ms} ms"


@server.tool()
async def steps(number: int, context: Context) -> str:
    """Reports its progress. No effect."""
    for step in range(1, number + 1):
        await context.report_progress(step, number)
    return f"took {number} steps"


@server.tool()
async def log(text: str, context: Context) -> str:
    """Logs the text. No effect."""
    await context.info(text)
    return "logged"


@server.tool()
async def grow(context: Context) -> str:
    """Adds a tool, and tells whoever wants to know. No effect."""
    server.add_tool(echo, name="grown")
    await context.notify_tools_changed()
    await context.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def touch(context: Context) -> str:
    """Tells whoever subscribed to it that a resource has changed. No effect."""
    await context.notify_resource_updated(STILL)
    await context.session.send_resource_updated(STILL)
    return "touched"


@server.tool()
def fail() -> str:
    """Has its effect, then reports a failure of the tool."""
    record("fail")
    raise ToolError("failed after the effect")


@server.tool()
def rpc_fail(code: int) -> str:
    """Has its effect, then makes the SDK answer with a JSON-RPC error."""
    record("rpc_fail", code=code)
    raise MCPError(code, "refused after the effect", {"effect": True})


@server.tool()
def echo(text: str) -> str:
    """Gives the text back. No effect."""
    return text


@server.tool(structured_output=False)
def big(bytes: int) -> str:
    """Answers with that many characters. No effect."""
    return "x" * bytes


@server.tool()
def die() -> str:
    """Has its effect, then ends the process before an answer."""
    record("die")
    os._exit(1)


STILL = "peer://still"


@server.resource(STILL, mime_type="text/plain")
def still() -> str:
    """A resource."""
    return "still here"


@server.resource("peer://numbers/{number}", mime_type="text/plain")
def numbers(number: str) -> str:
    """As many resources as there are numbers."""
    return f"number {number}"


@server.prompt()
def greet(name: str) -> str:
    """A prompt."""
    return f"Greet {name}."


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    """Completes whatever there is to complete."""
    return Completion(values=[name for name in ("ada", "alan", "grace") if name.startswith(argument.value)])


def http(port: int) -> None:
    """Serves streamable HTTP on the loopback interface until killed."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        # From now on clients wait in the backlog: the URL is good before the server runs.
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="error")
        uvicorn.Server(config).run(sockets=[listener])


def main(arguments: list[str]) -> None:
    match arguments:
        case ["stdio"]:
            server.run("stdio")
        case ["http"]:
            http(0)
        case ["http", port]:
            http(int(port))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
