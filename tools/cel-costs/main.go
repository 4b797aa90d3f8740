// Prints what expressions cost by Kubernetes' own packages: the expression, the estimate for selectors of devices, and
// the cost for an object or a device. The first column of a file gives the expressions:
//
//	go run . ../../src/api/cel/testdata/costs.tsv ../../src/api/cel/testdata/costs-object.json
//
// An expression whose cost depends on the order of a map's keys does not belong into that file.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/cel-go/cel"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	json "k8s.io/apimachinery/pkg/util/json"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

type acc struct{ e string }

func (a acc) GetExpression() string    { return a.e }
func (a acc) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

func p[T any](v T) *T { return &v }

func main() {
	var object, params any
	text, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	if err != nil {
		panic(err)
	}
	params = map[string]any{"data": map[string]any{"max": "3", "names": "a,b,c"}}
	request := map[string]any{"name": "web", "namespace": "default", "operation": "CREATE", "userInfo": map[string]any{"username": "kubernetes-admin", "groups": []any{"system:authenticated", "admins"}}, "dryRun": false}
	namespace := map[string]any{"metadata": map[string]any{"name": "default", "labels": map[string]any{"kubernetes.io/metadata.name": "default"}}}
	f, _ := os.Open(os.Args[1])
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 1<<20), 1<<20)
	compiler := plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	dra := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: false})
	device := dracel.Device{
		Driver:                   "gpu.example.com",
		AllowMultipleAllocations: p(true),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"model":               {StringValue: p("a100-sxm4-80gb")},
			"index":               {IntValue: p(int64(3))},
			"healthy":             {BoolValue: p(true)},
			"driverVersion":       {VersionValue: p("1.12.3")},
			"other.example.com/x": {StringValue: p("y")},
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: resource.MustParse("80Gi")},
			"cores":  {Value: resource.MustParse("108")},
		},
	}
	for sc.Scan() {
		line, _, _ := strings.Cut(sc.Text(), "\t")
		if strings.Contains(line, "device.") {
			r := dra.CompileCELExpression(line, dracel.Options{EnvType: p(environment.NewExpressions)})
			if r.Error != nil {
				panic(line + ": " + r.Error.Error())
			}
			_, d, _ := r.DeviceMatches(context.Background(), device)
			fmt.Printf("%s\t%d\t%d\n", line, r.MaxCost, cost(d))
			continue
		}
		r := compiler.CompileCELExpression(acc{line}, plugincel.OptionalVariableDeclarations{HasParams: true}, environment.StoredExpressions)
		if r.Error != nil {
			panic(line + ": " + r.Error.Error())
		}
		values := map[string]any{
			"object": object, "oldObject": nil, "params": params, "request": request, "namespaceObject": namespace,
		}
		_, d, _ := r.Program.ContextEval(context.Background(), values)
		fmt.Printf("%s\t-\t%d\n", line, cost(d))
	}
}

func cost(details *cel.EvalDetails) uint64 {
	if details == nil || details.ActualCost() == nil {
		return 0
	}
	return *details.ActualCost()
}
