import { isAsyncIterable, type Plugin } from "graphql-yoga";
import { badInput } from "../plumbing/client-error.ts";
import type { ServerContext } from "../plumbing/caller.ts";

const STREAM = "text/event-stream";

/**
 * Refuses a subscription whose client does not accept an event stream, such as Apollo's subscriptions over
 * `multipart/mixed`. Yoga would answer 406 without a body.
 */
export function onlyEventStreams(): Plugin<object, ServerContext> {
  return {
    onResultProcess({ result, setResult, setResultProcessor, serverContext: { req } }) {
      if (!isAsyncIterable(result) || req.accepts(STREAM)) return;
      const accept = req.get("accept");
      // Ends the subscription, which has already begun.
      void result[Symbol.asyncIterator]().return?.();
      setResult({
        errors: [badInput(`Send Accept: ${STREAM} with a subscription; got ${JSON.stringify(accept)}.`)],
      });
      const headers = { "Content-Type": "application/json" };
      setResultProcessor(
        (answer, api) => new api.Response(JSON.stringify(answer), { status: 406, headers }),
        "application/json",
      );
    },
  };
}
