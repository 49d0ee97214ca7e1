package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
)

var writeChecks = []check{
	{"create-update-delete", createUpdateDelete},
	{"patches", patches},
	{"status-subresource", statusSubresource},
	{"scale-subresource", scaleSubresource},
	{"dry-run-and-generate-name", dryRun},
	{"preconditions-and-finalizers", finalizers},
	{"delete-collection", deleteCollection},
	{"retry-on-conflict", retryOnConflict},
	{"fair-turns", fairTurns},
	{"bind-and-evict-pod", bindAndEvict},
	{"too-large-and-invalid", refusedWrites},
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "nginx:1.25",
					Ports:          []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
					Resources:      corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")}}},
				}}},
			},
		},
	}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox"}}},
	}
}

func createUpdateDelete(ctx context.Context, e *env) error {
	client := e.clients.AppsV1().Deployments(e.namespace)
	made, err := client.Create(ctx, deployment("web", 2), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	container := made.Spec.Template.Spec.Containers[0]
	cpu := container.Resources.Requests[corev1.ResourceCPU]
	if err := first(
		expect(made.UID != "" && made.ResourceVersion != "" && !made.CreationTimestamp.IsZero(), "no system metadata: %v", made.ObjectMeta),
		expect(made.Generation == 1, "generation is %d", made.Generation),
		expect(container.ImagePullPolicy == corev1.PullIfNotPresent, "not defaulted: %q", container.ImagePullPolicy),
		expect(cpu.String() == "500m", "0.5 came back as %s", cpu.String()),
		expect(container.ReadinessProbe.HTTPGet.Port == intstr.FromString("http"), "port is %v", container.ReadinessProbe.HTTPGet.Port),
		expect(made.Spec.Strategy.RollingUpdate.MaxSurge.String() == "25%", "maxSurge is %v", made.Spec.Strategy.RollingUpdate.MaxSurge),
	); err != nil {
		return err
	}
	_, err = client.Create(ctx, deployment("web", 2), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("a second create gave %v", err)
	}
	changed := made.DeepCopy()
	*changed.Spec.Replicas = 5
	updated, err := client.Update(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if _, err = client.Update(ctx, changed, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("a stale update gave %v", err)
	}
	again, err := client.Update(ctx, updated, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if err := client.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		return err
	}
	_, err = client.Get(ctx, "web", metav1.GetOptions{})
	return first(
		expect(updated.Generation == 2, "generation after an update is %d", updated.Generation),
		expect(again.ResourceVersion == updated.ResourceVersion, "an update without a change was written"),
		expect(apierrors.IsNotFound(err), "get after delete gave %v", err),
	)
}

func patches(ctx context.Context, e *env) error {
	client := e.clients.AppsV1().Deployments(e.namespace)
	if _, err := client.Create(ctx, deployment("web", 1), metav1.CreateOptions{}); err != nil {
		return err
	}
	strategic := `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"1"}]},{"name":"side","image":"busybox"}]}}}}`
	merge := `{"metadata":{"labels":{"tier":"front","app":null}}}`
	json := `[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas","value":4}]`
	for _, p := range []struct {
		kind types.PatchType
		body string
	}{{types.StrategicMergePatchType, strategic}, {types.MergePatchType, merge}, {types.JSONPatchType, json}} {
		if _, err := client.Patch(ctx, "web", p.kind, []byte(p.body), metav1.PatchOptions{FieldManager: "peer"}); err != nil {
			return fmt.Errorf("%s: %w", p.kind, err)
		}
	}
	got, err := client.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, failedTest := client.Patch(ctx, "web", types.JSONPatchType, []byte(json), metav1.PatchOptions{})
	containers := got.Spec.Template.Spec.Containers
	return first(
		expect(len(containers) == 2, "containers: %v", containers),
		expect(*got.Spec.Replicas == 4, "replicas: %d", *got.Spec.Replicas),
		expect(got.Labels["tier"] == "front" && len(got.Labels) == 1, "labels: %v", got.Labels),
		expect(apierrors.IsInvalid(failedTest), "a failed test operation gave %v", failedTest),
	)
}

func statusSubresource(ctx context.Context, e *env) error {
	client := e.clients.AppsV1().Deployments(e.namespace)
	made, err := client.Create(ctx, deployment("web", 1), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status.ObservedGeneration, made.Status.Replicas, made.Status.ReadyReplicas = 1, 1, 1
	*made.Spec.Replicas = 9
	updated, err := client.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	updated.Status.Replicas = 7
	unchanged, err := client.Update(ctx, updated, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return first(
		expect(*updated.Spec.Replicas == 1 && updated.Generation == 1, "a status update changed the spec"),
		expect(unchanged.Status.Replicas == 1, "an update changed the status"),
	)
}

func scaleSubresource(ctx context.Context, e *env) error {
	client := e.clients.AppsV1().Deployments(e.namespace)
	if _, err := client.Create(ctx, deployment("web", 1), metav1.CreateOptions{}); err != nil {
		return err
	}
	scale, err := client.GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = 6
	updated, err := client.UpdateScale(ctx, "web", &autoscalingv1.Scale{ObjectMeta: scale.ObjectMeta, Spec: scale.Spec}, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	got, err := client.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return first(
		expect(scale.Status.Selector == "app=web", "selector is %q", scale.Status.Selector),
		expect(updated.Spec.Replicas == 6 && *got.Spec.Replicas == 6, "scaled to %d and %d", updated.Spec.Replicas, *got.Spec.Replicas),
	)
}

func dryRun(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	made, err := client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return first(
		expect(strings.HasPrefix(made.Name, "made-") && len(made.Name) == 10, "generated the name %q", made.Name),
		expect(len(list.Items) == 0, "a dry run stored %d objects", len(list.Items)),
	)
}

func finalizers(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	held := configMap("held", nil)
	held.Finalizers = []string{"example.com/hold"}
	made, err := client.Create(ctx, held, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	other := types.UID("another")
	err = client.Delete(ctx, "held", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("a delete with another UID gave %v", err)
	}
	foreground := metav1.DeletePropagationForeground
	if err = client.Delete(ctx, "held", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID}, PropagationPolicy: &foreground}); err != nil {
		return err
	}
	deleting, err := client.Get(ctx, "held", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := expect(deleting.DeletionTimestamp != nil && len(deleting.Finalizers) == 2, "finalizers while deleting: %v", deleting.Finalizers); err != nil {
		return err
	}
	deleting.Finalizers = nil
	if _, err = client.Update(ctx, deleting, metav1.UpdateOptions{}); err != nil {
		return err
	}
	_, err = client.Get(ctx, "held", metav1.GetOptions{})
	return expect(apierrors.IsNotFound(err), "still there without finalizers: %v", err)
}

func deleteCollection(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	for i := range 20 {
		one := configMap(fmt.Sprintf("c-%d", i), nil)
		one.Labels = map[string]string{"even": strconv.FormatBool(i%2 == 0)}
		if _, err := client.Create(ctx, one, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "even=true"}); err != nil {
		return err
	}
	left, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return expect(len(left.Items) == 10, "%d left", len(left.Items))
}

func retryOnConflict(ctx context.Context, e *env) error {
	return countTogether(ctx, e, counting{writers: 8, times: 10, steps: 100})
}

// fairTurns has as many writers as a small controller deployment, each with more patience than client-go's own five steps, and more
// than chance would need if the last winner had no advantage.
func fairTurns(ctx context.Context, e *env) error {
	return countTogether(ctx, e, counting{writers: 4, times: 200, steps: 18})
}

// counting says how many writers add one to a number how often, and how often each tries before it gives up.
type counting struct{ writers, times, steps int }

func countTogether(ctx context.Context, e *env, c counting) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	if _, err := client.Create(ctx, configMap("counter", map[string]string{"n": "0"}), metav1.CreateOptions{}); err != nil {
		return err
	}
	errs := make(chan error, c.writers)
	var group sync.WaitGroup
	for range c.writers {
		group.Go(func() {
			for range c.times {
				if err := increment(ctx, e, c.steps); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	if len(errs) > 0 {
		return <-errs
	}
	got, err := client.Get(ctx, "counter", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return expect(got.Data["n"] == strconv.Itoa(c.writers*c.times), "counted to %s", got.Data["n"])
}

func increment(ctx context.Context, e *env, steps int) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	backoff := retry.DefaultRetry
	backoff.Steps = steps
	return retry.RetryOnConflict(backoff, func() error {
		got, err := client.Get(ctx, "counter", metav1.GetOptions{})
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(got.Data["n"])
		if err != nil {
			return err
		}
		got.Data["n"] = strconv.Itoa(n + 1)
		_, err = client.Update(ctx, got, metav1.UpdateOptions{})
		return err
	})
}

func bindAndEvict(ctx context.Context, e *env) error {
	pods := e.clients.CoreV1().Pods(e.namespace)
	if _, err := pods.Create(ctx, pod("one"), metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}
	if err := pods.Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	bound, err := pods.Get(ctx, "one", metav1.GetOptions{})
	if err != nil {
		return err
	}
	onNode, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=node-1"})
	if err != nil {
		return err
	}
	if err := first(
		expect(bound.Spec.NodeName == "node-1", "bound to %q", bound.Spec.NodeName),
		expect(len(onNode.Items) == 1, "%d pods by field selector", len(onNode.Items)),
	); err != nil {
		return err
	}
	if err := pods.EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "one"}}); err != nil {
		return fmt.Errorf("evict: %w", err)
	}
	evicted, err := pods.Get(ctx, "one", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := expect(evicted.DeletionTimestamp != nil && *evicted.DeletionGracePeriodSeconds == 30, "not terminating: %v", evicted.ObjectMeta); err != nil {
		return err
	}
	now := int64(0)
	if err := pods.Delete(ctx, "one", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		return err
	}
	_, err = pods.Get(ctx, "one", metav1.GetOptions{})
	return expect(apierrors.IsNotFound(err), "still there after a delete at once: %v", err)
}

func refusedWrites(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	_, tooLarge := client.Create(ctx, configMap("large", map[string]string{"a": strings.Repeat("x", 4<<20)}), metav1.CreateOptions{})
	_, tooLong := client.Create(ctx, configMap("long", map[string]string{"a": strings.Repeat("x", 1<<20+1)}), metav1.CreateOptions{})
	_, badName := client.Create(ctx, configMap("Not_A_Name", nil), metav1.CreateOptions{})
	_, noNamespace := e.clients.CoreV1().ConfigMaps("not-there").Create(ctx, configMap("a", nil), metav1.CreateOptions{})
	return first(
		expect(apierrors.IsRequestEntityTooLargeError(tooLarge), "4 MiB gave %v", tooLarge),
		expect(apierrors.IsInvalid(tooLong), "over 1 MiB of data gave %v", tooLong),
		expect(apierrors.IsInvalid(badName), "a bad name gave %v", badName),
		expect(apierrors.IsNotFound(noNamespace), "a missing namespace gave %v", noNamespace),
	)
}
