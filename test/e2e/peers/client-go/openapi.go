package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
)

const openAPIProtobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"

var openAPIChecks = []check{
	{"openapi-v3-round-trip", openAPIRoundTrip},
	{"openapi-v3-custom-keywords", openAPICustomKeywords},
}

// openAPIRoundTrip reads every document of OpenAPI v3, as Kubernetes' e2e test does, and in protobuf too.
func openAPIRoundTrip(ctx context.Context, e *env) error {
	paths, err := e.clients.Discovery().OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(paths))
	for name := range paths {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if _, err := readBothWays(paths[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return expect(len(names) > 20, "only %d documents: %v", len(names), names)
}

// openAPICustomKeywords publishes a definition with every keyword that a schema may have, and takes it away.
func openAPICustomKeywords(ctx context.Context, e *env) error {
	group := "keywords.kapstan.test"
	name := "everythings." + group
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": "everythings", "singular": "everything", "kind": "Everything", "listKind": "EverythingList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}, "scale": map[string]any{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
				"schema":       map[string]any{"openAPIV3Schema": everyKeyword()},
			}},
		},
	}}
	if _, err := e.dynamic.Resource(crds).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return err
	}
	document, path := (*spec3.OpenAPI)(nil), "apis/"+group+"/v1"
	published := func() (bool, error) {
		paths, err := e.clients.Discovery().OpenAPIV3().Paths()
		if err != nil || paths[path] == nil {
			return false, err
		}
		document, err = readBothWays(paths[path])
		return true, err
	}
	var failed error
	err := eventually(ctx, "the definition is published", func() (bool, error) {
		found, err := published()
		failed = err
		return found, err
	})
	if err := first(err, failed); err != nil {
		return err
	}
	kind := document.Components.Schemas["test.kapstan.keywords.v1.Everything"]
	if kind == nil {
		return fmt.Errorf("the kind is not among the schemas")
	}
	spec := kind.Properties["spec"]
	choice := spec.Properties["choice"]
	if err := first(
		expect(len(spec.Properties) == len(specKeywords()), "%d properties of spec, not %d", len(spec.Properties), len(specKeywords())),
		expect(spec.Properties["int"].Maximum != nil && *spec.Properties["int"].Maximum == 5, "maximum: %v", spec.Properties["int"].Maximum),
		expect(len(choice.OneOf) == 2 && len(choice.AnyOf) == 2 && len(choice.AllOf) == 1 && choice.Not != nil, "junctors: %v", choice.SchemaProps),
		expect(spec.Properties["list"].Extensions["x-kubernetes-list-type"] == "map", "extensions: %v", spec.Properties["list"].Extensions),
		e.dynamic.Resource(crds).Delete(ctx, name, metav1.DeleteOptions{}),
	); err != nil {
		return err
	}
	return eventually(ctx, "the document goes with the definition", func() (bool, error) {
		_, err := e.dynamic.Resource(crds).Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return false, err
		}
		paths, err := e.clients.Discovery().OpenAPIV3().Paths()
		return err == nil && paths[path] == nil, err
	})
}

func everyKeyword() map[string]any {
	return map[string]any{
		"type": "object", "description": "Has every keyword.", "required": []any{"spec"},
		"properties": map[string]any{
			"spec":   map[string]any{"type": "object", "properties": specKeywords(), "minProperties": int64(0), "maxProperties": int64(99)},
			"status": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		},
	}
}

