import { answerQuestions } from "../load/child.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { graphqlPost } from "./graphql-call.ts";
import { HttpConnection } from "../load/http-connection.ts";

/** A load of one query that is sent repeatedly. Each client waits for its answer before it sends the query again. */
export interface ListLoad {
  readonly url: string;
  readonly accessToken: string;
  readonly query: string;
  /**
   * An example answer. Each answer must have the same length; only the cursors in it may differ, because they contain
   * the time.
   */
  readonly answer: string;
  readonly clients: number;
  readonly durationMs: number;
}

answerQuestions(async ({ url: at, accessToken, query, answer, clients, durationMs }: ListLoad) => {
  const url = new URL(at);
  const request = graphqlPost(url.host, accessToken, { query });
  const connections = await Promise.all(Array.from({ length: clients }, () => HttpConnection.open(url)));
  const result = await closedLoop(
    connections.map((connection) => async () => {
      const { status, body } = await connection.send(request);
      if (status !== 200 || body.length !== answer.length)
        throw new Error(`The request for a list was answered with ${status}: ${body}`);
    }),
    { durationMs },
  );
  for (const connection of connections) connection.close();
  return result;
});
