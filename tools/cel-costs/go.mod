module celcosts

go 1.26

require (
	github.com/google/cel-go v0.29.2
	k8s.io/api v0.37.2
	k8s.io/apimachinery v0.37.2
	k8s.io/apiserver v0.37.2
	k8s.io/dynamic-resource-allocation v0.37.2
)
