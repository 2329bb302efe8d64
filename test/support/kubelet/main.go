// Command kubelet serves exec, attach, port-forward and logs of pods with the kubelet's own
// streaming server. There are no containers: a command runs as a process of this machine, so a
// client certificate is required.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
)

func main() {
	directory := flag.String("directory", "", "directory for the certificates and, once the server listens, the file port")
	flag.Parse()
	if err := run(*directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(directory string) error {
	made, err := makeCertificates(directory)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler(),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{made.server},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    made.authority,
		},
	}
	signals, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(signals, func() { server.Close() })
	if err := writePort(directory, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	if err := server.ServeTLS(listener, "", ""); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// writePort creates the file port in one step.
func writePort(directory string, port int) error {
	draft := filepath.Join(directory, "port.draft")
	if err := os.WriteFile(draft, []byte(strconv.Itoa(port)), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, filepath.Join(directory, "port"))
}
