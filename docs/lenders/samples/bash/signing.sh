# Signs requests and verifies webhooks with openssl. HMAC_SECRET has the secret, the body comes on stdin, byte for byte.
# For trying out: the secret is on the command line of openssl, where others on the same machine can see it.

sign() { # METHOD PATH TIMESTAMP < BODY
  local method
  method=$(tr '[:lower:]' '[:upper:]' <<< "$1")
  { printf '%s\n%s\n%s\n' "$method" "${2%%\?*}" "$3" && cat; } |
    openssl dgst -sha256 -hmac "$HMAC_SECRET" -r | cut -d ' ' -f 1
}

verify() { # METHOD PATH TIMESTAMP SIGNATURE [NOW_MS] < BODY
  local LC_ALL=C tolerance_ms=300000 now_ms=${5:-$(date +%s)000} expected received
  [[ $3 =~ ^[0-9]{1,15}$ ]] || return 1
  ((now_ms - 10#$3 <= tolerance_ms && 10#$3 - now_ms <= tolerance_ms)) || return 1
  # The digests of both are compared: how long that takes says nothing about the signature.
  expected=$(sign "$1" "$2" "$3" | openssl dgst -sha256)
  received=$(tr '[:upper:]' '[:lower:]' <<< "$4" | openssl dgst -sha256)
  [[ $expected == "$received" ]]
}
