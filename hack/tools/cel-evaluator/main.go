// Command cel-evaluator evaluates CEL expressions with the libraries of Kubernetes, for tests that compare Annex' engine with them.
// It reads a JSON object from each line of standard input: {"expression": "…", "a": "…", "b": "…", "n": "1"}, in which a and b are strings
// and n is an int, or {"expression": "…", "schema": {…}, "object": {…}}, in which the object is the variable `object` of the type that the
// structural schema declares; the schema of a later line is that of the line before if it has none. For each it writes one line of JSON: {"type": "bool", "value": "true"}, or {"error": "…"}.
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

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

type line struct {
	Expression string `json:"expression"`
	A          string `json:"a"`
	B          string `json:"b"`
	N          string `json:"n"`

	Schema *apiextensionsv1.JSONSchemaProps `json:"schema"`
	Object json.RawMessage                  `json:"object"`
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

// objects evaluates expressions over objects of one schema.
type objects struct {
	evaluator
	schema *schema.Structural
}

func newObjects(base *cel.Env, props *apiextensionsv1.JSONSchemaProps) (*objects, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	declType := model.SchemaDeclType(structural, false).MaybeAssignTypeName("Object")
	options, err := apiservercel.NewDeclTypeProvider(declType).EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	env, err := base.Extend(append(options, cel.Variable("object", declType.CelType()))...)
	if err != nil {
		return nil, err
	}
	return &objects{evaluator{env, map[string]cel.Program{}}, structural}, nil
}

func (o *objects) answer(l *line) answer {
	program, err := o.program(l.Expression)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var object any
	if err := utiljson.Unmarshal(l.Object, &object); err != nil {
		return answer{Error: err.Error()}
	}
	result, _, err := program.Eval(map[string]any{"object": schemacel.UnstructuredToVal(object, o.schema)})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return value(result)
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

func (e *evaluator) answer(l *line) answer {
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
	var asked *objects
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
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			panic(err)
		}
		if l.Schema != nil {
			if asked, err = newObjects(base, l.Schema); err != nil {
				panic(err)
			}
		}
		result := answer{}
		if l.Object != nil {
			result = asked.answer(&l)
		} else {
			result = e.answer(&l)
		}
		if err := encoder.Encode(result); err != nil {
			panic(err)
		}
	}
}
