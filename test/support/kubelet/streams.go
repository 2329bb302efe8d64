package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idleTimeout     = time.Hour
	creationTimeout = 10 * time.Second
	logPause        = 100 * time.Millisecond
	logLines        = 10
	silentPod       = "silent"
)

// machine stands for every container: the machine that the tests run on.
type machine struct{}

// handler serves the paths of the kubelet's API that kube-apiserver requests.
func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", unlessSilent(serveExec))
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", unlessSilent(serveAttach))
	mux.HandleFunc("/portForward/{namespace}/{pod}", unlessSilent(servePortForward))
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", unlessSilent(serveLogs))
	return mux
}

// unlessSilent never answers requests for the silent pod, like a kubelet that hangs.
func unlessSilent(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("pod") == silentPod {
			<-r.Context().Done()
			return
		}
		serve(w, r)
	}
}

func serveExec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, machine{}, r.PathValue("pod"), "", r.PathValue("container"),
		r.URL.Query()["command"], options, idleTimeout, creationTimeout,
		remotecommand.SupportedStreamingProtocols)
}

func serveAttach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeAttach(w, r, machine{}, r.PathValue("pod"), "", r.PathValue("container"),
		options, idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

func servePortForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, machine{}, r.PathValue("pod"), "", options, idleTimeout,
		creationTimeout, portforward.SupportedProtocols)
}

// serveLogs writes some lines at once and, if they are followed, one every 100 ms.
func serveLogs(w http.ResponseWriter, r *http.Request) {
	lines := logLines
	if tail := r.URL.Query().Get("tailLines"); tail != "" {
		if count, err := strconv.Atoi(tail); err == nil {
			lines = min(count, logLines)
		}
	}
	for line := logLines - lines; line < logLines; line++ {
		fmt.Fprintf(w, "line %d of %s\n", line, r.PathValue("pod"))
	}
	if r.URL.Query().Get("follow") != "true" {
		return
	}
	for line := logLines; ; line++ {
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(logPause):
		}
		if _, err := fmt.Fprintf(w, "line %d of %s\n", line, r.PathValue("pod")); err != nil {
			return
		}
	}
}

// ExecInContainer runs the command as a process, without a terminal.
func (machine) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if len(command) == 0 {
		return errors.New("no command")
	}
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	if out != nil {
		process.Stdout = out
	}
	if errs != nil {
		process.Stderr = errs
	}
	if in != nil {
		// With process.Stdin, Run would wait for the end of the input.
		stdin, err := process.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			io.Copy(stdin, in)
			stdin.Close()
		}()
	}
	err := process.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.ExitErrorWrapper{ExitError: exit}
	}
	return err
}

// AttachContainer returns its input, like the main process cat.
func (machine) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	if in == nil || out == nil {
		return errors.New("attach needs stdin and stdout")
	}
	_, err := io.Copy(out, in)
	return err
}

// PortForward connects to that port of this machine.
func (machine) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer conn.Close()
	ended := make(chan error, 2)
	go func() {
		_, err := io.Copy(conn, stream)
		conn.(*net.TCPConn).CloseWrite()
		ended <- err
	}()
	go func() {
		_, err := io.Copy(stream, conn)
		stream.Close()
		ended <- err
	}()
	if err := <-ended; err != nil {
		return err
	}
	return <-ended
}
