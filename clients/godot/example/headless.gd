extends SceneTree
## The example without a screen: this is said, and what is heard is printed. KATARIBE_URL: where the service is.

const LINES := ["Good morning!", "One bun for sale, please.", "1"]

var talk = preload("res://example/talk.gd").new()
var _said := 0


func _initialize() -> void:
	OS.low_processor_usage_mode = true
	if OS.has_environment("KATARIBE_URL"):
		talk.client.service_url = OS.get_environment("KATARIBE_URL")
	root.add_child(talk)
	talk.client.told.connect(_on_told)
	talk.client.refused.connect(_on_refused)


func _on_told(event: Dictionary) -> void:
	if event["seq"] != null:
		print(event["json"])
	match event["kind"]:
		"conversation.started", "choices":  # choices come with each of Harue's turns
			_go_on()
		"conversation.ended":
			print("In Ken's bag: ", talk.bag)
			quit()


func _go_on() -> void:
	if _said == LINES.size():
		talk.client.end()
	else:
		talk.submit(LINES[_said])
	_said += 1


func _on_refused(command: String, problem: Dictionary) -> void:
	print("%s was refused: %s" % [command, problem])
	quit(1)
