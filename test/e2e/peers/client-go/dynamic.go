package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
)

var dynamicChecks = []check{
	{"discovery", discover},
	{"rest-mapper", restMapper},
	{"openapi-v3", openAPI},
	{"openapi-v2", openAPIV2},
	{"dynamic-custom-resources", dynamicCustomResources},
	{"dynamic-informer", dynamicInformer},
	{"metadata-client", metadataClient},
}

var (
	crds    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	configs = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

func discover(_ context.Context, e *env) error {
	client := e.clients.Discovery()
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	preferred, err := client.ServerPreferredNamespacedResources()
	if err != nil {
		return err
	}
	listable := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch", "create"}}, preferred)
	aggregated := e.requests.where(func(x exchange) bool { return strings.Contains(x.contentType, "as=APIGroupDiscoveryList") })
	return first(
		expect(version.Major == "1" && version.GitVersion != "", "version %v", version),
		expect(len(groups) > 10 && len(lists) > 10, "%d groups, %d lists", len(groups), len(lists)),
		expect(len(listable) > 5, "%d preferred lists", len(listable)),
		expect(len(aggregated) >= 2, "discovery was not aggregated"),
	)
}

func restMapper(ctx context.Context, e *env) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(e.clients.Discovery()))
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if err != nil {
		return err
	}
	node, err := mapper.RESTMapping(schema.GroupKind{Kind: "Node"}, "v1")
	if err != nil {
		return err
	}
	expander := restmapper.NewShortcutExpander(mapper, e.clients.Discovery(), nil)
	short, err := expander.ResourceFor(schema.GroupVersionResource{Resource: "deploy"})
	if err != nil {
		return err
	}
	if _, err := defineGadgets(ctx, e, "mapped"); err != nil {
		return err
	}
	mapper.Reset()
	gadget, err := mapper.RESTMapping(schema.GroupKind{Group: "mapped.example.com", Kind: "Gadget"})
	return first(err,
		expect(mapping.Resource.Resource == "deployments" && mapping.Scope.Name() == "namespace", "%v", mapping),
		expect(node.Scope.Name() == "root", "%v", node),
		expect(short.Resource == "deployments", "deploy is %v", short),
		expect(gadget != nil && gadget.Resource.Resource == "gadgets", "the mapper did not learn a new kind: %v", gadget),
	)
}

func openAPI(_ context.Context, e *env) error {
	paths, err := e.clients.Discovery().OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	apps, found := paths["apis/apps/v1"]
	if !found {
		return fmt.Errorf("no apis/apps/v1 among %d paths", len(paths))
	}
	document, err := apps.Schema("application/json")
	return first(err, expect(strings.Contains(string(document), `"io.k8s.api.apps.v1.Deployment"`), "no Deployment in %d bytes", len(document)))
}

// openAPIV2 checks what kubectl needs: the schema of a kind, and whether its patch takes fieldValidation.
func openAPIV2(ctx context.Context, e *env) error {
	if _, err := defineGadgets(ctx, e, "described"); err != nil {
		return err
	}
	document, err := e.clients.Discovery().OpenAPISchema()
	if err != nil {
		return err
	}
	properties := map[string]int{}
	for _, definition := range document.GetDefinitions().GetAdditionalProperties() {
		properties[definition.GetName()] = len(definition.GetValue().GetProperties().GetAdditionalProperties())
	}
	patches := 0
	for _, path := range document.GetPaths().GetPath() {
		for _, parameter := range path.GetValue().GetPatch().GetParameters() {
			if parameter.GetParameter().GetNonBodyParameter().GetQueryParameterSubSchema().GetName() == "fieldValidation" {
				patches++
			}
		}
	}
	return first(
		expect(document.GetSwagger() == "2.0" && len(properties) > 200, "version %s, %d definitions", document.GetSwagger(), len(properties)),
		expect(properties["io.k8s.api.apps.v1.Deployment"] == 5, "a Deployment has %d properties", properties["io.k8s.api.apps.v1.Deployment"]),
		expect(properties["com.example.described.v1.Gadget"] == 5, "a Gadget has %d properties", properties["com.example.described.v1.Gadget"]),
		expect(patches > 50, "%d patches validate fields", patches),
	)
}

