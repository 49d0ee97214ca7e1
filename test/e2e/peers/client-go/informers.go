package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

var informerChecks = []check{
	{"informer-watch-list", informerWatchList},
	{"informer-list-then-watch", informerListThenWatch},
	{"informer-lister-and-index", informerIndex},
}

const (
	objects = 2000
	before  = 500
	writers = 8
)

// churn writes objects concurrently: each is created, every third changed, every fifth deleted.
func churn(ctx context.Context, e *env, from, to int) error {
	names := make(chan int)
	errs := make(chan error, writers)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range names {
				if err := churnOne(ctx, e, i); err != nil {
					errs <- err
					break
				}
			}
			for range names { // lets the feeder end after an error
			}
		})
	}
	for i := from; i < to; i++ {
		names <- i
	}
	close(names)
	group.Wait()
	close(errs)
	return <-errs
}

func churnOne(ctx context.Context, e *env, i int) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	made, err := client.Create(ctx, configMap(fmt.Sprintf("c-%04d", i), map[string]string{"v": "1"}), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if i%3 == 0 {
		made.Data["v"] = "2"
		if made, err = client.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if i%5 == 0 {
		return client.Delete(ctx, made.Name, metav1.DeleteOptions{})
	}
	return nil
}

// tally follows one informer and finds what must not happen: an add of the known, an update or delete of the unknown.
type tally struct {
	mu       sync.Mutex
	versions map[string]string
	wrong    []string
	events   atomic.Int64
}

func (t *tally) handler() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { t.note("add", o) },
		UpdateFunc: func(_, o any) { t.note("update", o) },
		DeleteFunc: func(o any) { t.note("delete", o) },
	}
}

func (t *tally) note(kind string, o any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events.Add(1)
	if tombstone, is := o.(cache.DeletedFinalStateUnknown); is {
		o = tombstone.Obj
	}
	object := o.(*corev1.ConfigMap)
	_, known := t.versions[object.Name]
	if known == (kind == "add") {
		t.wrong = append(t.wrong, kind+" "+object.Name)
	}
	if kind == "delete" {
		delete(t.versions, object.Name)
	} else {
		t.versions[object.Name] = object.ResourceVersion
	}
}

// agrees compares what the handlers were told and what the store holds with a list.
func (t *tally) agrees(ctx context.Context, e *env, store cache.Store) error {
	list, err := e.clients.CoreV1().ConfigMaps(e.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return eventually(ctx, "the informer holds what a list holds", func() (bool, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.versions) != len(list.Items) || len(store.ListKeys()) != len(list.Items) {
			return false, fmt.Errorf("list %d, handlers %d, store %d", len(list.Items), len(t.versions), len(store.ListKeys()))
		}
		for _, item := range list.Items {
			stored, _, _ := store.GetByKey(item.Namespace + "/" + item.Name)
			if stored == nil || stored.(*corev1.ConfigMap).ResourceVersion != item.ResourceVersion || t.versions[item.Name] != item.ResourceVersion {
				return false, fmt.Errorf("%s differs", item.Name)
			}
		}
		return true, nil
	})
}

func newTally() *tally { return &tally{versions: map[string]string{}} }

func informerWatchList(ctx context.Context, e *env) error {
	if err := churn(ctx, e, 0, before); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(e.clients, 0, informers.WithNamespace(e.namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	t := newTally()
	if _, err := informer.AddEventHandler(t.handler()); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { written <- churn(ctx, e, before, objects) }()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("not synced")
	}
	if err := <-written; err != nil {
		return err
	}
	lists := e.requests.where(func(x exchange) bool {
		return x.method == "GET" && strings.HasSuffix(x.path, "/configmaps") && !strings.Contains(x.query, "watch=")
	})
	streams := e.requests.where(func(x exchange) bool { return strings.Contains(x.query, "sendInitialEvents=true") && x.status == 200 })
	return first(
		expect(len(lists) == 0, "the informer fell back to %d lists", len(lists)),
		expect(len(streams) == 1, "%d streaming lists", len(streams)),
		t.agrees(ctx, e, informer.GetStore()),
		expect(len(t.wrong) == 0, "wrong events: %v", t.wrong),
	)
}

// listOnly makes a reflector list first and watch then, as all did before 1.35.
type listOnly struct{ *cache.ListWatch }

func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

func informerListThenWatch(ctx context.Context, e *env) error {
	if err := churn(ctx, e, 0, before); err != nil {
		return err
	}
	lw := cache.NewListWatchFromClient(e.clients.CoreV1().RESTClient(), "configmaps", e.namespace, fields.Everything())
	informer := cache.NewSharedIndexInformer(listOnly{lw}, &corev1.ConfigMap{}, time.Second, cache.Indexers{})
	t := newTally()
	if _, err := informer.AddEventHandler(t.handler()); err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if err := churn(ctx, e, before, 2*before); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("not synced")
	}
	lists := e.requests.where(func(x exchange) bool {
		return strings.Contains(x.query, "resourceVersion=0") && !strings.Contains(x.query, "watch=")
	})
	return first(
		expect(len(lists) >= 1, "no list at version 0"),
		t.agrees(ctx, e, informer.GetStore()),
		expect(len(t.wrong) == 0, "wrong events: %v", t.wrong),
	)
}

func informerIndex(ctx context.Context, e *env) error {
	factory := informers.NewSharedInformerFactoryWithOptions(e.clients, 0, informers.WithNamespace(e.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "third!=0" }))
	informer := factory.Core().V1().ConfigMaps()
	byThird := cache.Indexers{"third": func(o any) ([]string, error) { return []string{o.(*corev1.ConfigMap).Labels["third"]}, nil }}
	if err := informer.Informer().AddIndexers(byThird); err != nil {
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer queue.ShutDown()
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(o any) { queue.Add(o.(*corev1.ConfigMap).Name) }}
	if _, err := informer.Informer().AddEventHandler(handler); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := makeConfigMaps(ctx, e, 9); err != nil {
		return err
	}
	if err := eventually(ctx, "six keys in the queue", func() (bool, error) { return queue.Len() == 6, fmt.Errorf("%d", queue.Len()) }); err != nil {
		return err
	}
	ones, err := informer.Informer().GetIndexer().ByIndex("third", "1")
	if err != nil {
		return err
	}
	listed, err := informer.Lister().ConfigMaps(e.namespace).List(labels.Everything())
	return first(err,
		expect(len(ones) == 3, "%d by index", len(ones)),
		expect(len(listed) == 6, "%d by lister", len(listed)),
	)
}
