-- Owns what mods call to let people of Kataribe talk in a game, and how the service is asked. docs/clients/luanti.md
-- says how to use it.
--
-- Each function that asks the service takes as its last argument `done(answer, problem)`, or nothing. `answer` is what
-- the service says, as a table; nil where it refuses: then `problem` has `status` (HTTP; 0: it was not reached),
-- `type` (such as "not-your-turn") and `detail`, a sentence.

local http, storage = ...
local kataribe = {}

local ANSWER_SECONDS, POLL_SECONDS = 30, 25
local AGAIN_SECONDS, LONGEST_PAUSE_SECONDS = 1, 30
local ATTEMPTS = 30 -- a service that restarts is back within half a minute

local function setting(name, default)
	local value = minetest.settings:get("kataribe." .. name)
	return value and value ~= "" and value or default
end

local url = setting("url", "http://127.0.0.1:8010"):gsub("/+$", "")
local world, key = setting("world", "main"), setting("key")
local handlers, followers, names = {}, {}, {}
local made = 0

-- A name that nothing else has: the service does once what it is told twice under one name.
local function new_name()
	made = made + 1
	return ("%d-%d-%d"):format(os.time(), minetest.get_us_time(), made)
end

-- A table without entries is written as null by the engine; the only list of ours that may be empty is `actions`.
local function to_json(body)
	return (minetest.write_json(body):gsub('"actions":null', '"actions":[]'))
end

local function problem_of(result)
	if not result.succeeded then
		return {status = 0, type = "not-reached", detail = "The service at " .. url .. " does not answer."}
	end
	local told = minetest.parse_json(result.data)
	if type(told) ~= "table" then
		told = {}
	end
	local kind = tostring(told.type or "unknown"):gsub("^urn:kataribe:problem:", "")
	return {status = result.code, type = kind, detail = told.detail or ("HTTP status " .. result.code)}
end

local function warn(request, problem)
	minetest.log("warning", ("[kataribe] %s %s: %s"):format(request.method, request.url, problem.detail))
end

local function send(request, attempts, done)
	http.fetch(request, function(result)
		if not result.succeeded and attempts > 1 then
			minetest.after(AGAIN_SECONDS, send, request, attempts - 1, done)
		elseif result.succeeded and result.code < 300 then
			done(result.data ~= "" and minetest.parse_json(result.data) or {})
		else
			done(nil, problem_of(result))
		end
	end)
end

-- `data` is JSON. What changes something is sent as POST: the engine before 5.9 sends everything as PUT after its first
-- PUT, and hangs where there is no body.
local function request_of(method, path, data, headers)
	local request = {method = method == "GET" and "GET" or "POST", url = url .. path, timeout = ANSWER_SECONDS}
	request.data = request.method == "POST" and (data or "{}") or nil
	request.extra_headers = {"Content-Type: application/json", "X-World-Id: " .. world, unpack(headers or {})}
	if method ~= request.method then
		table.insert(request.extra_headers, "X-HTTP-Method-Override: " .. method)
	end
	if key then
		table.insert(request.extra_headers, "Authorization: Bearer " .. key)
	end
	return request
end

-- What the service does not get because it restarts is sent again.
local function ask(method, path, data, done, ...)
	local request = request_of(method, path, data, {...})
	send(request, ATTEMPTS, done or function(_, problem)
		if problem then
			warn(request, problem)
		end
	end)
end

local function in_talk(conversation_id, what)
	return "/conversations/" .. conversation_id .. "/" .. what
end

-- The id under which the service knows a player of the game: its name, or one made of it where that can be no id.
function kataribe.id_of(name)
	if name:match("^[A-Za-z0-9_-]+$") and not name:match("^[_-]") and not name:match("[_-]$")
			and not name:match("[_-][_-]") and #name <= 64 then
		return name
	end
	return "p-" .. minetest.sha1(name):sub(1, 16)
end

-- Make a player known, or change its name.
function kataribe.put_player(id, name, done)
	names[id] = name
	ask("PUT", "/people/" .. id, to_json({kind = "player", name = name}), done)
end

-- The player stands on that node of maps.json from now on; nil: nowhere, nobody sees it. `busy`: whether people are not
-- to speak to it first; nil: as it was.
function kataribe.place(id, node_id, busy, done)
	local body = minetest.write_json({node_id = node_id or "", busy = busy}):gsub('"node_id":""', '"node_id":null')
	ask("PUT", "/people/" .. id .. "/position", body, done)
end

-- Begin a conversation; the answer's `id` names it. `options`, or nil: `context`, `actions`, `choices`, `clock` as in
-- POST /conversations/start.
function kataribe.start(player_id, partner_id, options, done)
	local body = table.copy(options or {})
	body.mode, body.player_id, body.partner_id = "player", player_id, partner_id
	ask("POST", "/conversations/start", to_json(body), done, "Idempotency-Key: " .. new_name())
end

