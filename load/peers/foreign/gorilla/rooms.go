package main

import (
	"sync"
	"sync/atomic"
	"time"
)

type room struct {
	mu      sync.Mutex
	members map[*client]struct{}
}

func newRoom() *room { return &room{members: map[*client]struct{}{}} }

func (r *room) add(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members[c] = struct{}{}
}

func (r *room) remove(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.members, c)
}

func (r *room) each(use func(*client)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.members {
		use(c)
	}
}

var rooms sync.Map // of *room, by name

func roomOf(name string) *room {
	if found, ok := rooms.Load(name); ok {
		return found.(*room)
	}
	found, _ := rooms.LoadOrStore(name, newRoom())
	return found.(*room)
}

// Clients are dealt out in turn to rooms that are pinged one after the other, so that the pings of many clients are spread
// over the interval and take one timer.
type pings struct {
	rooms [50]*room
	dealt atomic.Uint64
}

func newPings(interval time.Duration) *pings {
	p := &pings{}
	for i := range p.rooms {
		p.rooms[i] = newRoom()
	}
	go p.run(interval / time.Duration(len(p.rooms)))
	return p
}

func (p *pings) deal() *room { return p.rooms[p.dealt.Add(1)%uint64(len(p.rooms))] }

func (p *pings) run(tick time.Duration) {
	ping := prepare([]byte("2"))
	turn := 0
	for range time.Tick(tick) {
		p.rooms[turn%len(p.rooms)].each(func(c *client) {
			// A client that has not answered the last ping by now is gone.
			if c.alive.Swap(false) {
				c.post(ping)
			} else {
				c.ws.Close()
			}
		})
		turn++
	}
}
