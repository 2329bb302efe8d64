package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

type certificates struct {
	server    tls.Certificate
	authority *x509.CertPool
}

type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// makeCertificates creates a CA for this process, and writes the files for kube-apiserver: ca.crt,
// client.crt and client.key.
func makeCertificates(directory string) (*certificates, error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	serverCertificate, serverKey, err := authority.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kubelet"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	clientCertificate, clientKey, err := authority.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"ca.crt":     pemOf("CERTIFICATE", authority.certificate.Raw),
		"client.crt": clientCertificate,
		"client.key": clientKey,
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	pair, err := tls.X509KeyPair(serverCertificate, serverKey)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority.certificate)
	return &certificates{server: pair, authority: pool}, nil
}

func newAuthority() (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kubelet-ca"},
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	raw, err := create(template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(raw)
	return &issuer{certificate, key}, err
}

// issue returns a new certificate and its key, both in PEM.
func (by *issuer) issue(template *x509.Certificate) (certificate, key []byte, err error) {
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	raw, err := create(template, by.certificate, &pair.PublicKey, by.key)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		return nil, nil, err
	}
	return pemOf("CERTIFICATE", raw), pemOf("PRIVATE KEY", private), nil
}

func create(template, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Minute)
	template.NotAfter = time.Now().Add(7 * 24 * time.Hour)
	return x509.CreateCertificate(rand.Reader, template, parent, public, by)
}

func pemOf(kind string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
}
