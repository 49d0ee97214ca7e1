// Values of etcd as Kubernetes' own Go types read and write them. One mode a run:
//
//	samples N   random objects of every built-in kind, N of each: a line of JSON has the object as a client would send
//	            it, its stored value, and the JSON of what is read from that value
//	check       reads lines {"key", "value"} and says of each whether Go would have written the same bytes
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var scheme = runtime.NewScheme()

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		apiextensionsv1beta1.AddToScheme,
		apiregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			log.Fatal(err)
		}
	}
}

var (
	protobufFormat = protobuf.NewSerializer(scheme, scheme)
	jsonFormat     = kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{})
	anyFormat      = serializer.NewCodecFactory(scheme).UniversalDeserializer()
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch {
	case len(os.Args) == 3 && os.Args[1] == "samples":
		count, err := strconv.Atoi(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		writeSamples(out, count)
	case len(os.Args) == 2 && os.Args[1] == "check":
		checkValues(out)
	default:
		log.Fatal("usage: etcdvalues samples N | check")
	}
}

type storedValue struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

type verdict struct {
	Key string `json:"key"`
	// Empty when the bytes are those that Go writes.
	Problem string          `json:"problem,omitempty"`
	Object  json.RawMessage `json:"object,omitempty"`
}

func checkValues(out *bufio.Writer) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var stored storedValue
		if err := json.Unmarshal(in.Bytes(), &stored); err != nil {
			log.Fatal(err)
		}
		printLine(out, check(stored))
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
}

func check(stored storedValue) verdict {
	object, kind, err := anyFormat.Decode(stored.Value, nil, nil)
	if err != nil {
		return verdict{Key: stored.Key, Problem: err.Error()}
	}
	var format runtime.Encoder = jsonFormat
	if bytes.HasPrefix(stored.Value, []byte("k8s\x00")) {
		format = protobufFormat
	}
	again := encode(format, *kind, object)
	text := encode(jsonFormat, *kind, object)
	if format == runtime.Encoder(jsonFormat) {
		return verdict{Key: stored.Key, Object: text, Problem: differenceAsJSON(stored.Value, again)}
	}
	if !bytes.Equal(again, stored.Value) {
		return verdict{Key: stored.Key, Object: text, Problem: fmt.Sprintf("%d bytes, Go writes %d: %x", len(stored.Value), len(again), again)}
	}
	return verdict{Key: stored.Key, Object: text}
}

// JSON in etcd is read by name, so the order of members is free.
func differenceAsJSON(a, b []byte) string {
	sorted := func(data []byte) string {
		var value any
		if err := json.Unmarshal(data, &value); err != nil {
			return err.Error()
		}
		text, _ := json.Marshal(value)
		return string(text)
	}
	if one, other := sorted(a), sorted(b); one != other {
		return fmt.Sprintf("%s, Go writes %s", one, other)
	}
	return ""
}

func encode(format runtime.Encoder, kind schema.GroupVersionKind, object runtime.Object) []byte {
	object.GetObjectKind().SetGroupVersionKind(kind)
	var data bytes.Buffer
	if err := format.Encode(object, &data); err != nil {
		log.Fatalf("%v: %v", kind, err)
	}
	return data.Bytes()
}

func printLine(out *bufio.Writer, value any) {
	line, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(out, "%s\n", line)
}
