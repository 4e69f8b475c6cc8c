package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// certificateLife is longer than any test run and short enough that a forgotten copy is worth nothing.
const certificateLife = 24 * time.Hour

// writeCertificate makes a root and a server certificate for localhost signed by it. The root's key is thrown away.
func writeCertificate(caFile, certFile, keyFile string) error {
	rootKey, err := newKey()
	if err != nil {
		return err
	}
	root := template("afterimage test root")
	root.IsCA = true
	root.BasicConstraintsValid = true
	root.KeyUsage = x509.KeyUsageCertSign
	if err := sign(caFile, root, root, &rootKey.PublicKey, rootKey); err != nil {
		return err
	}

	serverKey, err := newKey()
	if err != nil {
		return err
	}
	server := template("localhost")
	server.DNSNames = []string{"localhost"}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if err := sign(certFile, server, root, &serverKey.PublicKey, rootKey); err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return fmt.Errorf("encode the server key: %w", err)
	}
	return writePEM(keyFile, "PRIVATE KEY", der)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(certificateLife),
	}
}

func sign(file string, cert, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, public, by)
	if err != nil {
		return fmt.Errorf("sign %s: %w", cert.Subject.CommonName, err)
	}
	return writePEM(file, "CERTIFICATE", der)
}

func writePEM(file, kind string, der []byte) error {
	block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	return nil
}
