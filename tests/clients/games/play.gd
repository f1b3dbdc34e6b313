extends SceneTree
# Plays scenario.json with the addon of clients/godot on Godot 3 (README.md beside it says what is to be done).
# Environment: SCENARIO and OUT (places), SERVICE (a URL), WORLD.

const STEP_SECONDS = 150.0  # others have to come as far before the service is killed
const WALKS_A_SECOND = 20.0

var client = preload("res://addons/kataribe/client.gd").new()
var request = preload("res://addons/kataribe/request.gd").new()
var figure = Node2D.new()
var scenario
var step = -1
var status = 0
var seconds = 0.0
var heard = []
var heard_before = 0
var call_id = ""
var settling = 0
var is_walking = false


func _initialize():
	OS.low_processor_usage_mode = true
	var file = File.new()
	file.open(OS.get_environment("SCENARIO"), File.READ)
	scenario = parse_json(file.get_as_text())
	file.close()
	client.service_url = OS.get_environment("SERVICE")
	client.world_id = OS.get_environment("WORLD")
	client.player_id = scenario["player"]["id"]
	client.events.position = "0"
	client.connect("told", self, "_on_told")
	client.connect("answered", self, "_on_answered")
	client.connect("refused", self, "_on_refused")
	client.connect("action_requested", self, "_on_action_requested")
	root.add_child(figure)
	root.add_child(client)
	client.join(scenario["player"]["name"])


func _on_told(event):
	heard.append(event)
	if event["seq"] != null:
		_write("events.jsonl", event["json"])


func _on_answered(command, code, _answer):
	if command == "join":
		_begin_next()
	else:
		_take(command, code)


func _on_refused(command, problem):
	if command == "join" or command == "follow":
		_fail(problem)
	_take(command, int(problem["status"]))


# Commands are answered in their order: what the game has said by itself comes before what a step says.
func _take(command, code):
	if command == "settle" and settling > 0:
		settling -= 1
	else:
		status = code


func _on_action_requested(data):
	call_id = data["call_id"]
	var answer = scenario["game"][data["action_id"]]
	if answer != null:
		settling += 1
		client.settle(call_id, answer["ok"], answer["message"])


func _idle(delta):
	if step < 0:
		return
	seconds += delta
	if seconds > STEP_SECONDS:
		_fail("it took too long")
	elif _is_done(delta):
		var done = {"step": step, "do": scenario["steps"][step]["do"]}
		if status != 0:
			done["status"] = status
		_write("steps.jsonl", to_json(done))
		_begin_next()


func _begin_next():
	step += 1
	status = 0
	seconds = 0.0
	if step == scenario["steps"].size():
		quit()
		step = -1
		return
	var now = scenario["steps"][step]
	match now["do"]:
		"walk":
			is_walking = true
		"start":
			client.start(now["with"])
		"say":
			client.say(now["text"])
		"result":
			client.settle(now.get("call_id", call_id), now["ok"])
		"interrupt":
			client.interrupt(int(now["heard_chars"]))
		"observe":
			client.observe(now["text"], _others(now, ["do", "text", "refused"]))
		"end":
			client.end()
		"listen":
			var path = "/people/%s/updates?after=%s&wait=0" % [client.player_id, now["after"]]
			request.send(client.service_url, HTTPClient.METHOD_GET, path, ["X-World-Id: " + client.world_id], "")


func _is_done(delta):
	var now = scenario["steps"][step]
	match now["do"]:
		"killed":
			return true
		"wait":
			return _has_heard(now)
		"walk":
			var there = Vector2(now["x"], now["y"])
			figure.position = figure.position.move_toward(there, WALKS_A_SECOND * delta)
			if is_walking and figure.position == there:
				is_walking = false
				client.stand(now["node_id"])
		"listen":
			request.poll()
			status = request.code if request.is_over else 0
	if status != 0 and (status != int(now["refused"]) if now.has("refused") else status >= 300):
		_fail(status)
	return status != 0


func _has_heard(now):
	while heard_before < heard.size():
		var event = heard[heard_before]
		heard_before += 1
		var is_it = event["kind"] == now["kind"]
		var data = _others(now, ["do", "kind"])
		for field in data:
			is_it = is_it and event["data"].get(field) == data[field]
		if is_it:
			return true
	return false


func _others(fields, known):
	var others = fields.duplicate()
	for name in known:
		others.erase(name)
	return others


func _write(name, line):
	var file = File.new()
	var place = OS.get_environment("OUT") + "/" + name
	file.open(place, File.READ_WRITE if file.file_exists(place) else File.WRITE)
	file.seek_end()
	file.store_line(line)
	file.close()


func _fail(why):
	printerr("Step %d %s: %s" % [step, scenario["steps"][step], why])
	step = -1
	quit(1)
