// gorilla/websocket on net/http. Tuned: small read buffers, pooled write buffers, no compression, no goroutine per client
// but its reader, handlers that outlive their HTTP request, messages of many receivers prepared once, and everything that
// waits for a client written by one writev.
package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

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

func main() {
	var s settings
	if err := json.Unmarshal([]byte(os.Args[1]), &s); err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(s.Host, "0"))
	if err != nil {
		panic(err)
	}
	publishQuotes()
	pings := newPings(time.Duration(s.PingInterval) * time.Millisecond)
	http.HandleFunc("/socket.io/", func(w http.ResponseWriter, r *http.Request) {
		if ws, err := upgrader.Upgrade(w, r, nil); err == nil {
			// In a goroutine of its own, as net/http keeps what it has for a request until its handler returns.
			go newClient(ws).serve(s, pings.deal())
		}
	})
	go http.Serve(gatheringListener{listener}, nil)
	control(listener.Addr().(*net.TCPAddr).Port)
}
