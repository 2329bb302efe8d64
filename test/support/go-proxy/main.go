// A reverse proxy of Go's standard library with nothing of Latchkey in it, which the benchmark of the
// gateway compares with. Reads its configuration as a line of JSON, answers with its port, and serves
// until its standard input ends.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

type config struct {
	Upstream      string
	Authority     string
	Authorization string
	Certificate   string
	PrivateKey    string
}

func main() {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	exitOn(err)
	var given config
	exitOn(json.Unmarshal(line, &given))
	target, err := url.Parse(given.Upstream)
	exitOn(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(given.Authority))
	pair, err := tls.X509KeyPair([]byte(given.Certificate), []byte(given.PrivateKey))
	exitOn(err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(target)
			request.Out.Header.Set("Authorization", given.Authorization)
		},
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: roots},
			MaxIdleConnsPerHost: 64,
			DisableCompression:  true,
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	server := &http.Server{
		Handler:   proxy,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	exitOn(err)
	go func() { exitOn(server.ServeTLS(listener, "", "")) }()
	port := listener.Addr().(*net.TCPAddr).Port
	fmt.Printf("{\"http1\": %d, \"http2\": %d}\n", port, port)
	io.Copy(io.Discard, in)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
