package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// The ten messages of this second: workload 3's, as marketdata.js beside this folder makes them.
var quotes atomic.Pointer[[]message]

func publishQuotes() {
	prepareQuotes(0)
	go func() {
		second := 0
		for range time.Tick(time.Second) {
			second++
			prepareQuotes(second)
		}
	}()
}

func prepareQuotes(second int) {
	ten := make([]message, 10)
	for number := range ten {
		start := fmt.Sprintf("%d %d ", number, second)
		text := start + strings.Repeat("quote "+start, 10_000/len(start))
		ten[number] = prepare(fmt.Appendf(nil, `42["data","%s"]`, text[:10_000]))
	}
	quotes.Store(&ten)
}
