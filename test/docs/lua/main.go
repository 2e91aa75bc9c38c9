// Command lua runs a health check of Argo CD as Argo CD does: the object on standard input is the global obj; prints the table that the
// script returns.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
)

func value(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, item := range v {
			table.RawSetString(key, value(state, item))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(value(state, item))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}

func run() error {
	var object map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&object); err != nil {
		return err
	}
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", value(state, object))
	if err := state.DoFile(os.Args[1]); err != nil {
		return err
	}
	result := map[string]string{}
	state.CheckTable(-1).ForEach(func(key, item lua.LValue) { result[key.String()] = item.String() })
	return json.NewEncoder(os.Stdout).Encode(result)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
