import { answerQuestions } from "../load/child.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { graphqlPost } from "./graphql-call.ts";
import { HttpConnection } from "../load/http-connection.ts";

/**
 * A load of GraphQL queries of 4 KB that are expensive to validate. Each query is different, so that no cache contains
 * it.
 */
export interface HostileLoad {
  readonly url: string;
  readonly accessToken: string;
  readonly durationMs: number;
  /** The error code that each answer must have. */
  readonly code: string;
}

const SELECTIONS = 390;
let sent = 0;

answerQuestions(async ({ url: at, accessToken, durationMs, code }: HostileLoad) => {
  const url = new URL(at);
  const connection = await HttpConnection.open(url);
  const ask = async () => {
    sent += 1;
    const query = `{a${sent}:viewer{id}${"viewer{id}".repeat(SELECTIONS - 1)}}`;
    const { body } = await connection.send(graphqlPost(url.host, accessToken, { query }));
    if (!body.includes(`"code":"${code}"`))
      throw new Error(`A GraphQL query that is expensive to validate was answered with ${body}`);
  };
  const result = await closedLoop([ask], { durationMs });
  connection.close();
  return result;
});
