import type { Client } from "pg";

/** One command that the coordinator has sent to a node, or executed on a shard of its own. */
export interface NodeCommand {
  readonly node: string;
  readonly text: string;
}

/** What a piece of work made the coordinator send. */
export interface CommandCount {
  readonly commands: number;
  readonly nodes: number;
  readonly copies: number;
}

/** What PostgreSQL says beside a result. */
interface Notice {
  readonly message?: string | undefined;
  readonly detail?: string | undefined;
}

/** Opens and closes transactions on nodes. Every distributed transaction needs these commands, so they do not count. */
const TRANSACTION_CONTROL =
  /^(begin|commit|rollback|savepoint|release|prepare transaction|set |select (pg_catalog\.)?(assign_distributed|citus_check_|citus_internal))/i;

const ISSUING = "issuing ";
const EXECUTING_LOCALLY = "executing the command locally: ";

/**
 * Records the commands that statements of this connection become. Needs `logCommands` first.
 *
 * @example
 * await logCommands(client);
 * const recorded = recordCommands(client);
 * await client.query("select count(*) from webhooks.event");
 * console.log(countOf(recorded.take()).commands);
 */
export function recordCommands(client: Client): { take(): NodeCommand[]; stop(): void } {
  let commands: NodeCommand[] = [];
  const onNotice = (notice: Notice) => {
    const command = commandIn(notice);
    if (command) commands.push(command);
  };
  client.on("notice", onNotice);
  return {
    take() {
      const taken = commands;
      commands = [];
      return taken;
    },
    stop: () => void client.off("notice", onNotice),
  };
}

/** Makes the coordinator report, as a notice, each command that it sends to a node. */
export async function logCommands(client: Client): Promise<void> {
  await client.query("set citus.log_remote_commands = on");
  await client.query("set citus.log_local_commands = on");
  await client.query("set client_min_messages = notice");
}

/** Counts commands, the nodes that they went to, and the COPYs among them. */
export function countOf(commands: readonly NodeCommand[]): CommandCount {
  return {
    commands: commands.length,
    nodes: new Set(commands.map(({ node }) => node)).size,
    copies: commands.filter(({ text }) => /^copy /i.test(text)).length,
  };
}

function commandIn({ message = "", detail = "" }: Notice): NodeCommand | undefined {
  if (message.startsWith(EXECUTING_LOCALLY)) {
    return { node: "coordinator", text: message.slice(EXECUTING_LOCALLY.length) };
  }
  if (!message.startsWith(ISSUING)) return undefined;
  const text = message.slice(ISSUING.length);
  const node = /@(\S+)/.exec(detail)?.[1] ?? "unknown";
  return TRANSACTION_CONTROL.test(text.trim()) ? undefined : { node, text };
}
