class_name KataribeClient
extends Node
## A player of a Kataribe service: what it does is sent to the service, what it hears comes as signals.
##
## Each event of docs/client-events.md is a signal with the event's `data`. What is done while the service is away is
## sent when it is back, once; what was told meanwhile is heard then, without a gap, and nothing twice.

## Each event, after its own signal: `kind`, `seq`, `at`, `conversation_id`, `data`, and `json`, the text of all that.
signal told(event)
## The service has done a command: the command's name, the HTTP status, and what was answered.
signal answered(command, status, answer)
## The service has refused it. `problem` has `status`, and mostly `type` and `detail`, a sentence that says why.
signal refused(command, problem)

signal conversation_started(data)
signal npc_thinking(data)
signal utterance_started(data)
signal utterance_delta(data)
signal utterance_sentence(data)
signal utterance_completed(data)
signal utterance_discarded(data)
signal choices(data)
signal action_requested(data)
signal action_done(data)
signal action_failed(data)
signal conversation_ended(data)
signal affinity_changed(data)
signal mood_changed(data)
signal memory_changed(data)
signal error(data)
signal world_restored(data)

const Events = preload("res://addons/kataribe/events.gd")
const Request = preload("res://addons/kataribe/request.gd")
## Seconds until a service that could not be reached is asked again.
const PAUSE := 1.0
## Seconds of silence after which a connection is taken for lost: a stream says something every 15.
const SILENCE := 40.0

@export var service_url := "http://127.0.0.1:8010"
@export var api_key := ""
@export var world_id := "main"
@export var player_id := "player"

## What was heard. `events.position` belongs into the saved game: set it before `join`, and nothing is heard twice. Left
## empty, what the player has heard before is over.
var events = Events.new()

var _conversation_id := ""
var _commands := []
var _sending = Request.new()
var _answer = PackedByteArray()
var _stream = Request.new()
var _is_following := false
var _quiet := 0.0
var _pause := 0.0


## Make the player in the world, and hear what it hears from `events.position` on. The first thing to do.
func join(player_name: String) -> void:
	randomize()
	_send("join", HTTPClient.METHOD_PUT, "/people/" + player_id, {"kind": "player", "name": player_name})
	if events.position == "":
		_catch_up("0")


## Find the newest position, page by page, before anything else is done.
func _catch_up(position: String) -> void:
	var path = "/people/" + player_id + "/updates?wait=0&after=" + position
	var command = {"name": "catch_up", "method": HTTPClient.METHOD_GET, "path": path, "body": "", "key": _name()}
	_commands.insert(0 if position != "0" else _commands.size(), command)


## Stand on a node of the world's map, beside those who are to be talked to; null: nowhere. `more`: `{"busy": true}`
## while nobody is to speak to the player first.
func stand(node_id, more := {}) -> void:
	_send("stand", HTTPClient.METHOD_PUT, "/people/" + player_id + "/position", _with({"node_id": node_id}, more))


## Begin to talk with somebody. `more`: other fields of POST /conversations/start.
func start(partner_id: String, more := {}) -> void:
	var body = {"mode": "player", "player_id": player_id, "partner_id": partner_id}
	_send("start", HTTPClient.METHOD_POST, "/conversations/start", _with(body, more))


## Sit down with those who talk beside the player, who speaks next. `talking_in` of GET /world/people names their talk.
func sit_down(conversation_id: String) -> void:
	_send("sit_down", HTTPClient.METHOD_POST, "/conversations/" + conversation_id + "/join", {"person_id": player_id})


## Ask somebody who stands beside to sit down, too.
func invite(person_id: String) -> void:
	_post("invite", "/join", {"person_id": person_id})


## Get up; the others go on without the player.
func leave() -> void:
	_post("leave", "/leave", {"person_id": player_id})


## Say it to one who is there: nobody else hears it, or the answer.
func whisper(to: String, text: String) -> void:
	say(text, {"to": to, "loudness": "whisper"})


## `more`: other fields of POST /conversations/{id}/say, as `context`, or `to`, who answers.
func say(text: String, more := {}) -> void:
	_post("say", "/say", _with({"text": text, "message_id": _name()}, more))


## Say one of the lines of `choices`, which come where `start` asks for them: `{"choices": 3}`.
func choose(choice_id: String) -> void:
	_post("choose", "/choose", {"choice_id": choice_id})


