import { answerQuestions } from "../load/child.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { graphqlPost } from "./graphql-call.ts";
import { HttpConnection } from "../load/http-connection.ts";

/** The same question over and over, from clients that each wait for their answer. */
export interface ListLoad {
  readonly url: string;
  readonly accessToken: string;
  readonly query: string;
  /** What each answer is as long as; the cursors have the time in them. */
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
        throw new Error(`A list was answered with ${status}: ${body}`);
    }),
    { durationMs },
  );
  for (const connection of connections) connection.close();
  return result;
});
