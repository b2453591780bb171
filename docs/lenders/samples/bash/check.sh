# Reads cases from stdin, prints the signature and the verdict on each; CI runs it over the vectors.
# A case is seven fields, each with a NUL behind it; the body is in base64.
source "$(dirname "$0")/signing.sh"

fields=(secret method path timestamp body signature now_ms)
while
  for field in "${fields[@]}"; do IFS= read -r -d '' "$field" || break 2; done
do
  HMAC_SECRET=$secret
  computed=$(base64 -d <<< "$body" | sign "$method" "$path" "$timestamp")
  verdict=false
  base64 -d <<< "$body" | verify "$method" "$path" "$timestamp" "$signature" "$now_ms" && verdict=true
  echo "$computed $verdict"
done
