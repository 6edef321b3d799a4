package main

import (
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"
)

// A message on its way out: made for this client alone, or prepared once for many.
type message struct {
	text     []byte
	prepared *websocket.PreparedMessage
}

type client struct {
	ws     *websocket.Conn
	wire   *gatheringConn
	joined []*room
	alive  atomic.Bool // has sent something since the last ping

	mu      sync.Mutex
	waiting []message
	writing bool
}

func newClient(ws *websocket.Conn) *client {
	c := &client{ws: ws, wire: ws.NetConn().(*gatheringConn)}
	c.alive.Store(true)
	return c
}

// Reports whether the caller has to write what waits now: no other goroutine is at it.
func (c *client) enqueue(messages ...message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, messages...)
	if c.writing {
		return false
	}
	c.writing = true
	return true
}

// For the client's own reader: a client that does not read is not read from.
func (c *client) reply(messages ...message) {
	if c.enqueue(messages...) {
		c.flush()
	}
}

// For broadcasts: never waits for the client. Until its turn comes, more may gather.
func (c *client) post(m message) {
	if c.enqueue(m) {
		go c.flush()
	}
}

// Writes all that waits, and what comes while it writes.
func (c *client) flush() {
	for {
		c.mu.Lock()
		batch := c.waiting
		if len(batch) == 0 {
			c.writing = false
			c.mu.Unlock()
			return
		}
		c.waiting = nil
		c.mu.Unlock()
		if c.write(batch) != nil {
			c.ws.Close() // The reader notices. What comes from now on waits in vain, and goes with the client.
			return
		}
	}
}

func (c *client) write(batch []message) error {
	if len(batch) > 1 {
		c.wire.gather()
	}
	for _, m := range batch {
		var err error
		if m.prepared != nil {
			c.wire.immutable = true
			err = c.ws.WritePreparedMessage(m.prepared)
			c.wire.immutable = false
		} else {
			err = c.ws.WriteMessage(websocket.TextMessage, m.text)
		}
		if err != nil {
			return err
		}
	}
	return c.wire.release()
}

// For many clients: framed once.
func prepare(text []byte) message {
	prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, text)
	if err != nil {
		panic(err)
	}
	return message{prepared: prepared}
}
