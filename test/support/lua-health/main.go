// Command lua-health reads lines of JSON {"script", "object"}. For each it runs the script as Argo
// CD runs a health script, and writes a line of JSON: what the script returns, or {"error"}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
)

type question struct {
	Script string         `json:"script"`
	Object map[string]any `json:"object"`
}

type failure struct {
	Error string `json:"error"`
}

// The libraries that a script of the ConfigMap argocd-cm has, except Argo CD's own "os".
var libraries = []struct {
	name string
	open lua.LGFunction
}{
	{lua.LoadLibName, lua.OpenPackage},
	{lua.BaseLibName, lua.OpenBase},
	{lua.TabLibName, lua.OpenTable},
}

func main() {
	if err := answerAll(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerAll(in io.Reader, out io.Writer) error {
	reader := bufio.NewReader(in)
	encoder := json.NewEncoder(out)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			return errors.New("the line is not a question")
		}
		if err := encoder.Encode(answer(asked)); err != nil {
			return err
		}
	}
}

func answer(asked question) any {
	// Argo CD gives a script one second too.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.SetContext(ctx)
	for _, library := range libraries {
		state.Push(state.NewFunction(library.open))
		state.Push(lua.LString(library.name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", valueOf(state, asked.Object))
	if err := state.DoString(asked.Script); err != nil {
		return failure{Error: err.Error()}
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return failure{Error: "the script returns a " + state.Get(-1).Type().String()}
	}
	returned := map[string]string{}
	table.ForEach(func(key, value lua.LValue) { returned[key.String()] = value.String() })
	return returned
}

func valueOf(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		list := state.NewTable()
		for _, item := range value {
			list.Append(valueOf(state, item))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, valueOf(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
