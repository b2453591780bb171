/** The bytes of a GraphQL request over HTTP/1.1. */
export function graphqlPost(host: string, accessToken: string, body: object): Buffer {
  const text = JSON.stringify(body);
  return Buffer.from(
    [
      "POST /graphql HTTP/1.1",
      `Host: ${host}`,
      `Authorization: Bearer ${accessToken}`,
      "Content-Type: application/json",
      "Accept: application/json",
      `Content-Length: ${Buffer.byteLength(text)}`,
      "",
      text,
    ].join("\r\n"),
  );
}

/** Returns the `data` of an answer. Throws if the answer has `errors`; an error inside a mutation's payload is data. */
// oxlint-disable-next-line typescript/no-explicit-any -- the query's text decides the type
export function dataOf(body: string): Record<string, any> {
  const { data, errors } = JSON.parse(body) as { data?: object | null; errors?: unknown };
  if (errors || !data) throw new Error(`GraphQL answered: ${body.slice(0, 500)}`);
  return data;
}

/** Sends a request and returns the data. */
export async function askGraphql(serviceUrl: string, accessToken: string, query: string, variables: object = {}) {
  return dataOf(await graphqlText(serviceUrl, accessToken, { query, variables }));
}

/** Sends a request and returns the exact text of the answer. Throws if the answer has errors. */
export async function graphqlText(serviceUrl: string, accessToken: string, body: object): Promise<string> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${accessToken}` };
  const answer = await fetch(`${serviceUrl}/graphql`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  dataOf(text);
  return text;
}
