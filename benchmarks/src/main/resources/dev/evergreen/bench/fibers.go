// The games of FiberGame.java, played by goroutines.
//
// usage: fibers GAME GOROUTINES MILLISECONDS; prints turns a second of all together.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const ring, touched = 4, 16

type player struct {
	wakeUp chan struct{}
	seen   atomic.Int64
	memory [256]int64
}

type table struct {
	players []*player
	spots   []atomic.Pointer[player]
	over    atomic.Bool
	leader  atomic.Int64
	reign   atomic.Int64
}

func (p *player) wake() {
	select {
	case p.wakeUp <- struct{}{}:
	default: // it is awake
	}
}

// Waits until it is woken; false if the game is over.
func (p *player) sleep(t *table) bool {
	<-p.wakeUp
	return !t.over.Load()
}

func yield(t *table, me int) (turns int64) {
	for ; !t.over.Load(); turns++ {
		runtime.Gosched()
	}
	return
}

func cycle(t *table, me int) (turns int64) {
	first := me / ring * ring
	next := me + 1
	if next == first+ring || next == len(t.players) {
		next = first
	}
	if me == first {
		t.players[me].wake()
	}
	for ; t.players[me].sleep(t); turns++ {
		t.players[next].wake()
	}
	return
}

func visitSpots(t *table, me int, touching bool) (turns int64) {
	random := rand.New(rand.NewSource(int64(me)))
	p := t.players[me]
	for again := true; again; again = p.sleep(t) {
		other := t.spots[random.Intn(len(t.spots))].Swap(p)
		if other != nil {
			for i := 0; touching && i < touched; i++ {
				other.memory[random.Intn(len(other.memory))]++
			}
			other.wake()
		}
		turns++
	}
	return
}

func churn(t *table, me int) int64 { return visitSpots(t, me, false) }

func locality(t *table, me int) int64 { return visitSpots(t, me, true) }

func allSaw(t *table, me int, reign int64) bool {
	for i, p := range t.players {
		if i != me && p.seen.Load() != reign {
			return false
		}
	}
	return true
}

func transfer(t *table, me int) (transfers int64) {
	random := rand.New(rand.NewSource(int64(me)))
	seen := int64(0)
	for !t.over.Load() {
		reign := t.reign.Load()
		if t.leader.Load() == int64(me) {
			if allSaw(t, me, reign) {
				t.leader.Store(int64(random.Intn(len(t.players))))
				t.reign.Store(reign + 1)
				transfers++
			}
		} else if seen != reign {
			seen = reign
			t.players[me].seen.Store(reign)
		}
		runtime.Gosched()
	}
	return
}

func main() {
	play := map[string]func(*table, int) int64{
		"YIELD": yield, "CYCLE": cycle, "CHURN": churn, "LOCALITY": locality, "TRANSFER": transfer,
	}[os.Args[1]]
	count, _ := strconv.Atoi(os.Args[2])
	millis, _ := strconv.Atoi(os.Args[3])
	spots := count / 2
	if spots == 0 {
		spots = 1
	}
	t := &table{players: make([]*player, count), spots: make([]atomic.Pointer[player], spots)}
	t.reign.Store(1)
	for i := range t.players {
		t.players[i] = &player{wakeUp: make(chan struct{}, 1)}
	}
	var turns atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := 0; i < count; i++ {
		all.Add(1)
		go func(me int) {
			<-begin
			turns.Add(play(t, me))
			all.Done()
		}(i)
	}
	start := time.Now()
	close(begin)
	time.Sleep(time.Duration(millis) * time.Millisecond)
	elapsed := time.Since(start)
	t.over.Store(true)
	for _, p := range t.players {
		p.wake()
	}
	all.Wait()
	fmt.Printf("%f\n", float64(turns.Load())/elapsed.Seconds())
}
