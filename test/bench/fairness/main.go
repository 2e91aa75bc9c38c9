// Fairness measures what one user's flood of lists does to another user's creates and gets.
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// client is one user with connections of its own.
type client struct {
	url, token string
	http       *http.Client
}

func newClient(url, token string, h2 bool) *client {
	p := new(http.Protocols)
	p.SetHTTP1(!h2)
	p.SetHTTP2(h2)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, Protocols: p, DisableCompression: true,
		MaxIdleConnsPerHost: 2, ReadBufferSize: 64 << 10,
	}
	return &client{url, token, &http.Client{Transport: transport, Timeout: time.Minute}}
}

// do sends a request and reads the whole answer; it returns the status and the bytes of the answer.
func (c *client) do(method, path string, body []byte) (int, int64, error) {
	req, err := http.NewRequest(method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	return res.StatusCode, n, err
}

func configMap(name string, size int) []byte {
	text, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		"data": map[string]string{"text": strings.Repeat("x", size)},
	})
	return text
}

// quantiles of latencies, in milliseconds.
type quantiles struct {
	N             int
	P50, P99, Max float64
}

func quantilesOf(millis []float64) quantiles {
	slices.Sort(millis)
	q := quantiles{N: len(millis)}
	if q.N == 0 {
		return q
	}
	at := func(f float64) float64 { return millis[min(q.N-1, int(f*float64(q.N)))] }
	q.P50, q.P99, q.Max = at(0.5), at(0.99), millis[q.N-1]
	return q
}

const (
	flooded = "/api/v1/namespaces/flood/configmaps"
	calm    = "/api/v1/namespaces/calm/configmaps"
)

var seq atomic.Int64

// single does one request at a time until the end: a create, then a get of what it created.
func single(c *client, until time.Time) (creates, gets []float64, err error) {
	for time.Now().Before(until) {
		name := fmt.Sprintf("o-%d-%d", os.Getpid(), seq.Add(1))
		for _, step := range []struct {
			method, path string
			body         []byte
			status       int
			into         *[]float64
		}{{"POST", calm, configMap(name, 1024), 201, &creates}, {"GET", calm + "/" + name, nil, 200, &gets}} {
			began := time.Now()
			status, _, err := c.do(step.method, step.path, step.body)
			if err != nil || status != step.status {
				return nil, nil, fmt.Errorf("%s %s: %d %w", step.method, step.path, status, err)
			}
			*step.into = append(*step.into, float64(time.Since(began).Microseconds())/1000)
		}
	}
	return creates, gets, nil
}

type flood struct {
	Lists, Refused, Failed, Bytes int64
	PerSecond                     float64
}

// runFlood lists over many connections until its input ends, and says what came of it.
func runFlood(url, token string, conns int, h2 bool) error {
	var f flood
	var stop atomic.Bool
	var wait sync.WaitGroup
	began := time.Now()
	for range conns {
		wait.Go(func() {
			c := newClient(url, token, h2)
			for !stop.Load() {
				status, n, err := c.do("GET", flooded, nil)
				switch {
				case err == nil && status == 429:
					atomic.AddInt64(&f.Refused, 1)
					time.Sleep(time.Second)
				case err == nil && status == 200:
					atomic.AddInt64(&f.Lists, 1)
					atomic.AddInt64(&f.Bytes, n)
				default:
					atomic.AddInt64(&f.Failed, 1)
				}
			}
		})
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	f.PerSecond = float64(atomic.LoadInt64(&f.Lists)) / time.Since(began).Seconds()
	stop.Store(true)
	wait.Wait()
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(&f))
}

func main() {
	url := flag.String("url", "", "base URL")
	admin := flag.String("admin", "", "token that may create namespaces")
	loud := flag.String("loud", "", "token of the user who lists")
	quiet := flag.String("quiet", "", "token of the other")
	conns := flag.Int("conns", 50, "connections of the flood")
	objects := flag.Int("objects", 1000, "objects in a list")
	size := flag.Int("size", 1024, "bytes of text in an object")
	dur := flag.Duration("dur", 10*time.Second, "length of each part")
	h2 := flag.Bool("h2", true, "HTTP/2")
	isFlood := flag.Bool("flood", false, "be the flood, until the input ends")
	flag.Parse()
	if *isFlood {
		if err := runFlood(*url, *loud, *conns, *h2); err != nil {
			fmt.Fprintln(os.Stderr, "fairness:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*url, *admin, *quiet, *objects, *size, *dur, *h2); err != nil {
		fmt.Fprintln(os.Stderr, "fairness:", err)
		os.Exit(1)
	}
}

func run(url, admin, quiet string, objects, size int, dur time.Duration, h2 bool) error {
	root, calmUser := newClient(url, admin, h2), newClient(url, quiet, h2)
	for _, ns := range []string{"flood", "calm"} {
		if status, _, err := root.do("POST", "/api/v1/namespaces", fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, ns)); err != nil || status >= 300 && status != 409 {
			return fmt.Errorf("namespace: %d %w", status, err)
		}
	}
	for i := range objects {
		if status, _, err := root.do("POST", flooded, configMap(fmt.Sprintf("f-%05d", i), size)); err != nil || status != 201 && status != 409 {
			return fmt.Errorf("object: %d %w", status, err)
		}
	}
	if _, _, err := single(calmUser, time.Now().Add(2*time.Second)); err != nil {
		return err
	}
	aloneCreates, aloneGets, err := single(calmUser, time.Now().Add(dur))
	if err != nil {
		return err
	}
	// A process of its own, as it would be: what it does to this one would be taken for the server's doing.
	command := exec.Command(os.Args[0], append(os.Args[1:], "-flood")...)
	command.Stderr = os.Stderr
	stop, err := command.StdinPipe()
	if err != nil {
		return err
	}
	told, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -15) // Where it may.
	time.Sleep(2 * time.Second)
	creates, gets, failure := single(calmUser, time.Now().Add(dur))
	stop.Close()
	var f flood
	if err := errors.Join(failure, json.NewDecoder(told).Decode(&f), command.Wait()); err != nil {
		return err
	}
	text, _ := json.Marshal(map[string]any{
		"alone": map[string]any{"create": quantilesOf(aloneCreates), "get": quantilesOf(aloneGets)},
		"flood": map[string]any{"create": quantilesOf(creates), "get": quantilesOf(gets)},
		"lists": f,
	})
	fmt.Println(string(text))
	return nil
}