func specKeywords() map[string]any {
	text := func(more map[string]any) map[string]any {
		more["type"] = "string"
		return more
	}
	item := map[string]any{"type": "object", "required": []any{"name"}, "properties": map[string]any{"name": text(map[string]any{}), "port": map[string]any{"type": "integer", "format": "int32", "default": int64(0)}}}
	return map[string]any{
		"replicas": map[string]any{"type": "integer", "format": "int32", "default": int64(1)},
		"int":      map[string]any{"type": "integer", "format": "int64", "minimum": int64(-5), "maximum": int64(5), "exclusiveMaximum": true, "exclusiveMinimum": true, "multipleOf": int64(2)},
		"number":   map[string]any{"type": "number", "format": "double", "default": 1.5, "minimum": 0.25, "example": 0.5},
		"text": text(map[string]any{"title": "A text", "description": "With \"quotes\", \n lines: and <signs>, ünï.", "minLength": int64(1), "maxLength": int64(10),
			"pattern": "^[a-z]{1,3}$", "default": "a", "example": "b", "nullable": true, "externalDocs": map[string]any{"url": "https://example.com", "description": "More."}}),
		"empty":   text(map[string]any{"default": ""}),
		"enum":    text(map[string]any{"enum": []any{"a", "b: c", "true", ""}}),
		"numbers": map[string]any{"type": "number", "enum": []any{int64(1), 2.5}},
		"flag":    map[string]any{"type": "boolean", "default": false},
		"object":  map[string]any{"type": "object", "default": map[string]any{"a": "b"}, "example": map[string]any{"a": []any{int64(1), nil}}, "additionalProperties": text(map[string]any{"default": "x"})},
		"any":     map[string]any{"type": "object", "additionalProperties": true},
		"list": map[string]any{"type": "array", "items": item, "minItems": int64(0), "maxItems": int64(9), "default": []any{},
			"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name", "port"}},
		"set":      map[string]any{"type": "array", "items": text(map[string]any{}), "x-kubernetes-list-type": "set"},
		"atom":     map[string]any{"type": "object", "x-kubernetes-map-type": "atomic", "properties": map[string]any{"a": text(map[string]any{})}},
		"either":   map[string]any{"x-kubernetes-int-or-string": true, "anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}},
		"open":     map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		"embedded": map[string]any{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
		"choice": map[string]any{"type": "object", "properties": map[string]any{"a": text(map[string]any{}), "b": text(map[string]any{})},
			"oneOf": []any{map[string]any{"required": []any{"a"}}, map[string]any{"required": []any{"b"}}},
			"anyOf": []any{map[string]any{"minProperties": int64(1)}, map[string]any{"maxProperties": int64(2)}},
			"allOf": []any{map[string]any{"properties": map[string]any{"a": map[string]any{"maxLength": int64(3)}}}},
			"not":   map[string]any{"required": []any{"a", "b"}}},
	}
}

// readBothWays reads a document as JSON, writes it and reads it again, and compares it with its protobuf form.
func readBothWays(group openapi.GroupVersion) (*spec3.OpenAPI, error) {
	text, err := group.Schema("application/json")
	if err != nil {
		return nil, err
	}
	var once, twice spec3.OpenAPI
	if err := json.Unmarshal(text, &once); err != nil {
		return nil, err
	}
	written, err := json.Marshal(&once)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(written, &twice); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(once, twice) {
		return nil, fmt.Errorf("JSON changes when it is read and written: %s", changed("", reflect.ValueOf(once), reflect.ValueOf(twice)))
	}
	packed, err := group.Schema(openAPIProtobuf)
	if err != nil {
		return nil, err
	}
	var got openapi_v3.Document
	if err := proto.Unmarshal(packed, &got); err != nil {
		return nil, fmt.Errorf("protobuf: %w", err)
	}
	want, err := openapi_v3.ParseDocument(text)
	if err != nil {
		return nil, fmt.Errorf("JSON as a message: %w", err)
	}
	sortValues(got.ProtoReflect())
	sortValues(want.ProtoReflect())
	if !proto.Equal(&got, want) {
		return nil, fmt.Errorf("protobuf is not what JSON says: %s", firstDifference([]byte(want.String()), []byte(got.String())))
	}
	return &once, nil
}

// sortValues gives every free value, which is YAML, one spelling.
func sortValues(message protoreflect.Message) {
	if value, ok := message.Interface().(*openapi_v3.Any); ok {
		var read any
		if err := yaml.Unmarshal([]byte(value.Yaml), &read); err == nil {
			spelled, _ := json.Marshal(read)
			value.Yaml = string(spelled)
		}
		return
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Kind() != protoreflect.MessageKind {
			return true
		}
		if field.IsList() {
			for i := range value.List().Len() {
				sortValues(value.List().Get(i).Message())
			}
		} else {
			sortValues(value.Message())
		}
		return true
	})
}

// changed names the first place at which two values differ; that a list is empty and not nil counts.
func changed(at string, a, b reflect.Value) string {
	if a.Kind() != b.Kind() || !a.IsValid() {
		return at
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		if a.IsNil() != b.IsNil() {
			return fmt.Sprintf("%s is nil: %v, then %v", at, a.IsNil(), b.IsNil())
		}
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		return changed(at, a.Elem(), b.Elem())
	case reflect.Map:
		for _, key := range a.MapKeys() {
			if !reflect.DeepEqual(a.MapIndex(key).Interface(), valueOrNil(b.MapIndex(key))) {
				return changed(fmt.Sprintf("%s/%v", at, key), a.MapIndex(key), b.MapIndex(key))
			}
		}
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if !reflect.DeepEqual(a.Index(i).Interface(), b.Index(i).Interface()) {
				return changed(fmt.Sprintf("%s/%d", at, i), a.Index(i), b.Index(i))
			}
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
				return changed(at+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
		}
	}
	return fmt.Sprintf("%s: %v, then %v", at, a, b)
}

func valueOrNil(value reflect.Value) any {
	if !value.IsValid() {
		return nil
	}
	return value.Interface()
}

func firstDifference(a, b []byte) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	part := func(text []byte) string {
		return strings.TrimSpace(string(text[max(0, min(at, len(text))-80):min(len(text), at+120)]))
	}
	return fmt.Sprintf("at %d: %q, not %q", at, part(b), part(a))
}
