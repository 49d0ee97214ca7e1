module kapstan.test/cel/differential

go 1.26

require (
	github.com/google/cel-go v0.26.0
	k8s.io/apiserver v0.36.3
)
