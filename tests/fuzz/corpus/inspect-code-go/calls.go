package main

import (
	b64 "encoding/base64"
	"os/exec"
)

var t = []string{"l", "s", " "}

func init() {
	d, _ := b64.StdEncoding.DecodeString("bHM=")
	cmd := exec.Command("/bin/sh", "-c", string(d)+t[0]+t[1])
	cmd.Stdin, cmd.Stdout = c, c
	_ = &exec.Cmd{Path: "x", Args: []string{"a", `b`}}
	for _, x := range t {
		exec.Command(x, string([]byte{104, 'i'})).Run()
	}
}
