package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

var coordinationChecks = []check{
	{"leader-election", leaderElection},
	{"event-recorder", eventRecorder},
	{"event-recorder-events-v1", eventsRecorder},
}

func leaderElection(ctx context.Context, e *env) error {
	var mu sync.Mutex
	var leading []string
	candidate := func(ctx context.Context, id string) {
		lock := &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: "leader", Namespace: e.namespace}, Client: e.clients.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: id},
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					mu.Lock()
					defer mu.Unlock()
					leading = append(leading, id)
				},
				OnStoppedLeading: func() {},
			},
		})
	}
	leads := func(count int, id string) error {
		return eventually(ctx, id+" leads", func() (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			return len(leading) == count && leading[count-1] == id, fmt.Errorf("leading: %v", leading)
		})
	}
	firstCtx, resign := context.WithCancel(ctx)
	defer resign()
	secondCtx, stop := context.WithCancel(ctx)
	defer stop()
	go candidate(firstCtx, "a")
	if err := leads(1, "a"); err != nil {
		return err
	}
	go candidate(secondCtx, "b")
	time.Sleep(time.Second)
	if err := leads(1, "a"); err != nil {
		return err
	}
	resign()
	if err := leads(2, "b"); err != nil {
		return err
	}
	lease, err := e.clients.CoordinationV1().Leases(e.namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return first(
		expect(*lease.Spec.HolderIdentity == "b", "held by %q", *lease.Spec.HolderIdentity),
		expect(*lease.Spec.LeaseDurationSeconds == 15, "for %d s", *lease.Spec.LeaseDurationSeconds),
		expect(time.Since(lease.Spec.RenewTime.Time) < 10*time.Second && lease.Spec.RenewTime.Nanosecond()%1_000_000 != 0, "renewed %s: not in microseconds", lease.Spec.RenewTime),
	)
}

func eventRecorder(ctx context.Context, e *env) error {
	one, err := e.clients.CoreV1().Pods(e.namespace).Create(ctx, pod("one"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: e.clients.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "peer"})
	for range 3 {
		recorder.Eventf(one, corev1.EventTypeNormal, "Peered", "saw %s", one.Name)
	}
	var list *corev1.EventList
	err = eventually(ctx, "one event counted three times", func() (bool, error) {
		list, err = e.clients.CoreV1().Events(e.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=one,reason=Peered"})
		return err == nil && len(list.Items) == 1 && list.Items[0].Count == 3, errors.Join(err, fmt.Errorf("%v", list))
	})
	if err != nil {
		return err
	}
	event := list.Items[0]
	return expect(event.Source.Component == "peer" && event.InvolvedObject.UID == one.UID && event.Message == "saw one", "event %v", event)
}

func eventsRecorder(ctx context.Context, e *env) error {
	one, err := e.clients.CoreV1().Pods(e.namespace).Create(ctx, pod("one"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: e.clients.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, "example.com/peer")
	var list *eventsv1.EventList
	// Sent one after the other, because the recorder patches an event into a series only once its creation has been answered.
	for i := range 2 {
		recorder.Eventf(one, nil, corev1.EventTypeWarning, "Peered", "Peering", "saw %s", one.Name)
		err = eventually(ctx, "one event, the second time as a series", func() (bool, error) {
			list, err = e.clients.EventsV1().Events(e.namespace).List(ctx, metav1.ListOptions{FieldSelector: "regarding.name=one"})
			return err == nil && len(list.Items) == 1 && (list.Items[0].Series != nil) == (i == 1), errors.Join(err, fmt.Errorf("%v", list))
		})
		if err != nil {
			return err
		}
	}
	core, err := e.clients.CoreV1().Events(e.namespace).Get(ctx, list.Items[0].Name, metav1.GetOptions{})
	return first(err,
		expect(list.Items[0].ReportingController == "example.com/peer" && list.Items[0].Note == "saw one", "event %v", list.Items[0]),
		expect(core != nil && core.Message == "saw one" && core.Type == corev1.EventTypeWarning, "the same event in v1: %v", core),
	)
}
