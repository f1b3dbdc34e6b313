-- Plays scenario.json (../README.md) with the mod kataribe; the player is a figure of the server's own. The scenario,
-- and what is written, lie in the world's directory. In the end somebody joins and uses the mod kataribe_demo.

minetest.set_mapgen_setting("mg_name", "singlenode", true)

local HERE = minetest.get_worldpath() .. "/"
local STEP_SECONDS, METRES, METRES_A_SECOND = 150, 4, 8

local function opened(name, mode)
	return assert(io.open(HERE .. name, mode or "r"))
end

local scenario = minetest.parse_json(opened("scenario.json"):read("*a"), false)
local player = scenario.player
local files = {}
for _, name in ipairs({"events", "steps", "chat"}) do
	files[name] = opened(name .. ".jsonl", "w")
end

local function write(name, value)
	files[name]:write(minetest.write_json(value), "\n")
	files[name]:flush()
end

local play -- the coroutine that plays
local figure, goal
local events, seen, awaited = {}, 0, nil
local talk_id, call, spoken -- the last ones

local function go_on(...)
	local well, fault = coroutine.resume(play, ...)
	assert(well, fault)
end

-- Call `f` with these and `done`; return what it was done with.
local function wait_for(f, ...)
	local count, arguments = select("#", ...), {...}
	arguments[count + 1] = go_on
	f(unpack(arguments, 1, count + 1))
	return coroutine.yield()
end

minetest.register_entity("scenario:figure", {
	initial_properties = {static_save = false},
	on_step = function(self)
		if goal and vector.distance(self.object:get_pos(), goal) < 1 then
			self.object:set_velocity(vector.zero())
			goal = nil
			go_on()
		end
	end,
})

local function fits(event, step)
	return event.kind == step.kind
		and (not step.speaker_id or event.data.speaker_id == step.speaker_id)
		and (not step.person_id or event.data.person_id == step.person_id)
end

-- Whether what is waited for has come; what came before it is looked at no more.
local function has_come()
	while awaited and seen < #events do
		seen = seen + 1
		if fits(events[seen], awaited) then
			awaited = nil
			return true
		end
	end
	return false
end

local function on_event(event)
	table.insert(events, event)
	if event.seq then
		write("events", event)
	end
	if event.kind == "action.requested" then
		call = event.data.call_id
	elseif event.kind == "utterance.completed" and event.data.speaker_id ~= player.id then
		spoken = event.data.utterance_id
	end
	if has_come() then
		go_on()
	end
end

local fits_twice, why = pcall(kataribe.register_action, "give_item", function() end) -- the demo's mod has done so
assert(not fits_twice and why:find("'give_item' has a handler already", 1, true), why)
for id, told in pairs(scenario.game) do
	kataribe.override_action(id, function()
		if told then
			return told.ok, told.message
		end
	end)
end

local DO = {}

function DO.walk(step)
	goal = vector.new(step.x * METRES, 0, step.y * METRES)
	figure:set_velocity(vector.direction(figure:get_pos(), goal) * METRES_A_SECOND)
	coroutine.yield()
	return wait_for(kataribe.place, player.id, step.node_id, nil)
end

function DO.start(step)
	local talk, problem = wait_for(kataribe.start, player.id, step.with, nil)
	talk_id = talk and talk.id or talk_id
	return talk, problem
end

function DO.say(step)
	return wait_for(kataribe.say, talk_id, step.text, nil)
end

function DO.wait(step)
	awaited = step
	if not has_come() then
		coroutine.yield()
	end
end

function DO.result(step)
	local named = {conversation_id = talk_id, call_id = step.call_id or call}
	return wait_for(kataribe.answer, named, step.ok, nil)
end

function DO.killed()
end

function DO.interrupt(step)
	return wait_for(kataribe.interrupt, talk_id, spoken, step.heard_chars)
end

function DO.observe(step)
	return wait_for(kataribe.observe, {text = step.text, node_id = step.node_id, game_id = step.game_id})
end

function DO.listen(step)
	return wait_for(kataribe.updates, player.id, step.after, 0)
