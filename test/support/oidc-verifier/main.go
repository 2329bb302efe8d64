// Command oidc-verifier reads lines of JSON {"issuer", "audience", "ca", "token"}. For each it
// writes a line of JSON: the claims of the token, or why go-oidc refuses it.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

type question struct {
	Issuer   string `json:"issuer"`
	Audience string `json:"audience"`
	CA       string `json:"ca"`
	Token    string `json:"token"`
}

type acceptance struct {
	OK     bool           `json:"ok"`
	Claims map[string]any `json:"claims"`
}

type refusal struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
}

// What errors of go-oidc begin with; their further text may quote the token.
var reasons = []struct{ prefix, reason string }{
	{"oidc: id token issued by a different provider", "issuer"},
	{"oidc: expected audience", "audience"},
	{"oidc: malformed jwt: unexpected signature algorithm", "algorithm"},
	{"oidc: malformed jwt: go-jose/go-jose: unexpected signature algorithm", "algorithm"},
	{"failed to verify signature: failed to verify id token signature", "signature"},
}

// One for each issuer and CA: a provider keeps the keys of its issuer.
var providers = map[[2]string]*oidc.Provider{}

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
	ctx := context.Background()
	provider, err := providerOf(ctx, asked)
	if err != nil {
		return refusal{Reason: "discovery"}
	}
	// The algorithms are those of the discovery document.
	config := &oidc.Config{ClientID: asked.Audience}
	token, err := provider.Verifier(config).Verify(ctx, asked.Token)
	if err != nil {
		return refusal{Reason: reasonOf(err)}
	}
	accepted := acceptance{OK: true}
	if err := token.Claims(&accepted.Claims); err != nil {
		return refusal{Reason: "claims"}
	}
	return accepted
}

func providerOf(ctx context.Context, asked question) (*oidc.Provider, error) {
	key := [2]string{asked.Issuer, asked.CA}
	if known, ok := providers[key]; ok {
		return known, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(asked.CA)) {
		return nil, errors.New("the CA is not PEM")
	}
	client := &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			Proxy:           http.ProxyFromEnvironment,
			TLSClientConfig: &tls.Config{RootCAs: roots},
		},
	}
	// The provider fetches keys with this client later too.
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), asked.Issuer)
	if err != nil {
		return nil, err
	}
	providers[key] = provider
	return provider, nil
}

func reasonOf(err error) string {
	var expired *oidc.TokenExpiredError
	if errors.As(err, &expired) {
		return "expired"
	}
	for _, known := range reasons {
		if strings.HasPrefix(err.Error(), known.prefix) {
			return known.reason
		}
	}
	return "other"
}
