"""Owns the tools for authors' assistants, by the Model Context Protocol: each is a request or two to the HTTP API.

The SDK is loaded when somebody asks for a tool: it brings 60 MB that a game never needs.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from hashlib import blake2b
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field, ValidationError
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api.problem import expected
from service.errors import require_extra

if TYPE_CHECKING:
    import httpx
    from mcp.server import MCPServer
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

INSTRUCTIONS = """Kataribe gives a game's people a life and a memory. A world clock moves characters over a map; NPCs
stand at their posts; everybody remembers what was said to them. Begin with world_state and people. All times are world
times. Ids are those of the content files."""

SECONDS = 600
"""How long a tool may take: a tick of a day with a slow model takes minutes."""

World = Annotated[str, Field(description="which world; main if there is only one")]
PersonId = Annotated[str, Field(description="id of a person, as `people` lists them")]
Checker = Callable[[], Sequence[str]]
"""Answers what is wrong in the game's content files, a line each."""


class Tools:
    """The tools, over a client of the HTTP API."""

    def __init__(self, http: "httpx.AsyncClient", check: Checker) -> None:
        self._http = http
        self._check = check

    async def world_state(self, world: World = "main") -> dict[str, Any]:
        """The world's clock, what is announced, and the conversations that go on now."""
        running = await self._ask("GET", "/conversations", world, params={"phase": "running", "limit": "20"})
        talks = [{name: value for name, value in talk.items() if name != "models"} for talk in running["items"]]
        return {"world": await self._ask("GET", "/world", world), "conversations": talks}

    async def people(
        self,
        world: World = "main",
        person_id: Annotated[str, Field(description="one person with its profile; empty: where everybody is")] = "",
    ) -> Any:
        """Who there is and where everybody stands; or one person, with its profile."""
        return await self._ask("GET", _path("people", person_id) if person_id else "/world/people", world)

    async def advance(
        self,
        minutes: Annotated[int, Field(ge=1, le=10_080, description="world minutes, at most a week")],
        world: World = "main",
    ) -> dict[str, Any]:
        """Let the world live on; answers what happened. Characters may ask a model for what they decide."""
        tick = (await self._ask("GET", "/world", world))["tick_minutes"]
        return await self._ask("POST", "/world/tick", world, json={"ticks": -(-minutes // tick)})

    async def let_talk(
        self,
        character_id: PersonId,
        partner_id: PersonId,
        goal: Annotated[str, Field(description="what the character wants of it; empty: it sets itself a goal")] = "",
        success_criteria: Annotated[str, Field(description="how to tell that it is reached; with a goal")] = "",
        world: World = "main",
    ) -> dict[str, Any]:
        """Let a character talk with somebody beside it, to the end; answers what was said and what it changed. People
        says who stands where; no tool moves anybody: advance until they are beside each other.
        """
        body = {"character_id": character_id, "partner_id": partner_id}
        wish = {"goal": goal, "success_criteria": success_criteria}
        body |= {name: words for name, words in wish.items() if words}
        return await self._ask("POST", "/conversations/start?wait=true", world, json=body)

    async def say(
        self,
        partner_id: PersonId,
        text: Annotated[str, Field(description="what the player says; empty with end: only take leave")],
        player_id: Annotated[str, Field(description="id of the player who speaks; made if there is none")] = "visitor",
        player_name: Annotated[str, Field(description="its name, where it is made now")] = "Visitor",
        conversation_id: Annotated[
            str, Field(description="go on with that one; empty: the one that both are in, else a new one")
        ] = "",
        end: Annotated[bool, Field(description="end the conversation after this; then it is remembered")] = False,
        world: World = "main",
    ) -> dict[str, Any]:
        """Speak with somebody as a player; answers the reply and the conversation's id, to go on with."""
        if not conversation_id:
            conversation_id = await self._begin(player_id, player_name, partner_id, world)
        path, said = _path("conversations", conversation_id), dict[str, Any]()
        if text:
            said = await self._ask("POST", f"{path}/say?wait=true", world, json={"text": text})
        if end and (said.get("conversation") or {"phase": "running"})["phase"] == "running":
            said["conversation"] = await self._ask("POST", f"{path}/end", world)
        answer, conversation = said.get("answer"), said.get("conversation") or {}
        course = {key: conversation.get(key) for key in ("phase", "end_reason")}
        return {"conversation_id": conversation_id, "answer": answer and answer["text"], **course}

    async def recall(
        self,
        person_id: PersonId,
        query: Annotated[str, Field(description="what to look for, in the words of the world's language")],
        about: Annotated[str, Field(description="id of whom it is about; empty: anybody")] = "",
        world: World = "main",
    ) -> dict[str, Any]:
        """What a person remembers that bears on the query: ranked, each with where it comes from."""
        params = {"query": query} | ({"about": about} if about else {})
        return await self._ask("GET", _path("people", person_id, "memory", "search"), world, params=params)

    async def remember(
        self,
        person_id: PersonId,
        statements: Annotated[list[str], Field(min_length=1, max_length=1000, description="one sentence each")],
        world: World = "main",
    ) -> dict[str, Any]:
        """Give a person memories, as if it had known them already. The same sentence given again changes nothing."""
        lines = [{"id": blake2b(one.encode(), digest_size=10).hexdigest(), "statement": one} for one in statements]
        path = _path("people", person_id, "memory")
        return await self._ask("POST", path, world, params={"by": "mcp"}, json={"statements": lines})

    async def amend_memory(
        self,
        person_id: PersonId,
        memory_id: Annotated[str, Field(description="id of the memory, as `recall` answers it")],
        change: Annotated[Literal["edit", "close", "delete"], Field(description="close: no longer true from now on")],
        text: Annotated[str, Field(description="what it says from now on; with edit")] = "",
        world: World = "main",
    ) -> dict[str, Any]:
        """Edit, close or delete one memory; what was there before stays in the audit."""
        path = _path("people", person_id, "memories", memory_id)
        if change == "delete":
            await self._ask("DELETE", path, world)
            return {"deleted": memory_id}
        now = (await self._ask("GET", "/world", world))["now"]
        return await self._ask("PATCH", path, world, json={"text": text} if change == "edit" else {"valid_to": now})

    async def check_content(self) -> dict[str, Any]:
        """Every error in the game's content files, with file and key."""
        found = await asyncio.to_thread(self._check)
        return {"errors": list(found), "count": len(found)}

    async def why(
        self,
        conversation_id: Annotated[str, Field(description="id of the conversation; empty with event_id")] = "",
        turn: Annotated[int, Field(ge=0, description="which turn of it")] = 0,
        event_id: Annotated[int, Field(ge=0, description="instead: id of an event of the world")] = 0,
        world: World = "main",
    ) -> dict[str, Any]:
        """Why somebody said that, or why something happened: memories, attitude, options, model, in words."""
        if bool(event_id) == bool(conversation_id):
            raise _refusal("say of what: give a conversation_id (and its turn), or else an event_id")
        of_turn = _path("conversations", conversation_id, "turns", turn, "why")
        return await self._ask("GET", _path("events", event_id, "why") if event_id else of_turn, world)

    async def _begin(self, player_id: str, player_name: str, partner_id: str, world: str) -> str:
        """The id of the conversation that the two are in, or of one that begins now."""
        path = _path("people", player_id)
        if (await self._send("GET", path, world)).status_code == 404:
            await self._ask("PUT", path, world, json={"kind": "player", "name": player_name})
        body = {"mode": "player", "player_id": player_id, "partner_id": partner_id}
        begun = await self._send("POST", "/conversations/start", world, json=body)
        facts: dict[str, Any] = begun.json().get("facts") or {}
        if {facts.get("person_id"), facts.get("partner_id")} == {player_id, partner_id}:
            return str(facts["conversation_id"])
        return str(_content(begun)["id"])

    async def _ask(self, method: str, path: str, world: str, **more: Any) -> dict[str, Any]:
        """The JSON answer. Raises: ToolError: the service's own sentence of what is wrong."""
        return _content(await self._send(method, path, world, **more))

    async def _send(self, method: str, path: str, world: str, **more: Any) -> "httpx.Response":
        """Raises: ToolError: nobody answers."""
        import httpx

        try:
            return await self._http.request(method, path, headers={"X-World-Id": world}, **more)
        except httpx.TransportError as exc:
            raise _refusal(f"Nobody answers at {self._http.base_url}: start the service with `kataribe serve`") from exc


def _path(*parts: str | int) -> str:
    """The path of these parts: whatever an id is, it is one part."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def _content(answer: "httpx.Response") -> dict[str, Any]:
    """The JSON of an answer. Raises: ToolError: it is a problem."""
    if answer.is_error:
        problem = answer.json()
        fields = [f"{wrong['field']}: {wrong['message']}" for wrong in problem.get("errors", ())]
        raise _refusal(" ".join([problem.get("detail", f"HTTP {answer.status_code}"), *fields]))
    found: dict[str, Any] = answer.json() if answer.content else {}
    return found


def _refusal(sentence: str) -> Exception:
    """The SDK's error that an assistant reads."""
    from mcp.server.mcpserver.exceptions import ToolError

    return ToolError(sentence)


def mcp_server(http: "httpx.AsyncClient", check: Checker) -> "MCPServer":
    """A server of the tools, which asks the HTTP API by `http`. Raises: Misconfigured: its SDK is not installed."""
    require_extra("mcp", module="mcp", setting="mcp")
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool

    class ToolServer(MCPServer):
        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            """What an assistant has written wrong, it is told as HTTP clients are; a name that is none is not passed
            over.
            """
            for tool in await self.list_tools():
                taken = [*tool.input_schema["properties"]]
                if tool.name == name and (unknown := sorted(arguments.keys() - {*taken, "world"})):
                    raise ToolError(f"{name} takes no {', '.join(unknown)}; it takes {', '.join(taken) or 'nothing'}")
            try:
                return await super().call_tool(name, arguments, context)
            except ToolError as exc:
                if not isinstance(exc.__cause__, ValidationError):
                    raise
                wrong = [f"{'.'.join(map(str, e['loc']))}: {expected(e, 'en')}" for e in exc.__cause__.errors()]
                raise ToolError(f"{name}: {'; '.join(wrong)}") from exc

    tools = Tools(http, check)
    offered = (
        tools.world_state,
        tools.people,
        tools.advance,
        tools.let_talk,
        tools.say,
        tools.recall,
        tools.remember,
        tools.amend_memory,
        tools.check_content,
        tools.why,
    )
    return ToolServer(
        "kataribe",
        version=version("kataribe"),
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        tools=[Tool.from_function(tool, structured_output=False) for tool in offered],
    )


_SHOWN: ContextVar[dict[str, str]] = ContextVar("shown")
"""The key of whoever uses a tool, as a header."""


class McpEndpoint:
    """The tools over HTTP, as an ASGI application: streamable HTTP without sessions, so that any replica answers."""

    def __init__(self, app: ASGIApp, check: Checker) -> None:
        """The tools ask `app` itself, and show it the key that they are asked with."""
        self._app = app
        self._check = check
        self._begun = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._stopping = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # without sessions the service has nothing to say of itself: no stream, no end
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        _SHOWN.set({"Authorization": Headers(scope=scope).get("authorization", "")})
        async with self._begun:
            manager = self._manager or await self._begin()
        await manager.handle_request(scope, receive, send)

    async def stop(self) -> None:
        """Answer no more."""
        self._stopping.set()
        if self._serving is not None:
            with suppress(asyncio.CancelledError):
                await self._serving

    async def _begin(self) -> "StreamableHTTPSessionManager":
        require_extra("mcp", module="mcp", setting="mcp")
        ready = asyncio.get_running_loop().create_future()
        self._serving = asyncio.create_task(self._serve(ready))
        self._manager = await ready
        return self._manager

    async def _serve(self, ready: "asyncio.Future[StreamableHTTPSessionManager]") -> None:
        import httpx
        from mcp.server.transport_security import TransportSecuritySettings

        async def show(request: httpx.Request) -> None:
            request.headers.update(_SHOWN.get())

        hooks = {"request": [show]}
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", event_hooks=hooks, timeout=SECONDS
        ) as http:
            server = mcp_server(http, self._check)
            # Who may ask at all, the service's own guard has seen to.
            open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)
            server.streamable_http_app(stateless_http=True, json_response=True, transport_security=open_to_all)
            async with server.session_manager.run():
                ready.set_result(server.session_manager)
                await self._stopping.wait()
