package main

import (
	"bufio"
	"encoding/json"
	"log"
	"math/rand"
	"sort"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"
)

type sample struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// The object as a client sends it.
	Sent json.RawMessage `json:"sent"`
	// The bytes stored for it.
	Value []byte `json:"value"`
	// The object read from those bytes.
	Read json.RawMessage `json:"read"`
}

// The same seeds give the same objects, so that a failure can be looked at again.
func writeSamples(out *bufio.Writer, count int) {
	codecs := serializer.NewCodecFactory(scheme)
	for _, kind := range storedKinds() {
		for seed := 0; seed < count; seed++ {
			filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, schemaFuncs), rand.NewSource(int64(seed)), codecs)
			printLine(out, sampleOf(kind, func(object runtime.Object) { filler.Fill(object) }))
		}
	}
}

// Schemas hold schemas; these have one level of them, and JSON of every sort.
func schemaFuncs(serializer.CodecFactory) []any {
	text := func(c randfill.Continue) apiextensionsv1.JSON {
		all := []string{`null`, `1`, `-1.5`, `"a<b"`, `["x",{}]`, `{"k":true}`}
		return apiextensionsv1.JSON{Raw: []byte(all[c.Intn(len(all))])}
	}
	leaf := func(c randfill.Continue) *apiextensionsv1.JSONSchemaProps {
		value := text(c)
		return &apiextensionsv1.JSONSchemaProps{Type: c.String(0), MaxLength: new(c.Int63()), Default: &value, Enum: []apiextensionsv1.JSON{value}}
	}
	return []any{
		func(schema *apiextensionsv1.JSONSchemaProps, c randfill.Continue) {
			*schema = *leaf(c)
			schema.Maximum = new(c.Float64())
			schema.UniqueItems = c.Bool()
			schema.XIntOrString = c.Bool()
			schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{c.String(0): *leaf(c), c.String(0): *leaf(c)}
			schema.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: c.Bool()}
			schema.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: leaf(c)}
			if c.Bool() {
				schema.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: leaf(c)}
				schema.Items = &apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{*leaf(c), *leaf(c)}}
			}
			schema.Dependencies = apiextensionsv1.JSONSchemaDependencies{"d": {Schema: leaf(c)}, "e": {Property: []string{c.String(0)}}}
			schema.ExternalDocs = &apiextensionsv1.ExternalDocumentation{URL: c.String(0)}
			c.Fill(&schema.XValidations)
		},
		func(schema *apiextensionsv1beta1.JSONSchemaProps, c randfill.Continue) {
			*schema = apiextensionsv1beta1.JSONSchemaProps{Type: c.String(0)}
		},
	}
}

func sampleOf(kind schema.GroupVersionKind, fill func(runtime.Object)) sample {
	random, err := scheme.New(kind)
	if err != nil {
		log.Fatal(err)
	}
	fill(random)
	sent := encode(jsonFormat, kind, random)
	received, _, err := jsonFormat.Decode(sent, &kind, nil)
	if err != nil {
		log.Fatalf("%v: %v: %s", kind, err, sent)
	}
	if meta, ok := received.(metav1.Object); ok {
		meta.SetResourceVersion("")
		meta.SetSelfLink("")
	}
	value := encode(protobufFormat, kind, received)
	read, _, err := protobufFormat.Decode(value, &kind, nil)
	if err != nil {
		log.Fatalf("%v: %v", kind, err)
	}
	return sample{
		APIVersion: kind.GroupVersion().String(),
		Kind:       kind.Kind,
		Sent:       encode(jsonFormat, kind, received),
		Value:      value,
		Read:       encode(jsonFormat, kind, read),
	}
}

// Kinds with metadata: what could be in etcd.
func storedKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for kind := range scheme.AllKnownTypes() {
		object, err := scheme.New(kind)
		if err != nil {
			log.Fatal(err)
		}
		if _, hasMeta := object.(metav1.Object); hasMeta && kind.Version != runtime.APIVersionInternal {
			kinds = append(kinds, kind)
		}
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	return kinds
}
