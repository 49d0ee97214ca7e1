// Writes facts/internaltypes.json: the structs of Kubernetes' internal types, which error texts show as JSON, each with its
// fields in order: "name in this JSON, name in the API, type, flags". Flags: p pointer, l list, m map, o omitted when
// empty, u a member of the parent in the API. "+ metadata meta.ObjectMeta" spreads the fields of a struct.
//
//	go mod init internaltypes, require k8s.io/kubernetes v1.36.3 and the staging modules of v0.36.3, then
//	go run internal-types.go ../facts/internaltypes.json, then biome format --write
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resv1 "k8s.io/api/resource/v1"
	storv1 "k8s.io/api/storage/v1"
	asv2 "k8s.io/api/autoscaling/v2"
	certsv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	certs "k8s.io/kubernetes/pkg/apis/certificates"
	apps "k8s.io/kubernetes/pkg/apis/apps"
	as "k8s.io/kubernetes/pkg/apis/autoscaling"
	batch "k8s.io/kubernetes/pkg/apis/batch"
	core "k8s.io/kubernetes/pkg/apis/core"
	net "k8s.io/kubernetes/pkg/apis/networking"
	node "k8s.io/kubernetes/pkg/apis/node"
	policy "k8s.io/kubernetes/pkg/apis/policy"
	rbac "k8s.io/kubernetes/pkg/apis/rbac"
	res "k8s.io/kubernetes/pkg/apis/resource"
	stor "k8s.io/kubernetes/pkg/apis/storage"
)

var out = map[string][]string{}

