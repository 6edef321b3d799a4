package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
)

const maxPayload = 1_000_000

// Packets are read into these, so that a client that is silent holds none.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func sessionID() string {
	var id [15]byte
	rand.Read(id[:])
	return base64.RawURLEncoding.EncodeToString(id[:])
}

func text(format string, values ...any) message {
	return message{text: fmt.Appendf(nil, format, values...)}
}

// Speaks Engine.IO 4 and Socket.IO 5, namespace "/" alone, with one client until it ends.
func (c *client) serve(s settings, pinged *room) {
	defer c.end(pinged)
	c.ws.SetReadLimit(maxPayload)
	c.reply(text(`0{"sid":"%s","upgrades":[],"pingInterval":%d,"pingTimeout":%d,"maxPayload":%d}`,
		sessionID(), s.PingInterval, s.PingTimeout, maxPayload))
	pinged.add(c)
	for {
		kind, reader, err := c.ws.NextReader()
		if err != nil || kind != websocket.TextMessage {
			return
		}
		c.alive.Store(true)
		buffer := buffers.Get().(*bytes.Buffer)
		buffer.Reset()
		_, err = buffer.ReadFrom(reader)
		ok := err == nil && c.packet(buffer.Bytes())
		buffers.Put(buffer)
		if !ok {
			return
		}
	}
}

func (c *client) end(pinged *room) {
	pinged.remove(c)
	for _, r := range c.joined {
		r.remove(c)
	}
	c.ws.Close()
}

// Reports whether the client may go on.
func (c *client) packet(packet []byte) bool {
	switch string(packet) {
	case "3":
		return true
	case "40":
		c.reply(text(`40{"sid":"%s"}`, sessionID()))
		return true
	}
	// 42["event",…] or, with the number under which an acknowledgement is expected, 420["event",…]
	start := bytes.IndexByte(packet, '[')
	if start < 2 || !bytes.HasPrefix(packet, []byte("42")) {
		return false
	}
	// The value stays JSON: what is only passed on need not be decoded.
	var event []json.RawMessage
	if json.Unmarshal(packet[start:], &event) != nil || len(event) == 0 {
		return false
	}
	var value json.RawMessage
	if len(event) > 1 {
		value = event[1]
	}
	return c.event(string(event[0]), value, packet[2:start])
}

func (c *client) event(name string, value json.RawMessage, ack []byte) bool {
	switch name {
	case `"echo"`:
		c.reply(eventPacket("echo", value))
	case `"upper"`:
		var s string
		if json.Unmarshal(value, &s) != nil {
			return false
		}
		c.reply(eventPacket("upper", encode(strings.ToUpper(s))))
	case `"join"`:
		var name string
		if json.Unmarshal(value, &name) != nil {
			return false
		}
		r := roomOf(name)
		r.add(c)
		c.joined = append(c.joined, r)
		c.reply(text("43%s[]", ack))
	case `"publish"`:
		var publication struct {
			Room string          `json:"room"`
			Text json.RawMessage `json:"text"`
		}
		if json.Unmarshal(value, &publication) != nil {
			return false
		}
		prepared := prepare(eventPacket("message", publication.Text).text)
		roomOf(publication.Room).each(func(member *client) { member.post(prepared) })
	case `"heartbeat"`:
		c.reply(*quotes.Load()...)
	default:
		return false
	}
	return true
}

// As JSON.stringify does, without the escapes that are for HTML.
func encode(s string) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(s)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func eventPacket(name string, value json.RawMessage) message {
	packet := make([]byte, 0, len(name)+len(value)+8)
	packet = append(packet, `42["`...)
	packet = append(packet, name...)
	packet = append(packet, `",`...)
	packet = append(packet, value...)
	return message{text: append(packet, ']')}
}
