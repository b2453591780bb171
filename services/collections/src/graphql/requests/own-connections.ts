import { onBehalfOf } from "@collections/database";
import type { Plugin } from "graphql-yoga";
import type { Context } from "../plumbing/context.ts";

/** Lets the operations of one field partner use at most half of the connections that all calls share. */
export function ownConnections(): Plugin<Context> {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const { fieldPartner } = args.contextValue;
      if (fieldPartner) setExecuteFn((given) => onBehalfOf(fieldPartner.id, () => executeFn(given)));
    },
  };
}
