// Command cert-manager runs cert-manager's own controllers of Certificates with self-signed issuers,
// without leader election, its webhook and its other issuers.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

var names = []string{
	issuers.ControllerName,
	approver.ControllerName,
	selfsigned.CRControllerName,
	issuing.ControllerName,
	keymanager.ControllerName,
	readiness.ControllerName,
	requestmanager.ControllerName,
	revisionmanager.ControllerName,
	trigger.ControllerName,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         os.Args[1],
		KubernetesAPIQPS:   100,
		KubernetesAPIBurst: 200,
	})
	if err != nil {
		log.Fatal(err)
	}
	shared, err := factory.Build()
	if err != nil {
		log.Fatal(err)
	}
	running := []controller.Interface{}
	for _, name := range names {
		built, err := controller.Known()[name](factory)
		if err != nil {
			log.Fatal(name, ": ", err)
		}
		running = append(running, built)
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	for _, one := range running {
		go func() {
			if err := one.Run(5, ctx); err != nil {
				log.Fatal(err)
			}
		}()
	}
	<-ctx.Done()
}
