package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Reads cases from stdin, prints the signature and the verdict on each; CI runs it over the vectors.
// A case is seven fields, each with a NUL behind it; the body is in base64.
func main() {
	input, _ := io.ReadAll(os.Stdin)
	for fields := strings.Split(string(input), "\x00"); len(fields) > 7; fields = fields[7:] {
		secret, method, path, timestamp, signature := fields[0], fields[1], fields[2], fields[3], fields[5]
		body, _ := base64.StdEncoding.DecodeString(fields[4])
		nowMs, _ := strconv.ParseInt(fields[6], 10, 64)
		verdict := Verify(secret, method, path, timestamp, body, signature, time.UnixMilli(nowMs))
		fmt.Println(Sign(secret, method, path, timestamp, body), verdict)
	}
}