-- Say something as the player. What the other says comes as events. `context`, or nil: what is going on now.
function kataribe.say(conversation_id, text, context, done)
	local body = {text = minetest.strip_colors(text), message_id = new_name(), context = context}
	ask("POST", in_talk(conversation_id, "say"), to_json(body), done)
end

-- Say one of the lines that were suggested (`choices` in the options of `start`, and the event of that name).
function kataribe.choose(conversation_id, choice_id, done)
	ask("POST", in_talk(conversation_id, "choose"), to_json({choice_id = choice_id}), done)
end

-- Cut in: of that utterance only so much was heard, a number of characters (Unicode code points) or the words.
function kataribe.interrupt(conversation_id, utterance_id, heard, done)
	local body = {utterance_id = utterance_id}
	body[type(heard) == "number" and "heard_chars" or "heard_text"] = heard
	ask("POST", in_talk(conversation_id, "interrupt"), to_json(body), done)
end

-- End a conversation; it is remembered.
function kataribe.end_(conversation_id, done)
	ask("POST", in_talk(conversation_id, "end"), nil, done)
end

-- Tell what happened before people's eyes: `text`, one of `seen_by`, `node_id` and `map_id`, and the other fields of
-- POST /world/observations.
function kataribe.observe(seen, done)
	local body = table.copy(seen)
	body.game_id = body.game_id or new_name()
	ask("POST", "/world/observations", to_json(body), done)
end

-- `handler(call)` does what a person asks of the game under that id of `gameActions`: `call` is the event's data, with
-- `conversation_id`, `player_id` and `player_name`. It returns whether it is done, and a word about it; nil:
-- `kataribe.answer` is called later, before `call.deadline`. An id that has a handler already is an error.
function kataribe.register_action(id, handler)
	if handlers[id] then
		error(("Action '%s' has a handler already; kataribe.override_action puts yours in its place."):format(id), 2)
	end
	handlers[id] = handler
end

-- Have the action done by this handler from now on, whoever did it before.
function kataribe.override_action(id, handler)
	handlers[id] = handler
end

-- Say what became of a call, once.
function kataribe.answer(call, ok, message, done)
	local path = in_talk(call.conversation_id, "actions/" .. call.call_id .. "/result")
	ask("POST", path, to_json({ok = ok, message = message}), done)
end

local function act(player_id, event, settled)
	local call = table.copy(event.data)
	call.conversation_id = event.conversation_id
	call.player_id, call.player_name = player_id, names[player_id]
	local handler = handlers[call.action_id]
	local ok, message = false, "This game cannot do that."
	if handler then
		ok, message = handler(call)
	end
	if ok ~= nil and not settled then
		kataribe.answer(call, ok, message)
	end
end

-- What came of each call among the events, by its id.
local function outcomes(events)
	local found = {}
	for _, event in ipairs(events) do
		if event.kind == "action.done" or event.kind == "action.failed" then
			found[event.data.call_id] = event.kind
		end
	end
	return found
end

local function dispatch(player_id, events, on_event)
	local outcome = outcomes(events)
	for _, event in ipairs(events) do
		on_event(event)
		local came = event.kind == "action.requested" and outcome[event.data.call_id]
		if event.kind == "action.requested" and came ~= "action.failed" then -- too late, or never asked for
			act(player_id, event, came == "action.done")
		end
	end
end

-- The person's events after that position, as soon as there is one, or after so many seconds. `follow` asks on and on.
function kataribe.updates(person_id, after, wait_seconds, done)
	local query = ("?after=%s&wait=%d"):format(after, wait_seconds)
	local request = request_of("GET", "/people/" .. person_id .. "/updates" .. query)
	request.timeout = wait_seconds + ANSWER_SECONDS
	send(request, 1, done)
end

-- Call `on_event(event)` with each event (docs/client-events.md) of each conversation of the person, and have what is
-- asked of the game done. It goes on where it stopped, also when the game or the service was gone meanwhile. Who is
-- followed already is followed by `on_event` alone from now on.
function kataribe.follow(person_id, on_event)
	local place, pause, poll = "after/" .. world .. "/" .. person_id, AGAIN_SECONDS, nil
	followers[person_id] = on_event

	local function told(answer, problem)
		if followers[person_id] ~= on_event then
			return
		end
		if problem then
			minetest.log("warning", "[kataribe] " .. problem.detail)
			if problem.type == "never-told" then -- the world was made anew
				storage:set_string(place, "0")
			end
			minetest.after(pause, poll)
			pause = math.min(1.2 * pause, LONGEST_PAUSE_SECONDS)
			return
		end
		pause = AGAIN_SECONDS
		storage:set_string(place, answer.next)
		dispatch(person_id, answer.items, on_event)
		minetest.after(answer.over and AGAIN_SECONDS or 0, poll) -- over: the service stops
	end

	function poll()
		local after = storage:get_string(place)
		kataribe.updates(person_id, after ~= "" and after or "0", POLL_SECONDS, told)
	end

	poll()
end

function kataribe.unfollow(person_id)
	followers[person_id] = nil
end

return kataribe
