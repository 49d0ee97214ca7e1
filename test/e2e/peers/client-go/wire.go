package main

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

var wireChecks = []check{
	{"protobuf-by-default", protobufByDefault},
	{"json-when-asked", jsonWhenAsked},
	{"secret-bytes-and-service-addresses", bytesAndAddresses},
	{"unauthorized-and-forbidden", unauthorizedAndForbidden},
	{"unserved-is-a-clear-error", unserved},
}

const protobuf = runtime.ContentTypeProtobuf

func protobufByDefault(ctx context.Context, e *env) error {
	client := e.clients.CoreV1().ConfigMaps(e.namespace)
	w, err := client.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer w.Stop()
	if err := makeConfigMaps(ctx, e, 2); err != nil {
		return err
	}
	for _, name := range []string{"c-000", "c-001"} {
		if err := expectEvent(ctx, w, watch.Added, name); err != nil {
			return err
		}
	}
	if _, err := client.List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	_, notFound := client.Get(ctx, "none", metav1.GetOptions{})
	others := e.requests.where(func(x exchange) bool { return !strings.HasPrefix(x.contentType, protobuf) })
	streams := e.requests.where(func(x exchange) bool { return x.contentType == protobuf+";stream=watch" })
	return first(
		expect(apierrors.IsNotFound(notFound), "a missing object gave %v", notFound),
		expect(len(others) == 0, "not protobuf: %v", others),
		expect(len(streams) == 1, "no protobuf watch stream: %v", e.requests.seen),
	)
}

func jsonWhenAsked(ctx context.Context, e *env) error {
	config := rest.CopyConfig(e.config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	client := clients.CoreV1().ConfigMaps(e.namespace)
	w, err := client.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer w.Stop()
	if err := makeConfigMaps(ctx, e, 1); err != nil {
		return err
	}
	got, err := client.Get(ctx, "c-000", metav1.GetOptions{})
	return first(err,
		expectEvent(ctx, w, watch.Added, "c-000"),
		expect(got != nil && got.Data["i"] == "0", "what protobuf wrote, JSON does not read: %v", got),
	)
}

func bytesAndAddresses(ctx context.Context, e *env) error {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"every": every}, StringData: map[string]string{"text": "välue"}}
	made, err := e.clients.CoreV1().Secrets(e.namespace).Create(ctx, secret, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	web, err := e.clients.CoreV1().Services(e.namespace).Create(ctx, service, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return first(
		expect(string(made.Data["every"]) == string(every) && string(made.Data["text"]) == "välue" && made.Type == corev1.SecretTypeOpaque, "secret %v", made),
		expect(strings.HasPrefix(web.Spec.ClusterIP, "10.") && len(web.Spec.ClusterIPs) == 1, "service addresses %v", web.Spec.ClusterIPs),
		expect(web.Spec.Ports[0].TargetPort.IntValue() == 80 && web.Spec.Ports[0].Protocol == corev1.ProtocolTCP, "ports %v", web.Spec.Ports),
	)
}

func as(e *env, token string) (kubernetes.Interface, error) {
	config := rest.AnonymousClientConfig(e.config)
	config.BearerToken = token
	return kubernetes.NewForConfig(config)
}

func unauthorizedAndForbidden(ctx context.Context, e *env) error {
	stranger, err := as(e, "no-such-token")
	if err != nil {
		return err
	}
	user, err := as(e, e.userToken)
	if err != nil {
		return err
	}
	_, unauthorized := stranger.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{})
	_, forbidden := user.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{})
	_, discovery := user.Discovery().ServerGroups()
	return first(discovery,
		expect(apierrors.IsUnauthorized(unauthorized), "an unknown token gave %v", unauthorized),
		expect(apierrors.IsForbidden(forbidden) && strings.Contains(forbidden.Error(), `cannot list resource "pods" in API group "" in the namespace "`+e.namespace+`"`), "a user without rights got %v", forbidden),
	)
}

func unserved(ctx context.Context, e *env) error {
	placed := pod("one")
	placed.Spec.NodeName = "node-1"
	pods := e.clients.CoreV1().Pods(e.namespace)
	if _, err := pods.Create(ctx, placed, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, logs := pods.GetLogs("one", &corev1.PodLogOptions{}).DoRaw(ctx)
	_, proxy := pods.ProxyGet("http", "one", "80", "/", nil).DoRaw(ctx)
	exec := e.clients.CoreV1().RESTClient().Post().Namespace(e.namespace).Resource("pods").Name("one").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"ls"}}, scheme.ParameterCodec).Do(ctx).Error()
	for name, err := range map[string]error{"logs": logs, "proxy": proxy, "exec": exec} {
		status, isStatus := err.(apierrors.APIStatus)
		if err := expect(isStatus && status.Status().Message != "", "%s gave %v", name, err); err != nil {
			return err
		}
	}
	return nil
}
