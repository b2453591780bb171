export const INFO = {
  title: "Partner Collections for lenders",
  version: "v1",
  summary: "Import cases, confirm payments exactly once, and receive what happens in the field.",
  description: `Every request to the service is signed, and so is every request that the service sends:

\`\`\`text
signature = hex( HMAC-SHA256( secret, METHOD + "\\n" + PATH + "\\n" + TIMESTAMP + "\\n" + RAW_BODY ) )
\`\`\`

- **Secret**: the UTF-8 bytes of the whole secret. The prefix is included, and nothing is decoded.
- **PATH**: the path of the request line, percent-encoded as you send it, without the query string.
- **TIMESTAMP**: the value of \`X-Service-Timestamp\`: Unix time in milliseconds, at most 5 minutes from server time.
- **RAW_BODY**: the bytes of the body. Without a body it is empty, so the signed text ends with a newline.

Amounts are JSON numbers in major units (rupees, not paise). Times are ISO 8601 in UTC. If the answer to a request was
lost, you may send the request again with the same bytes. Errors are \`application/problem+json\` (RFC 9457): \`code\`
names the error, and \`retryable\` says whether the same request may succeed later. A path that does not exist is answered
with 404 \`ROUTE_NOT_FOUND\`, and a method that the path does not support with 405 \`METHOD_NOT_ALLOWED\`.

New endpoints, fields, headers, kinds of events and codes may be added under \`/api/v1\` at any time. Ignore those that
you do not know.`,
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

/** The tags of operations. Webhooks have none. */
export const TAGS = [
  { name: "Health", description: "Check your key, your secret and your clock." },
  { name: "Cases", description: "Import loans as cases, and read the state of a case." },
  { name: "Payments", description: "Report captured payments." },
  {
    name: "Deliveries",
    description: "Test your callback and your mint endpoint, and follow the delivery of your events.",
  },
  { name: "Signature debugger", description: "Find the mistake that caused a wrong signature." },
  { name: "Portal", description: "Let your staff sign in to the portal, which shows your cases in a browser." },
  { name: "Sandbox", description: "Play what happens to a loan, to see its events. Only in a sandbox." },
];

export const SECURITY_SCHEMES = {
  KeyId: {
    type: "http",
    scheme: "bearer",
    description:
      "The id of an API key, as `Authorization: Bearer lk_…`. The id is not secret: the signature " +
      "authenticates the request.",
  },
  Timestamp: {
    type: "apiKey",
    in: "header",
    name: "X-Service-Timestamp",
    description: "The time at which the request was signed: Unix time in milliseconds, in decimal digits.",
  },
  Signature: {
    type: "apiKey",
    in: "header",
    name: "X-Service-Signature",
    description:
      "The HMAC-SHA256 of method, path, timestamp and raw body, joined by newlines, with the secret as its " +
      "key; in hexadecimal digits.",
  },
};

export const HEADERS = {
  "X-Request-Id": {
    description: "The id of the request. Name it when you ask the operator about the request.",
    required: true,
    schema: { type: "string" },
    example: "req_019aa3c2e09f7a66b2c3d4e5f6071829",
  },
  "RateLimit-Policy": {
    description: "The limit of this endpoint for your key: `q` requests in `w` seconds.",
    schema: { type: "string" },
    example: '"confirm";q=6000;w=60',
  },
  RateLimit: {
    description:
      "The rest of the limit: `r` requests are left, and the oldest counted request stops counting in `t` " +
      "seconds.",
    schema: { type: "string" },
    example: '"confirm";r=5998;t=41',
  },
  "Retry-After": {
    description: "The number of seconds to wait before you send the same request again.",
    required: true,
    schema: { type: "integer", minimum: 0 },
    example: 2,
  },
  ETag: {
    description:
      "The `sequence` of the case, in quotes. Send it as `If-None-Match` to read the case only if it has changed.",
    required: true,
    schema: { type: "string" },
    example: '"14"',
  },
  Allow: {
    description: "The methods that the path supports.",
    required: true,
    schema: { type: "string" },
    example: "POST",
  },
};
