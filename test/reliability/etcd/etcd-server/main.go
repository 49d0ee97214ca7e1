// The etcd server of the version in go.mod, as its own module builds it. Started by the tests of the folder above.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
