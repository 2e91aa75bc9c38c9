// Command cel-evaluator evaluates CEL expressions with the libraries of Kubernetes, for tests that compare Annex' engine with them.
// It reads a JSON object from each line of standard input: {"expression": "…", "a": "…", "b": "…", "n": "1"}, in which a and b are strings
// and n is an int. For each it writes one line of JSON: {"type": "bool", "value": "true"}, or {"error": "…"}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"k8s.io/apiserver/pkg/cel/environment"
)

type line struct {
	Expression string `json:"expression"`
	A          string `json:"a"`
	B          string `json:"b"`
	N          string `json:"n"`
}

type answer struct {
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

func value(result ref.Val) answer {
	switch v := result.(type) {
	case types.Bool:
		return answer{Type: "bool", Value: strconv.FormatBool(bool(v))}
	case types.Int:
		return answer{Type: "int", Value: strconv.FormatInt(int64(v), 10)}
	case types.Double:
		return answer{Type: "double", Value: fmt.Sprintf("%016x", math.Float64bits(float64(v)))}
	case types.String:
		return answer{Type: "string", Value: string(v)}
	}
	return answer{Error: "the test cannot compare " + result.Type().TypeName()}
}

type evaluator struct {
	env      *cel.Env
	programs map[string]cel.Program
}

func (e *evaluator) program(expression string) (cel.Program, error) {
	if known, ok := e.programs[expression]; ok {
		return known, nil
	}
	ast, issues := e.env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := e.env.Program(ast)
	if err == nil {
		e.programs[expression] = program
	}
	return program, err
}

func (e *evaluator) answer(text []byte) answer {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return answer{Error: err.Error()}
	}
	program, err := e.program(l.Expression)
	if err != nil {
		return answer{Error: err.Error()}
	}
	n, _ := strconv.ParseInt(l.N, 10, 64)
	result, _, err := program.Eval(map[string]any{"a": l.A, "b": l.B, "n": n})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return value(result)
}

func main() {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	env, err := base.Extend(cel.Variable("a", cel.StringType), cel.Variable("b", cel.StringType), cel.Variable("n", cel.IntType))
	if err != nil {
		panic(err)
	}
	e := &evaluator{env: env, programs: map[string]cel.Program{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for in.Scan() {
		if err := encoder.Encode(e.answer(in.Bytes())); err != nil {
			panic(err)
		}
	}
}
