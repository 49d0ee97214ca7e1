package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
)

var readChecks = []check{
	{"paged-list", pagedList},
	{"list-at-resource-version", listAtVersion},
	{"selectors", selectors},
	{"watch-events", watchEvents},
	{"watch-bookmarks", watchBookmarks},
	{"watch-initial-events", watchInitialEvents},
	{"retry-watcher", retryWatcher},
	{"many-watches", manyWatches},
}

func makeConfigMaps(ctx context.Context, e *env, count int) error {
	for i := range count {
		one := configMap(fmt.Sprintf("c-%03d", i), map[string]string{"i": fmt.Sprint(i)})
		one.Labels = map[string]string{"third": fmt.Sprint(i % 3)}
		if _, err := e.clients.CoreV1().ConfigMaps(e.namespace).Create(ctx, one, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func pagedList(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	if err := makeConfigMaps(ctx, e, 25); err != nil {
		return err
	}
	page, err := client.List(ctx, metav1.ListOptions{Limit: 10})
	if err != nil {
		return err
	}
	if err := first(
		expect(len(page.Items) == 10 && page.Continue != "", "the first page has %d", len(page.Items)),
		expect(page.RemainingItemCount != nil && *page.RemainingItemCount == 15, "remaining: %v", page.RemainingItemCount),
	); err != nil {
		return err
	}
	if _, err := client.Create(ctx, configMap("c-999", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	second, err := client.List(ctx, metav1.ListOptions{Limit: 100, Continue: page.Continue})
	if err != nil {
		return err
	}
	if err := first(
		expect(len(second.Items) == 15, "the second page has %d, so is not of the first one's version", len(second.Items)),
		expect(second.ResourceVersion == page.ResourceVersion, "pages of %s and %s", page.ResourceVersion, second.ResourceVersion),
	); err != nil {
		return err
	}
	seen := map[string]bool{}
	p := pager.New(pager.SimplePageFunc(func(o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) }))
	p.PageSize = 7
	err = p.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		seen[o.(*corev1.ConfigMap).Name] = true
		return nil
	})
	return first(err, expect(len(seen) == 26, "the pager saw %d", len(seen)))
}

func listAtVersion(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	made, err := client.Create(ctx, configMap("a", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := client.Create(ctx, configMap("b", nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	exact, err := client.List(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if err != nil {
		return err
	}
	newer, err := client.List(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		return err
	}
	latest, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	future := e.clients.CoreV1().RESTClient().Get().Namespace(e.namespace).Resource("configmaps").Name("a").
		Param("resourceVersion", "999999999").MaxRetries(0).Do(ctx).Error()
	return first(
		expect(len(exact.Items) == 1 && exact.ResourceVersion == made.ResourceVersion, "exactly %s: %d items at %s", made.ResourceVersion, len(exact.Items), exact.ResourceVersion),
		expect(len(newer.Items) >= 1, "not older than %s: %d items", made.ResourceVersion, len(newer.Items)),
		expect(len(latest.Items) == 2, "a list without a version missed a write: %d items", len(latest.Items)),
		expect(apierrors.IsTimeout(future) && apierrors.HasStatusCause(future, metav1.CauseTypeResourceVersionTooLarge), "a version of the future gave %v", future),
	)
}

func selectors(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	if err := makeConfigMaps(ctx, e, 9); err != nil {
		return err
	}
	for _, c := range []struct {
		options metav1.ListOptions
		count   int
	}{
		{metav1.ListOptions{LabelSelector: "third=1"}, 3},
		{metav1.ListOptions{LabelSelector: "third in (1,2)"}, 6},
		{metav1.ListOptions{LabelSelector: "third notin (1)"}, 6},
		{metav1.ListOptions{LabelSelector: "!third"}, 0},
		{metav1.ListOptions{FieldSelector: "metadata.name=c-004"}, 1},
		{metav1.ListOptions{FieldSelector: "metadata.name!=c-004", LabelSelector: "third=1"}, 2},
	} {
		list, err := client.List(ctx, c.options)
		if err != nil {
			return err
		}
		if len(list.Items) != c.count {
			return fmt.Errorf("%q %q gave %d", c.options.LabelSelector, c.options.FieldSelector, len(list.Items))
		}
	}
	_, err := client.List(ctx, metav1.ListOptions{FieldSelector: "data.i=1"})
	return expect(apierrors.IsBadRequest(err), "an unsupported field selector gave %v", err)
}

// next waits for one event; it fails when the watch ends.
func next(ctx context.Context, w watch.Interface) (watch.Event, error) {
	select {
	case event, open := <-w.ResultChan():
		if !open {
			return event, fmt.Errorf("the watch ended")
		}
		return event, nil
	case <-ctx.Done():
		return watch.Event{}, fmt.Errorf("no event: %w", ctx.Err())
	}
}

func expectEvent(ctx context.Context, w watch.Interface, kind watch.EventType, name string) error {
	event, err := next(ctx, w)
	if err != nil {
		return err
	}
	object, isConfigMap := event.Object.(*corev1.ConfigMap)
	if !isConfigMap {
		return fmt.Errorf("expected %s %s, got %s %v", kind, name, event.Type, event.Object)
	}
	return expect(event.Type == kind && object.Name == name, "expected %s %s, got %s %s", kind, name, event.Type, object.Name)
}

func watchEvents(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, LabelSelector: "in=yes"})
	if err != nil {
		return err
	}
	defer w.Stop()
	one := configMap("one", nil)
	one.Labels = map[string]string{"in": "no"}
	if one, err = client.Create(ctx, one, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, step := range []struct {
		label string
		event watch.EventType
	}{{"yes", watch.Added}, {"yes", watch.Modified}, {"no", watch.Deleted}, {"yes", watch.Added}} {
		one.Labels["in"] = step.label
		one.Data = map[string]string{"at": time.Now().String()}
		if one, err = client.Update(ctx, one, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if err := expectEvent(ctx, w, step.event, "one"); err != nil {
			return err
		}
	}
	if err := client.Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return expectEvent(ctx, w, watch.Deleted, "one")
}

func watchBookmarks(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	seconds := int64(5)
	w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true, TimeoutSeconds: &seconds})
	if err != nil {
		return err
	}
	defer w.Stop()
	elsewhere, err := e.clients.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "elsewhere-"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	last := ""
	started := time.Now()
	for event := range w.ResultChan() {
		if event.Type != watch.Bookmark {
			return fmt.Errorf("unexpected %s %v", event.Type, event.Object)
		}
		last = event.Object.(*corev1.ConfigMap).ResourceVersion
	}
	took := time.Since(started)
	bookmark, _ := strconv.ParseUint(last, 10, 64)
	version, _ := strconv.ParseUint(elsewhere.ResourceVersion, 10, 64)
	return first(
		// The server itself may have written since, such as its Lease.
		expect(bookmark >= version, "last bookmark %q, last version %s", last, elsewhere.ResourceVersion),
		expect(took > 4*time.Second && took < 8*time.Second, "a watch of 5 s ended after %s", took),
	)
}

func watchInitialEvents(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	if err := makeConfigMaps(ctx, e, 3); err != nil {
		return err
	}
	yes := true
	w, err := client.Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	for i := range 3 {
		if err := expectEvent(ctx, w, watch.Added, fmt.Sprintf("c-%03d", i)); err != nil {
			return err
		}
	}
	event, err := next(ctx, w)
	if err != nil {
		return err
	}
	mark, _ := event.Object.(*corev1.ConfigMap)
	return expect(event.Type == watch.Bookmark && mark != nil && mark.Annotations[metav1.InitialEventsAnnotationKey] == "true",
		"not the end of the initial events: %s %v", event.Type, event.Object)
}

func retryWatcher(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	seconds := int64(1)
	lw := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.TimeoutSeconds = &seconds
		return client.Watch(ctx, o)
	}}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, lw)
	if err != nil {
		return err
	}
	defer w.Stop()
	for i := range 6 {
		name := fmt.Sprintf("c-%d", i)
		if _, err := client.Create(ctx, configMap(name, nil), metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := expectEvent(ctx, w, watch.Added, name); err != nil {
			return err
		}
		time.Sleep(600 * time.Millisecond)
	}
	watches := e.requests.where(func(x exchange) bool { return x.method == "GET" && x.query != "" })
	return expect(len(watches) >= 3, "%d requests: the watches of 1 s were not reopened", len(watches))
}

func manyWatches(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	const count = 300
	watches := make([]watch.Interface, count)
	for i := range watches {
		w, err := client.Watch(ctx, metav1.ListOptions{FieldSelector: fmt.Sprintf("metadata.name=c-%03d", i%10)})
		if err != nil {
			return fmt.Errorf("watch %d: %w", i, err)
		}
		defer w.Stop()
		watches[i] = w
	}
	if err := makeConfigMaps(ctx, e, 10); err != nil {
		return err
	}
	for i, w := range watches {
		if err := expectEvent(ctx, w, watch.Added, fmt.Sprintf("c-%03d", i%10)); err != nil {
			return fmt.Errorf("watch %d: %w", i, err)
		}
	}
	return nil
}