func key(t reflect.Type) string {
	p := strings.Split(t.PkgPath(), "/")
	last := p[len(p)-1]
	if strings.Contains(t.PkgPath(), "apimachinery") {
		last = "meta"
	}
	return last + "." + t.Name()
}
func scalar(t reflect.Type) string {
	switch t.PkgPath() + "." + t.Name() {
	case "k8s.io/apimachinery/pkg/api/resource.Quantity":
		return "quantity"
	case "k8s.io/apimachinery/pkg/util/intstr.IntOrString":
		return "intOrString"
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Time", "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":
		return "time"
	case "k8s.io/apimachinery/pkg/runtime.RawExtension", "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1", "k8s.io/apimachinery/pkg/apis/meta/v1.Duration":
		return "raw"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Int16:
		return "int"
	case reflect.Interface:
		return "raw"
	}
	return ""
}
func unwrap(t reflect.Type) (reflect.Type, string) {
	fl := ""
	for {
		switch {
		case t.Kind() == reflect.Ptr:
			fl += "p"
			t = t.Elem()
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
			return nil, fl + "b"
		case t.Kind() == reflect.Slice && scalar(t) == "":
			fl += "l"
			t = t.Elem()
		case t.Kind() == reflect.Map:
			fl += "m"
			t = t.Elem()
		default:
			return t, fl
		}
	}
}
func tag(f reflect.StructField) (string, string) {
	parts := strings.Split(f.Tag.Get("json"), ",")
	return parts[0], strings.Join(parts[1:], ",")
}
func walk(in, v1 reflect.Type) {
	k := key(in)
	if _, ok := out[k]; ok {
		return
	}
	out[k] = []string{}
	out[k] = rows(in, v1, v1)
}
func rows(in, v1, owner reflect.Type) []string {
	var r []string
	for i := 0; i < in.NumField(); i++ {
		f := in.Field(i)
		if f.PkgPath != "" && !f.Anonymous {
			continue
		}
		name, opts := tag(f)
		if name == "-" {
			continue
		}
		if f.Type.Name() == "TypeMeta" && f.Anonymous { 
			r = append(r, rows(f.Type, f.Type, owner)...)
			continue
		}
		vf, ok := v1.FieldByName(f.Name)
		up := ""
		if !ok {
			fmt.Fprintln(os.Stderr, "no field", in, f.Name)
			if in.Name() == "PodSecurityContext" { up = "u"; vf, _ = reflect.TypeOf(corev1.PodSpec{}).FieldByName(f.Name) } else { continue }
		}
		vname, _ := tag(vf)
		if f.Anonymous && name == "" {
			if vname == "" {
				r = append(r, rows(f.Type, vf.Type, owner)...)
				continue
			}
			walk(f.Type, vf.Type)
			r = append(r, "+ "+vname+" "+key(f.Type))
			continue
		}
		outName := name
		if outName == "" {
			outName = f.Name
		}
		t, fl := unwrap(f.Type)
		vt, _ := unwrap(vf.Type)
		ty := "bytes"
		if t != nil {
			ty = scalar(t)
			if ty == "" {
				ty = key(t)
				walk(t, vt)
			}
		}
		fl = strings.ReplaceAll(fl, "b", "")
		if strings.Contains(opts, "omitempty") || strings.Contains(opts, "omitzero") {
			fl += "o"
		}
		fl += up
		s := outName + " " + vname + " " + ty
		if fl != "" {
			s += " " + fl
		}
		r = append(r, s)
	}
	return r
}
func main() {
	pair := func(a, b any) { walk(reflect.TypeOf(a), reflect.TypeOf(b)) }
	pair(core.PodTemplateSpec{}, corev1.PodTemplateSpec{})
	pair(core.PersistentVolumeSpec{}, corev1.PersistentVolumeSpec{})
	pair(core.PersistentVolumeClaimSpec{}, corev1.PersistentVolumeClaimSpec{})
	pair(core.PersistentVolumeSource{}, corev1.PersistentVolumeSource{})
	pair(core.ObjectReference{}, corev1.ObjectReference{})
	pair(core.EventSource{}, corev1.EventSource{})
	pair(core.ServicePort{}, corev1.ServicePort{})
	pair(core.ScopeSelector{}, corev1.ScopeSelector{})
	pair(core.Taint{}, corev1.Taint{})
	pair(apps.DaemonSetUpdateStrategy{}, appsv1.DaemonSetUpdateStrategy{})
	pair(apps.DeploymentStrategy{}, appsv1.DeploymentStrategy{})
	pair(apps.StatefulSetUpdateStrategy{}, appsv1.StatefulSetUpdateStrategy{})
	pair(batch.JobSpec{}, batchv1.JobSpec{})
	pair(net.ParentReference{}, netv1.ParentReference{})
	pair(net.IngressSpec{}, netv1.IngressSpec{})
	pair(net.NetworkPolicySpec{}, netv1.NetworkPolicySpec{})
	pair(node.Scheduling{}, nodev1.Scheduling{})
	pair(policy.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetSpec{})
	pair(res.ResourceClaimSpec{}, resv1.ResourceClaimSpec{})
	pair(res.ResourceClaimStatus{}, resv1.ResourceClaimStatus{})
	pair(res.ResourceClaimTemplateSpec{}, resv1.ResourceClaimTemplateSpec{})
	pair(res.ResourceSliceSpec{}, resv1.ResourceSliceSpec{})
	pair(res.DeviceClassSpec{}, resv1.DeviceClassSpec{})
	pair(stor.TokenRequest{}, storv1.TokenRequest{})
	pair(stor.VolumeAttachmentSpec{}, storv1.VolumeAttachmentSpec{})
	pair(as.HorizontalPodAutoscalerSpec{}, asv2.HorizontalPodAutoscalerSpec{})
	pair(certs.CertificateSigningRequestStatus{}, certsv1.CertificateSigningRequestStatus{})
	pair(certs.CertificateSigningRequestSpec{}, certsv1.CertificateSigningRequestSpec{})
	pair(rbac.RoleRef{}, rbacv1.RoleRef{})
	b, _ := json.MarshalIndent(out, "", " ")
	os.WriteFile(os.Args[1], b, 0644)
}
