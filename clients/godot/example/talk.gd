extends VBoxContainer
## Ken stands in the bakery of the sample village and talks with Harue: a label with their words, and a line to type in.

const SAVED := "user://kataribe.cfg"

var client = preload("res://addons/kataribe/client.gd").new()
var label = RichTextLabel.new()
var line = LineEdit.new()
var bag := []
var choices := []
## The ids of those who are there, by name.
var people := {}
var _said := ""
var _saved = ConfigFile.new()


func _ready() -> void:
	anchor_right = 1.0
	anchor_bottom = 1.0
	label.size_flags_vertical = SIZE_EXPAND_FILL
	line.placeholder_text = "Say something, and press Enter"
	for child in [label, line, client]:
		add_child(child)
	line.text_submitted.connect(submit)
	client.answered.connect(_on_answered)
	client.refused.connect(_on_refused)
	client.told.connect(_on_told)
	client.conversation_started.connect(_on_conversation_started)
	client.utterance_delta.connect(_on_utterance_delta)
	client.utterance_completed.connect(_on_utterance_completed)
	client.choices.connect(_on_choices)
	client.action_requested.connect(_on_action_requested)
	client.player_id = "ken"
	_saved.load(SAVED)
	bag = _saved.get_value("game", "bag", [])
	client.events.position = _saved.get_value("game", "position", "")
	client.join("Ken")


func _on_answered(command: String, _status: int, answer: Dictionary) -> void:
	if command == "join" and answer["talking_in"] == null:
		begin()


func begin() -> void:
	client.stand("lane_bakery")
	client.start("npc_harue", {"choices": 3})


## The service's sentence says what is wrong, and mostly what to do.
func _on_refused(command: String, problem: Dictionary) -> void:
	_said += "(%s: %s)\n" % [command, problem.get("detail", problem["status"])]
	label.text = _said


## Words to say, or the number of a choice; `Aoi< words` whispers them to Aoi, `+ aoi` asks her to sit down, too.
func submit(text: String) -> void:
	line.clear()
	var number = int(text)
	var ear = text.find("< ")
	if text == str(number) and number >= 1 and number <= choices.size():
		client.choose(choices[number - 1]["id"])
	elif text.begins_with("+ "):
		client.invite(text.substr(2, text.length()))
	elif ear > 0 and people.has(text.substr(0, ear)):
		client.whisper(people[text.substr(0, ear)], text.substr(ear + 2, text.length()))
	else:
		client.say(text)


func _on_conversation_started(data: Dictionary) -> void:
	people = {}
	for one in data["people"]:
		people[one["name"]] = one["person_id"]


## The words so far, while they are spoken.
func _on_utterance_delta(_data: Dictionary) -> void:
	label.text = _said + client.events.text


func _on_utterance_completed(data: Dictionary) -> void:
	choices = []  # those of this utterance follow, where its speaker's model has thought of any
	_said += "%s: %s\n" % [data["speaker_name"], data["text"]]
	label.text = _said


func _on_choices(data: Dictionary) -> void:
	choices = data["choices"]
	for number in range(choices.size()):
		label.text += "%d: %s\n" % [number + 1, choices[number]["text"]]


## Harue hands something over: only when the game says that it is done, she will remember it.
func _on_action_requested(data: Dictionary) -> void:
	if data["action_id"] == "give_item" and bag.size() < 10:
		bag.append(data["args"]["item"])
		client.settle(data["call_id"], true, "Ken has it.")
	else:
		client.settle(data["call_id"], false, "Ken's bag is full.")


## The bag and how much was heard are saved together: nothing is given twice, whenever the game is closed.
func _on_told(event: Dictionary) -> void:
	if event["seq"] != null:
		_saved.set_value("game", "bag", bag)
		_saved.set_value("game", "position", client.events.position)
		_saved.save(SAVED)
