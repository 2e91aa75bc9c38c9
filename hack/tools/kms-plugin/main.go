// Command kms-plugin serves the KMS v2 plugin of Kubernetes' own tests on a unix socket: kms-plugin SOCKET.
// Lines on standard input change how it behaves: fail, recover, rotate. It answers each with the line itself,
// and reports what its clients do wrong on standard error, with exit code 1 at the end.
package main

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	plugin "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/testing/v2"
)

// reporter stands for the test that the plugin wants to be a part of.
type reporter struct {
	testing.TB
	failed bool
}

func (r *reporter) Cleanup(func()) {}

func (r *reporter) Errorf(format string, args ...any) {
	r.failed = true
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (r *reporter) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	os.Exit(1)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kms-plugin SOCKET")
		os.Exit(2)
	}
	report := &reporter{}
	served := plugin.NewBase64Plugin(report, os.Args[1])
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "fail":
			served.EnterFailedState()
		case "recover":
			served.ExitFailedState()
		case "rotate":
			served.UpdateKeyID()
		}
		fmt.Println(lines.Text())
	}
	served.CleanUp()
	if report.failed {
		os.Exit(1)
	}
}
