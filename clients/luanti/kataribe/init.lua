-- Only a mod's main file may ask for HTTP and for the mod's storage.
local http = minetest.request_http_api and minetest.request_http_api()
assert(http, "The mod kataribe may not use HTTP: add to minetest.conf the line  secure.http_mods = kataribe")

local file = minetest.get_modpath("kataribe") .. "/kataribe.lua"
kataribe = assert(loadfile(file))(http, minetest.get_mod_storage())
