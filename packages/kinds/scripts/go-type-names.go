// Writes facts/gotypes.json: for each definition of schemas.json the JSON fields whose Go type is a named scalar, or a
// list or map of one: {"core.v1.PodSpec": {"restartPolicy": "v1.RestartPolicy"}}. Lists and maps that have a name of their
// own, or keys of a named type, are objects: {"hard": {"collection": "v1.ResourceList"}}; their elements may be named too.
// Go names these types in its complaints.
//
//	go run go-type-names.go $(go env GOMODCACHE)/k8s.io v0.36.3 ../facts/schemas.json > ../facts/gotypes.json
//
// then `biome format --write`; after `go mod download` of k8s.io/api, apimachinery, apiextensions-apiserver and kube-aggregator in that version.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
)

type goPackage struct {
	definition string              // "core.v1."
	name       string              // "v1"
	scalars    map[string]string   // named type → basic type
	lists      map[string]ast.Expr // named list or map → what it is
	structs    map[string]*ast.StructType
	imports    map[string]string // local name → import path
}

var basic = map[string]bool{"string": true, "bool": true, "int": true, "int32": true, "int64": true, "float64": true}
var packages = map[string]*goPackage{}

func main() {
	root, version := os.Args[1], os.Args[2]
	api := filepath.Join(root, "api@"+version)
	groups, _ := filepath.Glob(filepath.Join(api, "*", "v*"))
	for _, folder := range groups {
		parts := strings.Split(folder, "/")
		group, v := parts[len(parts)-2], parts[len(parts)-1]
		load("k8s.io/api/"+group+"/"+v, folder, group+"."+v+".")
	}
	machinery := filepath.Join(root, "apimachinery@"+version, "pkg")
	load("k8s.io/apimachinery/pkg/apis/meta/v1", filepath.Join(machinery, "apis/meta/v1"), "meta/v1.")
	load("k8s.io/apimachinery/pkg/types", filepath.Join(machinery, "types"), "")
	extensions := filepath.Join(root, "apiextensions-apiserver@"+version, "pkg/apis/apiextensions/v1")
	load("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", extensions, "crd/apiextensions.v1.")
	aggregator := filepath.Join(root, "kube-aggregator@"+version, "pkg/apis/apiregistration/v1")
	load("k8s.io/kube-aggregator/pkg/apis/apiregistration/v1", aggregator, "aggregator/apiregistration.v1.")

	var schemas struct{ Definitions map[string]any }
	text, err := os.ReadFile(os.Args[3])
	if err == nil {
		err = json.Unmarshal(text, &schemas)
	}
	if err != nil {
		panic(err)
	}
	facts := map[string]map[string]any{}
	for _, p := range packages {
		if p.definition == "" {
			continue
		}
		for name, s := range p.structs {
			fields := map[string]any{}
			collect(p, s, fields)
			if schemas.Definitions[p.definition+name] != nil && len(fields) > 0 {
				facts[p.definition+name] = fields
			}
		}
	}
	names := make([]string, 0, len(facts))
	for name := range facts {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Println("{")
	for i, name := range names {
		line, _ := json.Marshal(facts[name])
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Printf(" %q: %s%s\n", name, line, comma)
	}
	fmt.Println("}")
}

func load(path, folder, definition string) {
	files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	p := &goPackage{definition: definition, scalars: map[string]string{}, lists: map[string]ast.Expr{}, structs: map[string]*ast.StructType{}, imports: map[string]string{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "zz_generated") || strings.Contains(file, "generated.pb") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			panic(err)
		}
		p.name = tree.Name.Name
		for _, spec := range tree.Imports {
			target := strings.Trim(spec.Path.Value, `"`)
			local := filepath.Base(target)
			if spec.Name != nil {
				local = spec.Name.Name
			}
			p.imports[local] = target
		}
		ast.Inspect(tree, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			switch t := spec.Type.(type) {
			case *ast.Ident:
				if basic[t.Name] {
					p.scalars[spec.Name.Name] = t.Name
				}
			case *ast.ArrayType, *ast.MapType:
				p.lists[spec.Name.Name] = t
			case *ast.StructType:
				p.structs[spec.Name.Name] = t
			}
			return true
		})
	}
	packages[path] = p
}

// Fields of embedded structs stand in the JSON of the outer one.
func collect(p *goPackage, s *ast.StructType, into map[string]any) {
	for _, field := range s.Fields.List {
		tag := ""
		if field.Tag != nil {
			tag = reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" && (len(field.Names) == 0 || strings.Contains(options, "inline")) {
			if inner, owner := structOf(p, field.Type); inner != nil {
				collect(owner, inner, into)
			}
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		if fact := factOf(p, field.Type); fact != nil {
			into[name] = fact
		}
	}
}

func structOf(p *goPackage, e ast.Expr) (*ast.StructType, *goPackage) {
	switch t := e.(type) {
	case *ast.Ident:
		return p.structs[t.Name], p
	case *ast.SelectorExpr:
		if owner := packages[p.imports[t.X.(*ast.Ident).Name]]; owner != nil {
			return owner.structs[t.Sel.Name], owner
		}
	}
	return nil, nil
}

// A string names a scalar, here or inside lists and maps; an object names a list or map, or what is in it.
func factOf(p *goPackage, e ast.Expr) any {
	switch t := e.(type) {
	case *ast.StarExpr:
		return factOf(p, t.X)
	case *ast.ArrayType:
		return elementsOf(factOf(p, t.Elt))
	case *ast.MapType:
		if typeName(p, t.Key) != "string" {
			return collection(typeName(p, e), factOf(p, t.Value))
		}
		return elementsOf(factOf(p, t.Value))
	case *ast.Ident, *ast.SelectorExpr:
		owner, name := named(p, e)
		if owner == nil {
			return nil
		}
		if owner.scalars[name] != "" {
			return owner.name + "." + name
		}
		switch inner := owner.lists[name].(type) {
		case *ast.ArrayType:
			return collection(owner.name+"."+name, factOf(owner, inner.Elt))
		case *ast.MapType:
			return collection(owner.name+"."+name, factOf(owner, inner.Value))
		}
	}
	return nil
}

func elementsOf(fact any) any {
	if object, ok := fact.(map[string]any); ok {
		return map[string]any{"elements": object}
	}
	return fact
}

func collection(name string, elements any) any {
	if elements == nil {
		return map[string]any{"collection": name}
	}
	return map[string]any{"collection": name, "elements": elements}
}

func named(p *goPackage, e ast.Expr) (*goPackage, string) {
	switch t := e.(type) {
	case *ast.Ident:
		return p, t.Name
	case *ast.SelectorExpr:
		return packages[p.imports[t.X.(*ast.Ident).Name]], t.Sel.Name
	}
	return nil, ""
}

// As Go's reflection prints it.
func typeName(p *goPackage, e ast.Expr) string {
	switch t := e.(type) {
	case *ast.MapType:
		return "map[" + typeName(p, t.Key) + "]" + typeName(p, t.Value)
	case *ast.ArrayType:
		return "[]" + typeName(p, t.Elt)
	case *ast.StarExpr:
		return "*" + typeName(p, t.X)
	case *ast.Ident:
		if basic[t.Name] {
			return t.Name
		}
		return p.name + "." + t.Name
	case *ast.SelectorExpr:
		if owner, name := named(p, e); owner != nil {
			return owner.name + "." + name
		}
		return t.X.(*ast.Ident).Name + "." + t.Sel.Name
	}
	panic(e)
}
