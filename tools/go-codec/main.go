// Command go-codec asks Kubernetes' own Go code. It reads one case a line from standard input and writes one answer a
// line, "OK ..." or "ERR ...". The first argument says what is asked:
//
//	codec     group/version/Kind TAB json            strict decoding, then encoding, keys sorted
//	quantity  json string                            canonical text, value, milli value
//	yaml      json string                            YAML to JSON
//	print     json                                   JSON to YAML, as a json string
//	strategic gvk TAB original TAB patch             strategic merge
//	threeway  gvk TAB original TAB modified TAB current    the patch of kubectl apply
//	json      document TAB patch                     JSON patch
//	apply     gvk TAB json list of steps             managed fields: {op, manager, force, object}
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	ujson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	applyconfigurations "k8s.io/client-go/applyconfigurations"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/yaml"
)

var scheme = runtime.NewScheme()
var serializer *kjson.Serializer

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme,
		coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme,
		flowcontrolv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme,
		rbacv1.AddToScheme, resourcev1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
		apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	serializer = kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{Strict: true})
}

func kind(s string) schema.GroupVersionKind {
	p := strings.Split(s, "/")
	gvk := schema.GroupVersionKind{Kind: p[len(p)-1], Version: p[len(p)-2]}
	if len(p) == 3 {
		gvk.Group = p[0]
	}
	return gvk
}

// sorted is JSON with keys sorted, as kubectl prints.
func sorted(b []byte) (string, error) {
	var v any
	if err := ujson.Unmarshal(b, &v); err != nil {
		return "", err
	}
	out, err := json.Marshal(v)
	return string(out), err
}

func codec(c []string) (string, error) {
	gvk := kind(c[0])
	obj, _, err := serializer.Decode([]byte(c[1]), &gvk, nil)
	if err != nil {
		return "", err
	}
	var sb strings.Builder
	if err := serializer.Encode(obj, &sb); err != nil {
		return "", err
	}
	return sorted([]byte(sb.String()))
}

func text(c string) string {
	var s string
	if err := json.Unmarshal([]byte(c), &s); err != nil {
		panic(err)
	}
	return s
}

func quantity(c []string) (string, error) {
	q, err := resource.ParseQuantity(text(c[0]))
	if err != nil {
		return "", err
	}
	kept := q.String()
	sum := q.DeepCopy()
	sum.Add(resource.MustParse("1500m"))
	less := q.DeepCopy()
	less.Sub(resource.MustParse("1Ki"))
	return fmt.Sprintf("%s %d %d %s %s %d", kept, q.Value(), q.MilliValue(), sum.String(), less.String(), q.Cmp(resource.MustParse("1"))), nil
}

func strategic(c []string) (string, error) {
	obj, err := scheme.New(kind(c[0]))
	if err != nil {
		return "", err
	}
	out, err := strategicpatch.StrategicMergePatch([]byte(c[1]), []byte(c[2]), obj)
	if err != nil {
		return "", err
	}
	return sorted(out)
}

func threeway(c []string) (string, error) {
	obj, err := scheme.New(kind(c[0]))
	if err != nil {
		return "", err
	}
	m, err := strategicpatch.NewPatchMetaFromStruct(obj)
	if err != nil {
		return "", err
	}
	out, err := strategicpatch.CreateThreeWayMergePatch([]byte(c[1]), []byte(c[2]), []byte(c[3]), m, true)
	if err != nil {
		return "", err
	}
	return sorted(out)
}

func jsonPatch(c []string) (string, error) {
	p, err := jsonpatch.DecodePatch([]byte(c[1]))
	if err != nil {
		return "", err
	}
	out, err := p.Apply([]byte(c[0]))
	if err != nil {
		return "", err
	}
	return sorted(out)
}

type step struct {
	Op      string
	Manager string
	Force   bool
	Object  json.RawMessage
}

// apply plays steps against one object and gives the object with its managed fields, times left out, after each.
func apply(c []string) (string, error) {
	gvk := kind(c[0])
	fm, err := managedfields.NewDefaultFieldManager(applyconfigurations.NewTypeConverter(scheme), runtime.UnsafeObjectConvertor(scheme), noDefaults{}, scheme, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return "", err
	}
	var steps []step
	if err := json.Unmarshal([]byte(c[1]), &steps); err != nil {
		return "", err
	}
	live, err := scheme.New(gvk)
	if err != nil {
		return "", err
	}
	live.GetObjectKind().SetGroupVersionKind(gvk)
	var answers []string
	for _, s := range steps {
		var next runtime.Object
		var err error
		if s.Op == "apply" {
			u := &unstructured.Unstructured{}
			if err := ujson.Unmarshal(s.Object, &u.Object); err != nil {
				return "", err
			}
			next, err = fm.Apply(live.DeepCopyObject(), u, s.Manager, s.Force)
		} else {
			next, _, err = serializer.Decode(s.Object, &gvk, nil)
			if err == nil {
				next, err = fm.Update(live.DeepCopyObject(), next, s.Manager)
			}
		}
		if err != nil {
			answers = append(answers, "error: "+err.Error())
			continue
		}
		live = next
		live.GetObjectKind().SetGroupVersionKind(gvk)
		a, err := meta.Accessor(live)
		if err != nil {
			return "", err
		}
		a.SetUID("u")
		shown := live.DeepCopyObject()
		b, _ := meta.Accessor(shown)
		fields := b.GetManagedFields()
		for i := range fields {
			fields[i].Time = nil
		}
		b.SetManagedFields(fields)
		j, err := json.Marshal(shown)
		if err != nil {
			return "", err
		}
		t, err := sorted(j)
		if err != nil {
			return "", err
		}
		answers = append(answers, t)
	}
	out, err := json.Marshal(answers)
	return string(out), err
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

// guarded turns a panic into an answer: some of these functions panic on odd documents, and the API server recovers.
func guarded(ask func([]string) (string, error), c []string) (answer string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("PANIC")
		}
	}()
	return ask(c)
}

func main() {
	ask := map[string]func([]string) (string, error){
		"codec": codec, "quantity": quantity, "strategic": strategic, "threeway": threeway, "json": jsonPatch, "apply": apply,
		"yaml": func(c []string) (string, error) {
			j, err := yaml.YAMLToJSON([]byte(text(c[0])))
			if err != nil {
				return "", err
			}
			return sorted(j)
		},
		"print": func(c []string) (string, error) {
			y, err := yaml.JSONToYAML([]byte(c[0]))
			if err != nil {
				return "", err
			}
			j, err := json.Marshal(string(y))
			return string(j), err
		},
	}[os.Args[1]]
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		answer, err := guarded(ask, strings.Split(in.Text(), "\t"))
		if err != nil {
			e, _ := json.Marshal(err.Error())
			fmt.Fprintln(out, "ERR "+string(e))
			continue
		}
		fmt.Fprintln(out, "OK "+answer)
	}
}
