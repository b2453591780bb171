export const INFO = {
  title: "Partner Collections for lenders",
  version: "v1",
  summary: "Import cases, confirm payments exactly once, and receive what happens in the field.",
  description: `Every request is signed, and so is everything that the service sends:

\`\`\`text
signature = hex( HMAC-SHA256( secret, METHOD + "\\n" + PATH + "\\n" + TIMESTAMP + "\\n" + RAW_BODY ) )
\`\`\`

- **Secret**: the UTF-8 bytes of the whole secret, its prefix included, not decoded.
- **PATH**: the path of the request line, percent-encoded as it is sent, without the query string.
- **TIMESTAMP**: the text of \`X-Service-Timestamp\`: Unix time in milliseconds, at most 5 minutes from server time.
- **RAW_BODY**: the bytes that are sent; nothing at all without a body, so that the signed text ends with a newline.

Amounts are JSON numbers in major units (rupees, not paise), times are ISO 8601 in UTC. A request whose answer was lost
may be sent again with the same bytes. Errors are \`application/problem+json\` (RFC 9457): \`code\` says what is wrong,
\`retryable\` whether the very same request may succeed later. A path that does not exist is 404 \`ROUTE_NOT_FOUND\`, and
another method is 405 \`METHOD_NOT_ALLOWED\`.

Under \`/api/v1\` there may be new endpoints, fields, headers, kinds of events and codes at any time: ignore what you do
not know.`,
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

/** The tags of operations. Webhooks have none. */
export const TAGS = [
  { name: "Health", description: "Try out key, secret and clock." },
  { name: "Cases", description: "Hand over loans, and read how they stand." },
  { name: "Payments", description: "Tell of captured money." },
  { name: "Deliveries", description: "Try your callback, and see what became of your events." },
  { name: "Signature debugger", description: "Find out which mistake made a wrong signature." },
];

export const SECURITY_SCHEMES = {
  KeyId: {
    type: "http",
    scheme: "bearer",
    description: "The id of an API key, `Authorization: Bearer lk_…`. It is no secret: the signature proves who asks.",
  },
  Timestamp: {
    type: "apiKey",
    in: "header",
    name: "X-Service-Timestamp",
    description: "When the request was signed: Unix time in milliseconds, in decimal digits.",
  },
  Signature: {
    type: "apiKey",
    in: "header",
    name: "X-Service-Signature",
    description:
      "The hexadecimal HMAC-SHA256, under the secret, of method, path, timestamp and raw body, with a newline between them.",
  },
};

export const HEADERS = {
  "X-Request-Id": {
    description: "The id of the request: name it when you ask the operator.",
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
    description: "Where you stand: `r` requests are left, and the oldest one stops counting in `t` seconds.",
    schema: { type: "string" },
    example: '"confirm";r=5998;t=41',
  },
  "Retry-After": {
    description: "Seconds to wait before the same request is sent again.",
    required: true,
    schema: { type: "integer", minimum: 0 },
    example: 2,
  },
  ETag: {
    description: "The case's `sequence` in quotes: send it as `If-None-Match`.",
    required: true,
    schema: { type: "string" },
    example: '"14"',
  },
  Allow: {
    description: "The methods that the path takes.",
    required: true,
    schema: { type: "string" },
    example: "POST",
  },
};
