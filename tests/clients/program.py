"""A small game as its author would write it with the generated client: two meet, talk, and one remembers the other.

It is told the service's address, and prints what came of the talk, as JSON.
"""

import json
import sys

from kataribe_client import Client
from kataribe_client.api.conversations import start_conversation
from kataribe_client.api.people import act, read_memory
from kataribe_client.api.world import tick
from kataribe_client.models import ConversationDetail, MemoryOut, MovedOut, MoveIn, StartIn, TickIn, TickOut

client = Client(base_url=sys.argv[1], timeout=60)

way = act.sync("aoi", client=client, body=MoveIn(type_="move", npc_id="npc_taro"))
assert isinstance(way, MovedOut), way
step = tick.sync(client=client, body=TickIn(ticks=way.minutes))
assert isinstance(step, TickOut), step
talk = start_conversation.sync(
    client=client, wait=True, body=StartIn(character_id="aoi", partner_id="npc_taro", max_turns=4)
)
assert isinstance(talk, ConversationDetail), talk
memory = read_memory.sync("aoi", client=client, npc_id="npc_taro")
assert isinstance(memory, MemoryOut), memory
print(
    json.dumps(
        {
            "phase": talk.phase,
            "said_by": [turn.speaker_id for turn in talk.turns],
            "arrived": [event.person_id for event in step.events if event.kind == "arrived"],
            "met": memory.relation and memory.relation.conversation_count,
            "remembered": memory.last_meeting and memory.last_meeting.conversation_id == talk.id,
        }
    )
)
