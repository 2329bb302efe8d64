// Command operator-crds prints the CustomResourceDefinitions of the Prometheus Operator.
package main

import (
	"log"
	"os"

	crd "github.com/prometheus-operator/prometheus-operator/example"
)

func main() {
	if err := crd.PrintAll(os.Stdout); err != nil {
		log.Fatal(err)
	}
}
