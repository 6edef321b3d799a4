package main

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
)

// Tells the harness that clients may come, answers its order "memory", one line of JSON each, and ends with it.
func control(port int) {
	out := json.NewEncoder(os.Stdout)
	out.Encode(map[string]any{"ready": true, "port": port})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var order struct {
			ID int `json:"id"`
		}
		json.Unmarshal(in.Bytes(), &order)
		// Collects, and gives the kernel back what is free.
		debug.FreeOSMemory()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		out.Encode(map[string]any{"id": order.ID, "result": map[string]any{"heapUsed": memory.HeapAlloc}})
	}
}
