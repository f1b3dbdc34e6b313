local talks = {} -- the conversation of each player, by its name

minetest.register_on_joinplayer(function(player)
	local name = player:get_player_name()
	local id = kataribe.id_of(name)
	local function on_event(event)
		if event.kind == "utterance.completed" and event.data.speaker_id ~= id then
			minetest.chat_send_player(name, ("<%s> %s"):format(event.data.speaker_name, event.data.text))
		elseif event.kind == "conversation.started" then
			talks[name] = event.conversation_id
			minetest.chat_send_player(name, "You may speak.")
		elseif event.kind == "conversation.ended" then
			talks[name] = nil
		end
	end
	kataribe.put_player(id, name, function(person)
		talks[name] = person and person.talking_in -- it talked when the server stopped
		kataribe.follow(id, on_event)
	end)
end)

minetest.register_on_leaveplayer(function(player)
	kataribe.unfollow(kataribe.id_of(player:get_player_name()))
end)

minetest.register_chatcommand("talk", {params = "<person>", func = function(name, person)
	kataribe.start(kataribe.id_of(name), person, nil, function(_, problem)
		if problem then
			minetest.chat_send_player(name, problem.detail)
		end
	end)
end})

minetest.register_on_chat_message(function(name, text)
	if talks[name] then
		kataribe.say(talks[name], text)
	end
end)

kataribe.register_action("give_item", function(call)
	minetest.chat_send_player(call.player_name, "* You get: " .. call.args.item)
	return true
end)
