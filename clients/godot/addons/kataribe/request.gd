extends RefCounted
## One HTTP request over Godot's HTTPClient; nobody waits: `poll` is called once a frame until `is_over`.

## The answer's status; 0: there was none.
var code := 0
## Nothing more comes; true before anything was asked, too.
var is_over := true
## All of the answer has come.
var is_whole := false

var _http = HTTPClient.new()
var _asked := []
var _is_sent := false
var _received := 0


## `url` is scheme, host and port: "http://127.0.0.1:8010". `headers` are lines.
func send(url: String, method: int, path: String, headers: Array, body: String) -> void:
	stop()
	_asked = [method, path, headers, body]
	_is_sent = false
	_received = 0
	code = 0
	is_whole = false
	var colon = url.rfind(":")
	var has_port = colon > url.find("://")
	var host = url.substr(0, colon) if has_port else url
	is_over = _http.connect_to_host(host, int(url.substr(colon + 1, 5)) if has_port else -1) != OK


func stop() -> void:
	_http.close()
	is_over = true


## What has come since the last time, as bytes.
func poll():
	var bytes = PackedByteArray()
	if is_over:
		return bytes
	_http.poll()
	if _http.get_status() == HTTPClient.STATUS_CONNECTED and not _is_sent:
		_is_sent = _http.request(_asked[0], _asked[1], _asked[2], _asked[3]) == OK
		is_over = not _is_sent
		return bytes
	if _is_sent and _http.has_response():
		code = _http.get_response_code()
	while _http.get_status() == HTTPClient.STATUS_BODY:
		var chunk = _http.read_response_body_chunk()
		if chunk.size() == 0:
			break
		bytes.append_array(chunk)
	_received += bytes.size()
	is_over = not _is_going_on()
	if is_over:
		var length = _http.get_response_body_length()
		is_whole = code != 0 and (length < 0 or length == _received)
	return bytes


func _is_going_on() -> bool:
	return (
		_http.get_status()
		in [
			HTTPClient.STATUS_RESOLVING,
			HTTPClient.STATUS_CONNECTING,
			HTTPClient.STATUS_REQUESTING,
			HTTPClient.STATUS_BODY,
		]
	)
