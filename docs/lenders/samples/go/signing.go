package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

// Sign returns the signature of a request. The body is the very bytes that go over the wire.
func Sign(secret, method, path, timestamp string, body []byte) string {
	path, _, _ = strings.Cut(path, "?")
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s\n%s\n%s\n", strings.ToUpper(method), path, timestamp)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Verify tells whether these very bytes were signed with this secret, within five minutes of now. An absent header is "".
func Verify(secret, method, path, timestamp string, body []byte, signature string, now time.Time) bool {
	signedMs, err := strconv.ParseUint(timestamp, 10, 63)
	if err != nil || now.Sub(time.UnixMilli(int64(signedMs))).Abs() > tolerance {
		return false
	}
	expected := Sign(secret, method, path, timestamp, body)
	return hmac.Equal([]byte(expected), []byte(strings.ToLower(signature)))
}
