// The controller of reconcile-client.mjs in controller-runtime: it keeps a ConfigMap and the status of each Echo. Run by
// bench/reconcile.mjs with the path of a kubeconfig; it prints a line when it has seen as many Echos as told, and one each
// time it has written as many statuses as told.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type EchoSpec struct {
	Text string `json:"text"`
}
type EchoStatus struct {
	Text string `json:"text,omitempty"`
}
type Echo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              EchoSpec   `json:"spec"`
	Status            EchoStatus `json:"status,omitempty"`
}
type EchoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Echo `json:"items"`
}

func (in *Echo) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}
func (in *EchoList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = make([]Echo, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *(in.Items[i].DeepCopyObject().(*Echo))
	}
	return &out
}

type reconciler struct {
	client.Client
	expected, batch int
	mu              sync.Mutex
	seen            map[string]bool
	written         int
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var echo Echo
	if err := r.Get(ctx, request.NamespacedName, &echo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var child corev1.ConfigMap
	err := r.Get(ctx, client.ObjectKey{Namespace: echo.Namespace, Name: echo.Name}, &child)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err != nil || child.Data["text"] != echo.Spec.Text {
		owner := metav1apply.OwnerReference().WithAPIVersion("demo.dev/v1").WithKind("Echo").
			WithName(echo.Name).WithUID(echo.UID).WithController(true).WithBlockOwnerDeletion(true)
		wanted := corev1apply.ConfigMap(echo.Name, echo.Namespace).
			WithOwnerReferences(owner).WithData(map[string]string{"text": echo.Spec.Text})
		if err := r.Apply(ctx, wanted, client.FieldOwner("echo"), client.ForceOwnership); err != nil {
			return ctrl.Result{}, err
		}
	}
	if echo.Status.Text != echo.Spec.Text {
		before := echo.DeepCopyObject().(*Echo)
		echo.Status.Text = echo.Spec.Text
		if err := r.Status().Patch(ctx, &echo, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
		r.count(func() { r.written++ })
	}
	r.count(func() { r.seen[request.Name] = true })
	return ctrl.Result{}, nil
}

// count changes a number and prints a line when one has reached its mark.
func (r *reconciler) count(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, written := len(r.seen), r.written
	change()
	if seen < r.expected && len(r.seen) == r.expected {
		fmt.Println("seen")
	}
	if r.written > written && r.written%r.batch == 0 {
		fmt.Println("written")
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	config.QPS = -1
	expected, _ := strconv.Atoi(os.Args[2])
	batch, _ := strconv.Atoi(os.Args[3])
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	version := schema.GroupVersion{Group: "demo.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Echo{}, &EchoList{})
	metav1.AddToGroupVersion(scheme, version)
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	must(err)
	r := &reconciler{Client: manager.GetClient(), expected: expected, batch: batch, seen: map[string]bool{}}
	must(ctrl.NewControllerManagedBy(manager).Named("echo").For(&Echo{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).Complete(r))
	must(manager.Start(ctrl.SetupSignalHandler()))
}
