package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
)

var applyChecks = []check{
	{"apply", apply},
	{"apply-conflict-and-force", applyConflict},
	{"apply-extract", applyExtract},
	{"apply-status", applyStatus},
}

func applied(namespace string, replicas int32, image string) *applyapps.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "web"}
	return applyapps.Deployment("web", namespace).WithSpec(applyapps.DeploymentSpec().
		WithReplicas(replicas).
		WithSelector(applymeta.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(applycore.PodTemplateSpec().WithLabels(labels).WithSpec(applycore.PodSpec().WithContainers(
			applycore.Container().WithName("web").WithImage(image).
				WithPorts(applycore.ContainerPort().WithContainerPort(80).WithProtocol(corev1.ProtocolTCP)),
		))))
}

func apply(ctx context.Context, e *env) error {
	client := e.clients.AppsV1().Deployments(e.namespace)
	options := metav1.ApplyOptions{FieldManager: "peer"}
	made, err := client.Apply(ctx, applied(e.namespace, 2, "nginx:1.25"), options)
	if err != nil {
		return err
	}
	again, err := client.Apply(ctx, applied(e.namespace, 2, "nginx:1.25"), options)
	if err != nil {
		return err
	}
	config := applied(e.namespace, 2, "nginx:1.27").WithLabels(map[string]string{"a": "b"})
	if _, err = client.Apply(ctx, config, options); err != nil {
		return err
	}
	last, err := client.Apply(ctx, applied(e.namespace, 2, "nginx:1.27"), options)
	if err != nil {
		return err
	}
	entries := made.ManagedFields
	return first(
		expect(len(entries) == 1 && entries[0].Manager == "peer" && entries[0].Operation == metav1.ManagedFieldsOperationApply, "managed fields: %v", entries),
		expect(again.ResourceVersion == made.ResourceVersion, "the same apply again was written"),
		expect(len(last.Labels) == 0, "a label that is no longer applied stayed: %v", last.Labels),
		expect(last.Spec.Template.Spec.Containers[0].Image == "nginx:1.27" && last.Generation == 2, "generation %d", last.Generation),
	)
}

func applyConflict(ctx context.Context, e *env) error {
	client := e.clients.AppsV1().Deployments(e.namespace)
	if _, err := client.Apply(ctx, applied(e.namespace, 2, "nginx:1.25"), metav1.ApplyOptions{FieldManager: "first"}); err != nil {
		return err
	}
	second := applyapps.Deployment("web", e.namespace).WithSpec(applyapps.DeploymentSpec().WithReplicas(3))
	_, err := client.Apply(ctx, second, metav1.ApplyOptions{FieldManager: "second"})
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return fmt.Errorf("a conflicting apply gave %v", err)
	}
	forced, err := client.Apply(ctx, second, metav1.ApplyOptions{FieldManager: "second", Force: true})
	if err != nil {
		return err
	}
	return expect(*forced.Spec.Replicas == 3 && len(forced.ManagedFields) == 2, "after force: %d replicas, %d managers", *forced.Spec.Replicas, len(forced.ManagedFields))
}

func applyExtract(ctx context.Context, e *env) error {
	client := e.clients.AppsV1().Deployments(e.namespace)
	if _, err := client.Apply(ctx, applied(e.namespace, 2, "nginx:1.25"), metav1.ApplyOptions{FieldManager: "peer"}); err != nil {
		return err
	}
	got, err := client.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	extracted, err := applyapps.ExtractDeployment(got, "peer")
	if err != nil {
		return err
	}
	containers := extracted.Spec.Template.Spec.Containers
	if err := expect(len(containers) == 1 && containers[0].ImagePullPolicy == nil && *containers[0].Image == "nginx:1.25", "extracted %v", containers); err != nil {
		return err
	}
	extracted.Spec.WithReplicas(7)
	updated, err := client.Apply(ctx, extracted, metav1.ApplyOptions{FieldManager: "peer"})
	if err != nil {
		return err
	}
	return expect(*updated.Spec.Replicas == 7, "%d replicas", *updated.Spec.Replicas)
}

func applyStatus(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().Pods(e.namespace)
	if _, err := client.Create(ctx, pod("one"), metav1.CreateOptions{}); err != nil {
		return err
	}
	condition := applycore.PodCondition().WithType("example.com/ready").WithStatus(corev1.ConditionTrue)
	status := applycore.Pod("one", e.namespace).WithStatus(applycore.PodStatus().WithConditions(condition))
	updated, err := client.ApplyStatus(ctx, status, metav1.ApplyOptions{FieldManager: "gate"})
	if err != nil {
		return err
	}
	owned := 0
	for _, entry := range updated.ManagedFields {
		if entry.Manager == "gate" && entry.Subresource == "status" {
			owned++
		}
	}
	return first(
		expect(len(updated.Status.Conditions) == 1 && updated.Status.Phase == corev1.PodPending, "status %v", updated.Status),
		expect(owned == 1, "managed fields %v", updated.ManagedFields),
	)
}
