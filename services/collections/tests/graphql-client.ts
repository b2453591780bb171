import { randomUUID } from "node:crypto";

/** A part of an answer: its shape is that of the query, which a test has beside it as a text. */
export type Selected = any; // oxlint-disable-line typescript/no-explicit-any -- the query's text decides the type the shape

/** What the service answers to a GraphQL request. */
export interface GraphqlAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Record<string, Selected> | null | undefined;
  readonly errors: { message: string; extensions: { code: string; requestId: string }; path?: unknown[] }[] | undefined;
}

/** A field partner's app, as far as the wire shows. */
export class AppClient {
  readonly url: string;
  readonly accessToken: string | undefined;

  constructor(serviceUrl: string, accessToken?: string) {
    this.url = `${serviceUrl}/graphql`;
    this.accessToken = accessToken;
  }

  /** Asks once. */
  async ask(query: string, variables: object = {}): Promise<GraphqlAnswer> {
    const { status, headers, body } = await this.#post({ query, variables }, "application/json");
    const { data, errors } = JSON.parse(await new Response(body).text()) as GraphqlAnswer;
    return { status, headers, data, errors };
  }

  /** A mutation's result, by the mutation's name. A key is made unless the input has one. */
  async mutate(name: string, input: object, selection: string) {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}`;
    const query = `mutation ($input: ${type}Input!) {
      result: ${name}(input: $input) { __typename ... on UserError { code message } ... on ${type}Payload { ${selection} } }
    }`;
    const answer = await this.ask(query, { input: { idempotencyKey: randomUUID(), ...input } });
    if (answer.errors) throw new Error(JSON.stringify(answer.errors));
    return answer.data!["result"];
  }

  /** What a subscription sends, until it ends or the caller breaks out of the loop. */
  async *watch(query: string, variables: object = {}): AsyncGenerator<GraphqlAnswer> {
    const leave = new AbortController();
    const { status, headers, body } = await this.#post({ query, variables }, "text/event-stream", leave.signal);
    let text = "";
    try {
      for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        const events = text.split("\n\n");
        text = events.pop()!;
        for (const event of events) {
          if (event.startsWith("event: complete")) return;
          const data = /^data: (.+)$/m.exec(event)?.[1];
          if (data !== undefined)
            yield { status, headers, ...(JSON.parse(data) as Pick<GraphqlAnswer, "data" | "errors">) };
        }
      }
      throw new Error("The stream broke off without an end.");
    } finally {
      leave.abort();
    }
  }

  #post(body: object, accept: string, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept,
        ...(this.accessToken !== undefined && { authorization: `Bearer ${this.accessToken}` }),
      },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  }
}

/** All that a subscription sends until it ends. */
export async function everything(updates: AsyncIterable<GraphqlAnswer>): Promise<GraphqlAnswer[]> {
  const answers: GraphqlAnswer[] = [];
  for await (const answer of updates) answers.push(answer);
  return answers;
}
