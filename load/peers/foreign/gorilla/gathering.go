package main

import "net"

// gorilla writes to its connection once a message. This one can hold those writes back and hand them to the kernel as one.
// Only its client's writer touches it.
type gatheringConn struct {
	net.Conn
	gathering bool
	immutable bool // what is written now stays as it is, so it need not be copied
	held      net.Buffers
}

func (c *gatheringConn) gather() { c.gathering = true }

func (c *gatheringConn) Write(b []byte) (int, error) {
	if !c.gathering {
		return c.Conn.Write(b)
	}
	if !c.immutable {
		b = append([]byte(nil), b...)
	}
	c.held = append(c.held, b)
	return len(b), nil
}

func (c *gatheringConn) release() error {
	if !c.gathering {
		return nil
	}
	held := c.held
	c.gathering, c.held = false, nil
	_, err := held.WriteTo(c.Conn)
	return err
}

type gatheringListener struct{ net.Listener }

func (l gatheringListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatheringConn{Conn: conn}, nil
}
