// Evaluates expressions as Kubernetes does: one question of JSON a line on standard input, one answer a line on standard output,
// in the form of packages/cel/fixtures/expressions. Run by run.mjs.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type variable struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

type question struct {
	Expr string              `json:"expr"`
	Vars map[string]variable `json:"vars"`
}

type object = map[string]any

func main() {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		reply := object{}
		if len(os.Args) > 1 {
			reply = measured(base, asked, must(strconv.Atoi(os.Args[1])))
		} else {
			reply = answer(base, asked)
		}
		if err := encoder.Encode(reply); err != nil {
			panic(err)
		}
	}
}

// The library itself crashes for a few expressions; there is nothing to compare with then.
func answer(base *cel.Env, asked question) (result object) {
	defer func() {
		if crash := recover(); crash != nil {
			result = object{"crash": fmt.Sprint(crash)}
		}
	}()
	options := []cel.EnvOption{}
	activation := map[string]any{}
	for name, given := range asked.Vars {
		options = append(options, cel.Variable(name, typeOf(given.Type)))
		if given.Value != nil {
			activation[name] = valueOf(given.Type, given.Value)
		}
	}
	env, err := base.Extend(options...)
	if err != nil {
		panic(err)
	}
	ast, issues := env.Compile(asked.Expr)
	if issues.Err() != nil {
		return object{"compileError": issues.String()}
	}
	result = object{"type": ast.OutputType().String()}
	if estimate, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: noSizes{}}); err == nil {
		result["estimate"] = object{"min": strconv.FormatUint(estimate.Min, 10), "max": strconv.FormatUint(estimate.Max, 10)}
	}
	program, err := env.Program(ast, cel.CostLimit(1_000_000), cel.CostTracking(&library.CostEstimator{}), cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost))
	if err != nil {
		result["programError"] = err.Error()
		return result
	}
	value, details, err := program.Eval(activation)
	if details != nil && details.ActualCost() != nil {
		result["cost"] = strconv.FormatUint(*details.ActualCost(), 10)
	}
	if err != nil {
		result["error"] = err.Error()
		return result
	}
	result["result"] = shown(value)
	return result
}

// Times so many evaluations and some compilations: bench/cel.mjs.
func measured(base *cel.Env, asked question, rounds int) object {
	options := []cel.EnvOption{}
	activation := map[string]any{}
	for name, given := range asked.Vars {
		options = append(options, cel.Variable(name, typeOf(given.Type)))
		activation[name] = valueOf(given.Type, given.Value)
	}
	env := must(base.Extend(options...))
	compile := func() cel.Program {
		ast, issues := env.Compile(asked.Expr)
		if issues.Err() != nil {
			panic(issues.Err())
		}
		return must(env.Program(ast, cel.CostLimit(1_000_000), cel.CostTracking(&library.CostEstimator{}), cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost)))
	}
	program := compile()
	start := time.Now()
	for i := 0; i < rounds; i++ {
		if _, _, err := program.Eval(activation); err != nil {
			panic(err)
		}
	}
	evaluated := time.Since(start)
	compilations := rounds/1000 + 1
	start = time.Now()
	for i := 0; i < compilations; i++ {
		compile()
	}
	compiled := time.Since(start)
	return object{
		"evaluateNs": float64(evaluated.Nanoseconds()) / float64(rounds),
		"compileUs":  float64(compiled.Microseconds()) / float64(compilations),
	}
}

type noSizes struct{}

func (noSizes) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }
func (noSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

func inner(text string) (string, string) {
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return text, ""
	}
	return text[:open], text[open+1 : len(text)-1]
}

