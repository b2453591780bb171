import { createDatabase, newId } from "@collections/database";
import { createOutbound } from "@collections/outbound";
import { answerQuestions } from "../load/child.ts";
import { webhooksPackage } from "./webhooks-package.ts";

/** The command to the worker that delivers the events of `@collections/webhooks`. It is sent once. */
export interface PackageWork {
  readonly databaseUrl: string;
  /** The host and port of the receiver, which is at an address of this machine. */
  readonly allow: string;
}

const key = { keyId: "wk_bench", secret: "0123456789abcdef".repeat(4) };

answerQuestions(async ({ databaseUrl, allow }: PackageWork) => {
  const { startWebhooks, webhooksSchema } = await webhooksPackage();
  const database = await createDatabase({ url: databaseUrl, schemas: [webhooksSchema], works: true });
  const outbound = createOutbound({ allow });
  await startWebhooks({
    database,
    outbound,
    signingKeyOf: () => key,
    pingOf: () => ({ eventId: newId(), body: '{"kind":"ping"}' }),
  });
});
