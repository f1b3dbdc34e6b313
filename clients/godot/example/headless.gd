extends SceneTree
## The example without a screen: says some lines, and prints what is heard.
## KATARIBE_URL: where the service is. KATARIBE_LANGUAGE: en or ja, which its world speaks.

const LINES := {
	"en": ["Good morning!", "One bun for sale, please.", "1"],
	"ja": ["おはようございます。", "売り物のパンを一つ、手渡してください。", "1"],
}

var talk = preload("res://example/talk.gd").new()
var lines = LINES["en"]
var _said := 0
var _talk_id := ""
var _answering = Timer.new()


func _initialize() -> void:
	OS.low_processor_usage_mode = true
	if OS.has_environment("KATARIBE_URL"):
		talk.client.service_url = OS.get_environment("KATARIBE_URL")
	printerr("Asking ", talk.client.service_url, " (KATARIBE_URL) until it answers.")
	if OS.has_environment("KATARIBE_LANGUAGE"):
		lines = LINES[OS.get_environment("KATARIBE_LANGUAGE")]
	_answering.one_shot = true
	_answering.timeout.connect(_go_on)
	root.add_child(_answering)
	root.add_child(talk)
	talk.client.told.connect(_on_told)
	talk.client.answered.connect(_on_answered)
	talk.client.refused.connect(_on_refused)


func _on_told(event: Dictionary) -> void:
	if event["seq"] != null:
		print(event["json"])
	var is_mine = event["conversation_id"] == _talk_id
	match event["kind"]:
		"utterance.completed":
			if is_mine and event["data"]["speaker_id"] != talk.client.player_id:
				_answering.start(1.0)
		"choices":  # they come at once, or not at all
			if not _answering.is_stopped():
				_answering.stop()
				_go_on()
		"conversation.ended":
			if is_mine:
				print("In Ken's bag: ", talk.bag)
				quit()
			else:
				talk.begin()


func _go_on() -> void:
	if _said == lines.size() or (lines[_said] == "1" and talk.choices.size() == 0):
		talk.client.end()
	else:
		talk.submit(lines[_said])
	_said += 1


## A conversation that was left open the last time is ended.
func _on_answered(command: String, _status: int, answer: Dictionary) -> void:
	if command == "join" and answer["talking_in"] != null:
		talk.client.end()
	elif command == "start":
		_talk_id = answer["id"]
		_go_on()


func _on_refused(command: String, problem: Dictionary) -> void:
	print("%s was refused: %s" % [command, problem])
	quit(1)
