"""Joins a room of the chat service, sends a message, and prints the messages of the room until it is interrupted."""

import sys

import socketio

url = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:3000"
room = sys.argv[2] if len(sys.argv) > 2 else "hall"
text = sys.argv[3] if len(sys.argv) > 3 else "Hello from Python!"

client = socketio.Client()


@client.event
def connect():
    # Called after each reconnection, too: a new session is in no room. A handler must not wait for a reply.
    client.start_background_task(enter)


@client.event
def message(data):
    print(f"{data['from']}: {data['text']}", flush=True)


def enter():
    for event, data in [("join", room), ("message", {"room": room, "text": text})]:
        reply = client.call(event, data)
        if not reply["ok"]:
            print(f"{event} failed: {reply['message']}", file=sys.stderr)
            client.disconnect()
            return


client.connect(url, auth={"name": "Python"})
client.wait()
