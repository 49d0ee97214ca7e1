// Command informer-twin runs a shared informer of client-go on the ConfigMaps of one namespace, and prints what its handler is
// told, a line each: "synced", "add NAME VERSION", "update NAME VERSION", "delete NAME VERSION", "tombstone NAME VERSION".
// Updates that change nothing (a relist found the same) are left out. Each line "dump" that it reads is answered by its cache:
// "cache NAME=VERSION ...". ../informer-twin.test.ts holds the informers of this repository against it.
//
//	go run . -server URL -token TOKEN -namespace NAMESPACE
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var (
	output = bufio.NewWriter(os.Stdout)
	lock   sync.Mutex
)

func say(words ...string) {
	lock.Lock()
	defer lock.Unlock()
	fmt.Fprintln(output, strings.Join(words, " "))
	output.Flush()
}

func tell(what string, m *corev1.ConfigMap) { say(what, m.Name, m.ResourceVersion) }

func main() {
	server := flag.String("server", "", "address of the server")
	token := flag.String("token", "", "bearer token")
	namespace := flag.String("namespace", "default", "namespace to look at")
	flag.Parse()
	config := &rest.Config{Host: *server, BearerToken: *token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0, informers.WithNamespace(*namespace))
	maps := factory.Core().V1().ConfigMaps()
	registration, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { tell("add", object.(*corev1.ConfigMap)) },
		UpdateFunc: func(before, object any) {
			after := object.(*corev1.ConfigMap)
			if before.(*corev1.ConfigMap).ResourceVersion != after.ResourceVersion {
				tell("update", after)
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				tell("tombstone", unknown.Obj.(*corev1.ConfigMap))
				return
			}
			tell("delete", object.(*corev1.ConfigMap))
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		say("synced")
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		objects, _ := maps.Lister().ConfigMaps(*namespace).List(labels.Everything())
		words := []string{}
		for _, object := range objects {
			words = append(words, object.Name+"="+object.ResourceVersion)
		}
		sort.Strings(words)
		say(append([]string{"cache"}, words...)...)
	}
}
