import { setTimeout as delay } from "node:timers/promises";

interface GraphqlError {
  readonly message: string;
  /** `retryAfterS`: present if the same request may succeed after these seconds. */
  readonly extensions: { readonly retryAfterS?: number };
}

const MAX_ATTEMPTS = 100;

/** The field partner's phone: GraphQL over HTTP, with subscriptions over server-sent events. */
export class Phone {
  readonly #url: string;
  readonly #accessToken: string;

  constructor(serviceUrl: string, accessToken: string) {
    this.#url = `${serviceUrl}/graphql`;
    this.#accessToken = accessToken;
  }

  /**
   * Sends one operation and returns its data. Repeats it if the service asks for that, which is safe because mutations
   * have idempotency keys. Throws an Error with the messages of other GraphQL errors.
   */
  async ask<Data>(query: string, variables: object = {}): Promise<Data> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#post(query, variables, "application/json");
      const { data, errors } = (await response.json()) as { data: Data; errors?: GraphqlError[] };
      if (!errors) return data;
      const waitS = errors[0]?.extensions.retryAfterS;
      if (waitS === undefined || attempt === MAX_ATTEMPTS) throw new Error(messagesOf(errors));
      await delay(waitS * 1_000);
    }
  }

  /** Subscribes, and yields the data of each update until the caller stops. */
  async *watch<Data>(query: string, variables: object): AsyncGenerator<Data> {
    const response = await this.#post(query, variables, "text/event-stream");
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk, { stream: true });
      const messages = text.split("\n\n");
      text = messages.pop() ?? "";
      for (const message of messages) {
        const data = message.split("\n").find((line) => line.startsWith("data:"));
        if (!/^event: ?next/m.test(message) || data === undefined) continue;
        const payload = JSON.parse(data.slice("data:".length)) as { data?: Data; errors?: GraphqlError[] };
        if (payload.errors) throw new Error(messagesOf(payload.errors));
        yield payload.data as Data;
      }
    }
  }

  #post(query: string, variables: object, accept: string): Promise<Response> {
    return fetch(this.#url, {
      method: "POST",
      headers: { Authorization: `Bearer ${this.#accessToken}`, "Content-Type": "application/json", Accept: accept },
      body: JSON.stringify({ query, variables }),
    });
  }
}

function messagesOf(errors: readonly GraphqlError[]): string {
  return errors.map(({ message }) => message).join(" ");
}
