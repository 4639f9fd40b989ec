// SPDX-License-Identifier: Apache-2.0

// What Go programs do: a resolver of their own and, unless told otherwise, proxy variables.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	pool := x509.NewCertPool()
	if pem, err := os.ReadFile(os.Getenv("SSL_CERT_FILE")); err == nil {
		pool.AppendCertsFromPEM(pem)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	if os.Args[1] == "env" {
		transport.Proxy = http.ProxyFromEnvironment
	}
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	answer, err := client.Get(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	body, _ := io.ReadAll(answer.Body)
	fmt.Printf("%d %s", answer.StatusCode, body)
	if answer.StatusCode != 200 {
		os.Exit(1)
	}
}
