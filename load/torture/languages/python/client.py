"""Arguments: url, transport, number of clients. Prints a line for each thing that a client notices."""

import os
import sys
import threading

import socketio

url, transport, count = sys.argv[1:]
printing = threading.Lock()


def say(client, text):
    with printing:
        print(client, text, flush=True)


def start(client):
    socket = socketio.Client()

    @socket.event
    def connect():
        socket.emit("echo", 1, callback=lambda *_: say(client, "ready"))

    @socket.event
    def disconnect(reason=None):
        say(client, f"disconnect [{reason}]")

    socket.connect(url, transports=[transport], wait_timeout=20, retry=True)


for index in range(int(count)):
    threading.Thread(target=start, args=(index,), daemon=True).start()
sys.stdin.read()
os._exit(0)
