import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterFile } from "@collections/testing";

/** What an SMS gateway got: the number and the code in the text. */
export interface Sms {
  to: string;
  code: string | undefined;
  key: unknown;
}

/** An SMS gateway on a real socket: takes JSON with the operator's key. */
export async function startSmsGateway() {
  const [messages, tried]: [Sms[], Sms[]] = [[], []];
  const refusals: number[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { to, text: words } = JSON.parse(body) as { to: string; text: string };
      const sms = { to, code: /^(\d{6}) /.exec(words)?.[1], key: request.headers["idempotency-key"] };
      tried.push(sms);
      const status = request.headers.authorization === "Key x" ? (refusals.shift() ?? 200) : 401;
      if (status === 200) messages.push(sms);
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/send`,
    messages,
    tried,
    refuseNext: (status: number) => void refusals.push(status),
    async next(otpId: string): Promise<Sms> {
      for (;;) {
        const sms = messages.find(({ key }) => key === otpId);
        if (sms) return sms;
        await sleep(20);
      }
    },
  };
}