## Cut short what is being said, or was said last: so many characters of it were heard.
func interrupt(heard_chars: int) -> void:
	_post("interrupt", "/interrupt", {"utterance_id": events.utterance_id, "heard_chars": heard_chars})


## What was said last is still being played; the player is not silent yet.
func playback() -> void:
	_post("playback", "/playback", {"utterance_id": events.utterance_id})


## What became of an `action_requested`: once, before its deadline. The speaker is told `message`.
func settle(call_id: String, ok: bool, message := "") -> void:
	_post("settle", "/actions/" + call_id + "/result", {"ok": ok, "message": message})


func end() -> void:
	_post("end", "/end", {})


## Tell what happened. `seen`: who saw it, as `{"node_id": "door"}`, and other fields of POST /world/observations.
func observe(text: String, seen: Dictionary) -> void:
	_send("observe", HTTPClient.METHOD_POST, "/world/observations", _with({"text": text, "game_id": _name()}, seen))


func _post(command: String, path: String, body: Dictionary) -> void:
	_send(command, HTTPClient.METHOD_POST, "/conversations/{conversation}" + path, body)


func _send(command: String, method: int, path: String, body: Dictionary) -> void:
	_commands.append({"name": command, "method": method, "path": path, "body": JSON.stringify(body), "key": _name()})


func _process(delta: float) -> void:
	_work_off()
	_pause -= delta
	if _is_following and events.position != "":
		_follow(delta)


## One command after the other: each is sent until it is answered, by a name of its own, so that it is done once.
func _work_off() -> void:
	if _commands.size() == 0:
		return
	var command = _commands[0]
	if _sending.is_over:
		if _pause > 0:
			return
		_answer.resize(0)
		var path = command["path"].replace("{conversation}", _conversation_id)
		var headers = _headers() + ["Content-Type: application/json", "Idempotency-Key: " + command["key"]]
		_sending.send(service_url, command["method"], path, headers, command["body"])
	_answer.append_array(_sending.poll())
	if _sending.is_whole:
		_commands.pop_front()
		_take(command["name"], _sending.code, _answer.get_string_from_utf8())
	elif _sending.is_over:
		_pause = PAUSE


func _take(command: String, code: int, body: String) -> void:
	var answer = JSON.parse_string(body) if body.begins_with("{") else {}
	if code >= 400:
		answer["status"] = code
		emit_signal("refused", command, answer)
		return
	if command == "catch_up" and answer["items"].size() > 0:
		_catch_up(answer["next"])
		return
	if command == "catch_up":
		events.position = answer["next"]
		return
	if command == "join":
		_is_following = true
		_conversation_id = answer["talking_in"] if answer["talking_in"] != null else ""
	elif command in ["start", "sit_down"]:
		_conversation_id = answer["id"]
	emit_signal("answered", command, code, answer)


func _follow(delta: float) -> void:
	if _stream.is_over:
		if _pause > 0:
			return
		_quiet = 0.0
		events.cut()
		var headers = _headers() + ["Accept: text/event-stream", "Last-Event-ID: " + events.position]
		_stream.send(service_url, HTTPClient.METHOD_GET, "/people/" + player_id + "/stream", headers, "")
	var bytes = _stream.poll()
	_quiet = 0.0 if bytes.size() > 0 else _quiet + delta
	if _stream.code >= 400 and _stream.code < 500:
		_is_following = false
		_stream.stop()
		_take("follow", _stream.code, bytes.get_string_from_utf8())
		return
	for event in events.read(bytes):
		_hear(event)
	if _quiet > SILENCE:
		_stream.stop()
	if _stream.is_over:
		_pause = PAUSE


func _hear(event: Dictionary) -> void:
	events.take(event)
	if event["kind"] == "conversation.started":
		_conversation_id = event["conversation_id"]
	var kind = event["kind"].replace(".", "_")
	if has_signal(kind):
		emit_signal(kind, event["data"])
	emit_signal("told", event)


func _headers() -> Array:
	var headers = ["X-World-Id: " + world_id]
	if api_key != "":
		headers.append("Authorization: Bearer " + api_key)
	return headers


func _with(body: Dictionary, more: Dictionary) -> Dictionary:
	for field in more:
		body[field] = more[field]
	return body


## What nothing else is named.
func _name() -> String:
	return "%s-%08x%08x" % [player_id, randi(), randi()]