// defineGadgets installs a CustomResourceDefinition and waits until it is served.
func defineGadgets(ctx context.Context, e *env, prefix string) (schema.GroupVersionResource, error) {
	group := prefix + ".example.com"
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gadgets"}
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{
						"status": anything,
						"spec": map[string]any{"type": "object", "properties": map[string]any{
							"size": map[string]any{"type": "integer", "maximum": int64(10)}, "color": map[string]any{"type": "string", "default": "red"},
						}},
					},
				}},
			}},
		},
	}}
	made, err := e.dynamic.Resource(crds).Create(ctx, definition, metav1.CreateOptions{})
	if err != nil {
		return gvr, err
	}
	w, err := e.dynamic.Resource(crds).Watch(ctx, metav1.ListOptions{ResourceVersion: made.GetResourceVersion(), FieldSelector: "metadata.name=gadgets." + group})
	if err != nil {
		return gvr, err
	}
	defer w.Stop()
	current := made
	for !established(current) {
		event, err := next(ctx, w)
		if err != nil {
			return gvr, fmt.Errorf("not established: %w", err)
		}
		current, _ = event.Object.(*unstructured.Unstructured)
	}
	return gvr, nil
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, one := range conditions {
		condition := one.(map[string]any)
		if condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}

func gadget(gvr schema.GroupVersionResource, name string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gvr.GroupVersion().String(), "kind": "Gadget",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": size, "unknown": "pruned"},
	}}
}

func dynamicCustomResources(ctx context.Context, e *env) error {
	gvr, err := defineGadgets(ctx, e, "dynamic")
	if err != nil {
		return err
	}
	client := e.dynamic.Resource(gvr).Namespace(e.namespace)
	w, err := client.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer w.Stop()
	made, err := client.Create(ctx, gadget(gvr, "one", 3), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, tooLarge := client.Create(ctx, gadget(gvr, "two", 11), metav1.CreateOptions{})
	color, _, _ := unstructured.NestedString(made.Object, "spec", "color")
	_, unknown, _ := unstructured.NestedString(made.Object, "spec", "unknown")
	event, err := next(ctx, w)
	if err := first(err,
		expect(event.Type == watch.Added, "event %s", event.Type),
		expect(color == "red" && !unknown, "spec is %v", made.Object["spec"]),
		expect(apierrors.IsInvalid(tooLarge), "11 of at most 10 gave %v", tooLarge),
	); err != nil {
		return err
	}
	status := []byte(`{"status":{"phase":"Ready"},"spec":{"size":9}}`)
	patched, err := client.Patch(ctx, "one", types.MergePatchType, status, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	size, _, _ := unstructured.NestedInt64(patched.Object, "spec", "size")
	phase, _, _ := unstructured.NestedString(patched.Object, "status", "phase")
	if err := expect(size == 3 && phase == "Ready" && patched.GetGeneration() == 1, "after the status patch: %v", patched.Object); err != nil {
		return err
	}
	if err := e.dynamic.Resource(crds).Delete(ctx, "gadgets."+gvr.Group, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return eventually(ctx, "the resource is gone with its definition", func() (bool, error) {
		_, err := client.List(ctx, metav1.ListOptions{})
		return apierrors.IsNotFound(err), err
	})
}

func dynamicInformer(ctx context.Context, e *env) error {
	gvr, err := defineGadgets(ctx, e, "informed")
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(e.dynamic, 0, e.namespace, nil)
	informer := factory.ForResource(gvr)
	store := informer.Informer().GetStore()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return errors.New("not synced")
	}
	for i := range int64(10) {
		if _, err := e.dynamic.Resource(gvr).Namespace(e.namespace).Create(ctx, gadget(gvr, fmt.Sprintf("g-%d", i), i), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return eventually(ctx, "ten gadgets in the informer", func() (bool, error) { return len(store.List()) == 10, fmt.Errorf("%d", len(store.List())) })
}

func metadataClient(ctx context.Context, e *env) error {
	factory := metadatainformer.NewFilteredSharedInformerFactory(e.metadata, 0, e.namespace, nil)
	informer := factory.ForResource(configs).Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("not synced")
	}
	if err := makeConfigMaps(ctx, e, 5); err != nil {
		return err
	}
	list, err := e.metadata.Resource(configs).Namespace(e.namespace).List(ctx, metav1.ListOptions{LabelSelector: "third=0"})
	if err != nil {
		return err
	}
	one, err := e.metadata.Resource(configs).Namespace(e.namespace).Get(ctx, "c-001", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := first(
		expect(len(list.Items) == 2, "%d by label", len(list.Items)),
		expect(one.Labels["third"] == "1", "got %v", one),
		eventually(ctx, "five in the informer", func() (bool, error) { return len(informer.GetStore().List()) == 5, nil }),
		e.metadata.Resource(configs).Namespace(e.namespace).Delete(ctx, "c-001", metav1.DeleteOptions{}),
	); err != nil {
		return err
	}
	return eventually(ctx, "four in the informer", func() (bool, error) { return len(informer.GetStore().List()) == 4, nil })
}
