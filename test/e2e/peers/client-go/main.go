// Command peers drives a running API server with client-go, the way that controllers written in Go do.
// Each check prints one line, "ok NAME" or "FAIL NAME: reason"; the exit code is 1 when one failed.
// ../client-go.test.ts builds and runs it and makes a test of each line.
//
//	go run . -kubeconfig FILE [-user-token TOKEN] [-fair-turns ROUNDS] [NAME...]
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const checkTimeout = 45 * time.Second

// slowCheckTimeout is for checks whose many requests come one after the other, so that a busy machine slows each of them.
const slowCheckTimeout = 4 * time.Minute

var slowChecks = []string{"fair-turns"}

type check struct {
	name string
	run  func(ctx context.Context, e *env) error
}

var checks = slices.Concat(writeChecks, readChecks, informerChecks, dynamicChecks, applyChecks, coordinationChecks, wireChecks, openAPIChecks)

// env is what one check works with: clients whose requests are recorded, and a namespace of its own.
type env struct {
	config    *rest.Config
	userToken string
	namespace string
	clients   kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	requests  *recorder
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the address and credentials of the server")
	userToken := flag.String("user-token", "", "bearer token of a user without any rights")
	fairTurnsRounds := flag.Int("fair-turns", 1, "how often the check fair-turns is made")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	failed := 0
	for _, c := range checks {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), c.name) {
			continue
		}
		rounds := 1
		if c.name == "fair-turns" {
			rounds = *fairTurnsRounds
		}
		for round := range rounds {
			started := time.Now()
			if err := runOne(c, round, config, *userToken); err != nil {
				failed++
				fmt.Printf("FAIL %s: %s\n", c.name, strings.ReplaceAll(err.Error(), "\n", " "))
			} else {
				fmt.Printf("ok %s %d ms\n", c.name, time.Since(started).Milliseconds())
			}
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func runOne(c check, round int, config *rest.Config, userToken string) (err error) {
	timeout := checkTimeout
	if slices.Contains(slowChecks, c.name) {
		timeout = slowCheckTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	namespace := c.name
	if round > 0 {
		namespace = fmt.Sprintf("%s-%d", c.name, round)
	}
	e, err := newEnv(ctx, namespace, config)
	if err != nil {
		return err
	}
	e.userToken = userToken
	return c.run(ctx, e)
}

func newEnv(ctx context.Context, namespace string, config *rest.Config) (*env, error) {
	requests := &recorder{}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	config.Wrap(requests.wrap)
	e := &env{config: config, namespace: namespace, requests: requests}
	var err error
	if e.clients, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if e.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if e.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	_, err = e.clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	return e, err
}

// exchange is one request and the head of its response.
type exchange struct {
	method, path, query, accept, contentType string
	status                                   int
}

// recorder keeps every exchange of the clients of one check.
type recorder struct {
	mu   sync.Mutex
	seen []exchange
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return response, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, exchange{
			method: request.Method, path: request.URL.Path, query: request.URL.RawQuery, accept: request.Header.Get("Accept"),
			contentType: response.Header.Get("Content-Type"), status: response.StatusCode,
		})
		return response, nil
	})
}

func (r *recorder) where(matches func(exchange) bool) []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []exchange
	for _, one := range r.seen {
		if matches(one) {
			found = append(found, one)
		}
	}
	return found
}

func expect(condition bool, format string, args ...any) error {
	if condition {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// first returns the first error of a list of expectations.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func eventually(ctx context.Context, what string, holds func() (bool, error)) error {
	var last error
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		last = err
		select {
		case <-ctx.Done():
			return fmt.Errorf("never happened: %s (%v)", what, last)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}
