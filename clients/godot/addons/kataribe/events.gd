extends RefCounted
## What the service tells (docs/client-events.md), out of the bytes of its server-sent events. No network, no clock.

## Whoever asks again from here is told what comes next, and nothing twice. "0": all that the player ever heard.
var position := ""
## The utterance that was begun last, and its words so far.
var utterance_id := ""
var text := ""

var _line = PackedByteArray()
var _fields := {}


## The events that `bytes` complete, oldest first; `take` each when it is its turn. Bytes may end within a letter.
func read(bytes) -> Array:
	var events := []
	for byte in bytes:
		if byte != 10:
			_line.append(byte)
			continue
		var line = _line.get_string_from_utf8()
		_line.resize(0)
		var colon = line.find(":")
		if colon > 0:
			_fields[line.substr(0, colon)] = line.substr(colon + 1, line.length()).strip_edges()
		elif line == "" and _fields.has("data"):
			var event = JSON.parse_string(_fields["data"])
			event["json"] = _fields["data"]
			event["position"] = _fields["id"]
			events.append(event)
			_fields = {}
	return events


func take(event: Dictionary) -> void:
	position = event["position"]
	var data = event["data"]
	match event["kind"]:
		"utterance.started":
			utterance_id = data["utterance_id"]
			text = ""
		"utterance.delta":
			text = text.substr(0, int(data["char_start"])) + data["text"]
		"utterance.discarded", "world.restored":
			text = ""


## The connection was lost: what had come of an event by halves will be told again.
func cut() -> void:
	_line.resize(0)
	_fields = {}
