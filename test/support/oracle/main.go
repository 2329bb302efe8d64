// Command oracle reads lines of JSON {"method", "target"}. For each it writes a line of JSON: the
// RequestInfo that kube-apiserver derives from such a request, or an error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

type question struct {
	Method string `json:"method"`
	Target string `json:"target"`
}

type resourceRequest struct {
	Kind        string `json:"kind"`
	Verb        string `json:"verb"`
	Group       string `json:"group"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Name        string `json:"name"`
	Namespace   string `json:"namespace"`
}

type pathRequest struct {
	Kind string `json:"kind"`
	Verb string `json:"verb"`
	Path string `json:"path"`
}

type failure struct {
	Error string `json:"error"`
}

// The prefixes of kube-apiserver (k8s.io/apiserver, server.NewRequestInfoResolver).
var factory = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func main() {
	// The factory logs every list option that it cannot read.
	klog.SetLogger(klog.Logger{})
	if err := answerAll(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerAll(in io.Reader, out io.Writer) error {
	reader := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(writer)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			return err
		}
		if err := encoder.Encode(requestInfo(asked)); err != nil {
			return err
		}
		if reader.Buffered() > 0 {
			continue
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}

// requestInfo reads the request as net/http's server does.
func requestInfo(asked question) any {
	head := asked.Method + " " + asked.Target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
	if err != nil {
		return failure{err.Error()}
	}
	if req.RequestURI != asked.Target || req.Method != asked.Method {
		return failure{"net/http reads another method or target"}
	}
	info, err := factory.NewRequestInfo(req)
	if err != nil {
		return failure{err.Error()}
	}
	if !info.IsResourceRequest {
		return pathRequest{"path", info.Verb, info.Path}
	}
	return resourceRequest{
		Kind:        "resource",
		Verb:        info.Verb,
		Group:       info.APIGroup,
		Resource:    info.Resource,
		Subresource: info.Subresource,
		Name:        info.Name,
		Namespace:   info.Namespace,
	}
}