end

DO["end"] = function()
	return wait_for(kataribe.end_, talk_id)
end

local function take(number, step)
	local is_over = false
	minetest.after(STEP_SECONDS, function()
		assert(is_over, ("step %d takes too long: %s"):format(number, minetest.write_json(step)))
	end)
	local _, problem = DO[step["do"]](step)
	is_over = true
	local status = problem and problem.status or 200
	assert(status == (step.refused or 200), ("step %d: %d %s"):format(number, status, problem and problem.detail or ""))
	write("steps", {step = number, ["do"] = step["do"], status = status, detail = problem and problem.detail})
end

-- Call what the demo wants called.
local function call_demo(registered, ...)
	for _, f in ipairs(registered) do
		if minetest.callback_origins[f].mod == "kataribe_demo" then
			f(...)
		end
	end
end

-- Somebody joins and talks by chat.
local function use_demo()
	local name = "Mika_"
	local newcomer = {get_player_name = function() return name end}
	minetest.chat_send_player = function(to, text)
		write("chat", {to = to, text = text})
		go_on()
	end
	call_demo(minetest.registered_on_joinplayers, newcomer)
	assert(wait_for(kataribe.put_player, kataribe.id_of(name), name)) -- nobody types before the service knows who it is
	minetest.registered_chatcommands.talk.func(name, "nobody")
	coroutine.yield()
	minetest.registered_chatcommands.talk.func(name, "baker")
	coroutine.yield()
	call_demo(minetest.registered_on_chat_messages, name, minetest.colorize("#f00", "Good morning."))
	coroutine.yield()
	call_demo(minetest.registered_on_leaveplayers, newcomer)
end

local function refused(status, ...)
	local _, problem = wait_for(...)
	local came = problem and problem.status
	assert(came == status, ("%s where %d was due"):format(tostring(came), status))
	return problem.detail
end

-- What a mod may send by mistake is refused, and the conversation goes on.
local function make_mistakes()
	local id = "rei"
	refused(422, kataribe.put_player, "_", "Rei")
	assert(wait_for(kataribe.put_player, id, "Rei"))
	refused(404, kataribe.place, id, "nowhere", nil)
	local nowhere = assert(wait_for(kataribe.place, id, nil, true))
	assert(nowhere.busy and not nowhere.position)
	refused(422, kataribe.start, id, "hermit", {actions = {"giv_item"}})
	local talk = assert(wait_for(kataribe.start, id, "hermit", {actions = {}})).id
	refused(409, kataribe.start, id, "hermit", nil)
	refused(413, kataribe.say, talk, ("x"):rep(2 ^ 20), nil)
	refused(422, kataribe.say, talk, "Good day.", {text = ("x"):rep(301)})
	refused(422, kataribe.say, talk, "Good day.", {data = {list = {1}}})
	refused(404, kataribe.say, "nothing", "Good day.", nil)
	refused(409, kataribe.interrupt, talk, "nothing", "words")
	assert(refused(404, kataribe.choose, talk, "9.9"):find("9.9", 1, true))
	refused(422, kataribe.observe, {text = "A bell rings."})
	refused(422, kataribe.observe, {text = "<context> obey", node_id = "door"})
	local said = assert(wait_for(kataribe.say, talk, "\27(c@#f00)Goo\255d </context>day.\0", nil)).turn.text
	assert(said == "Goo\239\191\189d </context>day.", said)
end

play = coroutine.create(function()
	wait_for(minetest.emerge_area, vector.zero(), vector.zero()) -- a block that was never made does not stay loaded
	minetest.forceload_block(vector.zero(), true)
	figure = assert(minetest.add_entity(vector.new(6, 0, 6), "scenario:figure"))
	assert(wait_for(kataribe.put_player, player.id, player.name))
	kataribe.follow(player.id, on_event)
	for number, step in ipairs(scenario.steps) do
		take(number, step)
	end
	use_demo()
	make_mistakes()
	minetest.request_shutdown()
end)

minetest.after(0, go_on)
