// Kataribe.cs: a player of a Kataribe service. What it does is sent, one after the other, until it is answered; what it
// hears comes as `Told`, by long-polling, from where it was: without a gap, and nothing twice.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Text;
using UnityEngine;
using UnityEngine.Networking;

public class Kataribe : MonoBehaviour
{
    public string serviceUrl = "http://127.0.0.1:8010";
    public string apiKey = "";
    public string worldId = "main";
    public string playerId = "player";
    public string position = "0"; // belongs into the saved game, beside what the events changed

    public event Action<KataribeEvent> Told = delegate { };
    public event Action<string, string> Refused = delegate { }; // a command, and the problem's JSON
    public string Text { get; private set; } = ""; // of the utterance that is being made, so far

    private readonly Queue<Command> commands = new Queue<Command>();
    private string conversationId = "";
    private string utteranceId = "";

    private class Command { public string Name, Method, Path, Body, Key; }
    [Serializable] private class Person { public string kind = "player"; public string name; }
    [Serializable] private class Place { public string node_id; }
    [Serializable] private class Opening { public string mode = "player"; public string player_id, partner_id; }
    [Serializable] private class Words { public string text, message_id; }
    [Serializable] private class Heard { public string utterance_id; public int heard_chars; }
    [Serializable] private class Result { public bool ok; public string message; }
    [Serializable] private class Answer { public string id, talking_in; }
    [Serializable] private class Updates { public List<KataribeEvent> items; public string next; }

    public void Join(string name)
    {
        StartCoroutine(WorkOff());
        Send("join", "PUT", "/people/" + playerId, new Person { name = name });
    }

    public void Stand(string nodeId) =>
        Send("stand", "PUT", "/people/" + playerId + "/position", new Place { node_id = nodeId });

    public void Begin(string partnerId) => Send("start", "POST", "/conversations/start",
        new Opening { player_id = playerId, partner_id = partnerId });

    public void Say(string text) => Post("say", new Words { text = text, message_id = Guid.NewGuid().ToString() });

    public void Interrupt(int heardChars) =>
        Post("interrupt", new Heard { utterance_id = utteranceId, heard_chars = heardChars });

    public void Settle(string callId, bool ok, string message) =>
        Post("actions/" + callId + "/result", new Result { ok = ok, message = message });

    public void End() => Post("end", new object());

    private void Post(string what, object body) => Send(what, "POST", "/conversations/{conversation}/" + what, body);

    private void Send(string name, string method, string path, object body)
    {
        var json = JsonUtility.ToJson(body);
        var key = Guid.NewGuid().ToString();
        commands.Enqueue(new Command { Name = name, Method = method, Path = path, Body = json, Key = key });
    }

    private IEnumerator WorkOff()
    {
        while (true)
        {
            yield return new WaitUntil(() => commands.Count > 0);
            var command = commands.Peek();
            var path = command.Path.Replace("{conversation}", conversationId);
            using (var request = Request(command.Method, path, command.Body))
            {
                request.SetRequestHeader("Idempotency-Key", command.Key); // sent again, it is done once
                yield return request.SendWebRequest();
                if (request.responseCode <= 0) { yield return new WaitForSeconds(1); continue; }
                commands.Dequeue();
                if (request.responseCode >= 400) { Refused(command.Name, request.downloadHandler.text); continue; }
                var answer = JsonUtility.FromJson<Answer>(request.downloadHandler.text);
                if (command.Name == "start") conversationId = answer.id;
                if (command.Name == "join") { conversationId = answer.talking_in ?? ""; StartCoroutine(Listen()); }
            }
        }
    }

    private IEnumerator Listen()
    {
        while (true)
        {
            using (var request = Request("GET", "/people/" + playerId + "/updates?wait=25&after=" + position, null))
            {
                yield return request.SendWebRequest();
                var code = request.responseCode;
                if (code <= 0 || code >= 500) { yield return new WaitForSeconds(1); continue; }
                if (code >= 400) { Refused("listen", request.downloadHandler.text); yield break; }
                var updates = JsonUtility.FromJson<Updates>(request.downloadHandler.text);
                foreach (var one in updates.items) Hear(one);
                position = updates.next;
            }
        }
    }

    private void Hear(KataribeEvent one)
    {
        if (one.kind == "conversation.started") conversationId = one.conversation_id;
        if (one.kind == "utterance.started") { utteranceId = one.data.utterance_id; Text = ""; }
        if (one.kind == "utterance.delta") Text += one.data.text;
        if (one.kind == "utterance.discarded") Text = "";
        Told(one);
    }

    private UnityWebRequest Request(string method, string path, string body)
    {
        var request = new UnityWebRequest(serviceUrl + path, method) { downloadHandler = new DownloadHandlerBuffer() };
        if (body != null) request.uploadHandler = new UploadHandlerRaw(Encoding.UTF8.GetBytes(body));
        request.SetRequestHeader("Content-Type", "application/json");
        request.SetRequestHeader("X-World-Id", worldId);
        if (apiKey != "") request.SetRequestHeader("Authorization", "Bearer " + apiKey);
        request.timeout = 40;
        return request;
    }
}

[Serializable] public class KataribeEvent
{
    public string at, conversation_id, kind;
    public long seq;
    public KataribeData data;
}

// The fields of all kinds, as far as this game reads them: add those you need from docs/client-events.md.
[Serializable] public class KataribeData
{
    public string utterance_id, speaker_id, speaker_name, text, call_id, action_id, message, reason;
    public int turn, char_start;
    public GiveItem args;
}

[Serializable] public class GiveItem { public string item; } // the arguments of your gameActions
