// gorilla/websocket on net/http, with the events of connect, echo and marketdata. Tuned: small read buffers, pooled write
// buffers, no compression, no goroutine per client but its reader, handlers that outlive their HTTP request, what many clients
// get prepared once, what a client gets at once written by one writev, and one timer for all pings.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const maxPayload = 1_000_000

// Where to listen and how often to ping, in milliseconds.
type settings struct {
	Host         string `json:"host"`
	PingInterval int    `json:"pingInterval"`
	PingTimeout  int    `json:"pingTimeout"`
}

var upgrader = websocket.Upgrader{
	ReadBufferSize:  1024,
	WriteBufferSize: 1024,
	WriteBufferPool: &sync.Pool{},
	CheckOrigin:     func(*http.Request) bool { return true },
}

// Packets are read into these, so that a client that is silent holds none.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// The ten messages of this second: workload 3's, as marketdata.js makes them.
var quotes atomic.Pointer[[]*websocket.PreparedMessage]

func main() {
	var s settings
	if err := json.Unmarshal([]byte(os.Args[1]), &s); err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(s.Host, "0"))
	if err != nil {
		panic(err)
	}
	renewQuotes(0)
	go func() {
		for second := range time.Tick(time.Second) {
			renewQuotes(second.Unix())
		}
	}()
	groups := newGroups()
	go groups.ping(time.Duration(s.PingInterval) * time.Millisecond)
	http.HandleFunc("/socket.io/", func(w http.ResponseWriter, r *http.Request) {
		if ws, err := upgrader.Upgrade(w, r, nil); err == nil {
			c := &client{ws: ws, wire: ws.NetConn().(*gatheringConn)}
			// In a goroutine of its own, as net/http keeps what it has for a request until its handler returns.
			go c.serve(s, groups.deal())
		}
	})
	go http.Serve(gatheringListener{listener}, nil)
	control(listener.Addr().(*net.TCPAddr).Port)
}

func renewQuotes(second int64) {
	ten := make([]*websocket.PreparedMessage, 10)
	for number := range ten {
		start := fmt.Sprintf("%d %d ", number, second)
		text := start + strings.Repeat("quote "+start, 10_000/len(start))
		ten[number] = prepare(fmt.Sprintf(`42["data","%s"]`, text[:10_000]))
	}
	quotes.Store(&ten)
}

func prepare(text string) *websocket.PreparedMessage {
	prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, []byte(text))
	if err != nil {
		panic(err)
	}
	return prepared
}

type client struct {
	ws    *websocket.Conn
	wire  *gatheringConn
	alive atomic.Bool // has sent something since the last ping
	mu    sync.Mutex  // held by the one that writes
}

// Speaks Engine.IO 4 and Socket.IO 5, namespace "/" alone, with one client until it ends.
func (c *client) serve(s settings, pinged *group) {
	defer c.ws.Close()
	c.ws.SetReadLimit(maxPayload)
	c.alive.Store(true)
	pinged.add(c)
	defer pinged.remove(c)
	c.reply(fmt.Appendf(nil, `0{"sid":"%s","upgrades":[],"pingInterval":%d,"pingTimeout":%d,"maxPayload":%d}`,
		sessionID(), s.PingInterval, s.PingTimeout, maxPayload))
	for {
		kind, reader, err := c.ws.NextReader()
		if err != nil || kind != websocket.TextMessage {
			return
		}
		c.alive.Store(true)
		buffer := buffers.Get().(*bytes.Buffer)
		buffer.Reset()
		_, err = buffer.ReadFrom(reader)
		ok := err == nil && c.receive(buffer.Bytes())
		buffers.Put(buffer)
		if !ok {
			return
		}
	}
}

// Reports whether the client may go on.
func (c *client) receive(packet []byte) bool {
	switch string(packet) {
	case "3":
		return true
	case "40":
		return c.reply(fmt.Appendf(nil, `40{"sid":"%s"}`, sessionID()))
	}
	// The value stays JSON: what is only passed on need not be decoded.
	var event []json.RawMessage
	if !bytes.HasPrefix(packet, []byte("42")) || json.Unmarshal(packet[2:], &event) != nil || len(event) == 0 {
		return false
	}
	switch string(event[0]) {
	case `"echo"`:
		return len(event) > 1 && c.reply(fmt.Appendf(nil, `42["echo",%s]`, event[1]))
	case `"heartbeat"`:
		return c.publish(*quotes.Load()...)
	}
	return false
}

func (c *client) reply(packet []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ws.WriteMessage(websocket.TextMessage, packet) == nil
}

// What was prepared stays as it is, so that all of it can leave by one writev.
func (c *client) publish(messages ...*websocket.PreparedMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire.gathering = true
	for _, message := range messages {
		c.ws.WritePreparedMessage(message)
	}
	c.wire.gathering = false
	_, err := c.wire.held.WriteTo(c.wire.Conn)
	return err == nil
}

func sessionID() string {
	var id [15]byte
	rand.Read(id[:])
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// gorilla writes to its connection once a message. This one can hold those writes back.
type gatheringConn struct {
	net.Conn
	gathering bool
	held      net.Buffers
}

func (c *gatheringConn) Write(b []byte) (int, error) {
	if !c.gathering {
		return c.Conn.Write(b)
	}
	c.held = append(c.held, b)
	return len(b), nil
}

type gatheringListener struct{ net.Listener }

func (l gatheringListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatheringConn{Conn: conn}, nil
}

type group struct {
	mu      sync.Mutex
	members map[*client]struct{}
}

func (g *group) add(c *client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members[c] = struct{}{}
}

func (g *group) remove(c *client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.members, c)
}

// Clients are dealt out in turn to groups that are pinged one after the other, so that the pings of many clients are spread
// over the interval and take one timer.
type groups struct {
	all   [50]*group
	dealt atomic.Uint64
}

func newGroups() *groups {
	g := &groups{}
	for i := range g.all {
		g.all[i] = &group{members: map[*client]struct{}{}}
	}
	return g
}

func (g *groups) deal() *group { return g.all[g.dealt.Add(1)%uint64(len(g.all))] }

func (g *groups) ping(interval time.Duration) {
	ping := prepare("2")
	turn := 0
	for range time.Tick(interval / time.Duration(len(g.all))) {
		current := g.all[turn%len(g.all)]
		turn++
		current.mu.Lock()
		for c := range current.members {
			// A client that has not answered the last ping by now is gone.
			if c.alive.Swap(false) {
				go c.publish(ping) // Never waits for the client.
			} else {
				c.ws.Close()
			}
		}
		current.mu.Unlock()
	}
}