func typeOf(text string) *cel.Type {
	name, parameters := inner(strings.TrimSpace(text))
	switch name {
	case "int":
		return cel.IntType
	case "uint":
		return cel.UintType
	case "double":
		return cel.DoubleType
	case "bool":
		return cel.BoolType
	case "string":
		return cel.StringType
	case "bytes":
		return cel.BytesType
	case "timestamp":
		return cel.TimestampType
	case "duration":
		return cel.DurationType
	case "list":
		return cel.ListType(typeOf(parameters))
	case "optional":
		return cel.OptionalType(typeOf(parameters))
	case "map":
		key, value, _ := strings.Cut(parameters, ",")
		return cel.MapType(typeOf(key), typeOf(value))
	}
	return cel.DynType
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func text(raw json.RawMessage) string {
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return fmt.Sprint(value)
}

func valueOf(kind string, raw json.RawMessage) ref.Val {
	name, parameters := inner(strings.TrimSpace(kind))
	switch name {
	case "int":
		return types.Int(must(strconv.ParseInt(text(raw), 10, 64)))
	case "uint":
		return types.Uint(must(strconv.ParseUint(text(raw), 10, 64)))
	case "double":
		return types.Double(must(strconv.ParseFloat(text(raw), 64)))
	case "bool":
		return types.Bool(text(raw) == "true")
	case "string":
		return types.String(text(raw))
	case "bytes":
		return types.Bytes(must(base64.StdEncoding.DecodeString(text(raw))))
	case "timestamp":
		return types.Timestamp{Time: must(time.Parse(time.RFC3339, text(raw)))}
	case "duration":
		return types.Duration{Duration: must(time.ParseDuration(text(raw)))}
	case "list":
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			panic(err)
		}
		values := make([]ref.Val, len(items))
		for i, item := range items {
			values[i] = valueOf(parameters, item)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, values)
	case "map":
		key, value, _ := strings.Cut(parameters, ",")
		var entries map[string]json.RawMessage
		if err := json.Unmarshal(raw, &entries); err != nil {
			panic(err)
		}
		values := map[ref.Val]ref.Val{}
		for name, entry := range entries {
			quoted := must(json.Marshal(name))
			values[valueOf(key, quoted)] = valueOf(value, entry)
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, values)
	case "optional":
		if string(raw) == "null" {
			return types.OptionalNone
		}
		return types.OptionalOf(valueOf(parameters, raw))
	}
	return types.DefaultTypeAdapter.NativeToValue(dynamic(raw))
}

func dynamic(raw json.RawMessage) any {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return plain(value)
}

func plain(value any) any {
	switch typed := value.(type) {
	case json.Number:
		if whole, err := typed.Int64(); err == nil {
			return whole
		}
		return must(typed.Float64())
	case []any:
		for i, item := range typed {
			typed[i] = plain(item)
		}
		return typed
	case map[string]any:
		for key, item := range typed {
			typed[key] = plain(item)
		}
		return typed
	}
	return value
}

func shown(value ref.Val) object {
	switch typed := value.(type) {
	case types.Int:
		return object{"int": strconv.FormatInt(int64(typed), 10)}
	case types.Uint:
		return object{"uint": strconv.FormatUint(uint64(typed), 10)}
	case types.Double:
		return object{"double": double(float64(typed))}
	case types.Bool:
		return object{"bool": bool(typed)}
	case types.String:
		return object{"string": string(typed)}
	case types.Bytes:
		return object{"bytes": base64.StdEncoding.EncodeToString(typed)}
	case types.Null:
		return object{"null": nil}
	case types.Timestamp:
		return object{"timestamp": typed.UTC().Format(time.RFC3339Nano)}
	case types.Duration:
		return object{"duration": strconv.FormatInt(int64(typed.Duration), 10)}
	case *types.Type:
		return object{"type": typed.TypeName()}
	case *types.Optional:
		if !typed.HasValue() {
			return object{"optional": nil}
		}
		return object{"optional": shown(typed.GetValue())}
	case apiservercel.IP:
		return object{"ip": typed.String()}
	case apiservercel.CIDR:
		return object{"cidr": typed.String()}
	case apiservercel.Quantity:
		return object{"quantity": typed.String()}
	case *apiservercel.Quantity:
		return object{"quantity": typed.String()}
	case apiservercel.URL:
		return object{"url": typed.String()}
	case apiservercel.Semver:
		return object{"semver": typed.String()}
	case apiservercel.Format:
		return object{"format": typed.Name}
	}
	if list, ok := value.(traits.Lister); ok {
		items := []any{}
		for it := list.Iterator(); it.HasNext() == types.True; {
			items = append(items, shown(it.Next()))
		}
		return object{"list": items}
	}
	if values, ok := value.(traits.Mapper); ok {
		return object{"map": entries(values)}
	}
	return object{"unknown": fmt.Sprintf("%T", value)}
}

func entries(values traits.Mapper) []any {
	result := [][2]any{}
	for it := values.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		result = append(result, [2]any{shown(key), shown(values.Get(key))})
	}
	sort.Slice(result, func(i, j int) bool {
		return string(must(json.Marshal(result[i][0]))) < string(must(json.Marshal(result[j][0])))
	})
	all := make([]any, len(result))
	for i, entry := range result {
		all[i] = entry
	}
	return all
}

func double(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 1):
		return "Infinity"
	case math.IsInf(value, -1):
		return "-Infinity"
	case value == 0 && math.Signbit(value):
		return "-0"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
