/** One command that the coordinator sent to a node, or executed on one of its own tables. */
export interface NodeCommand {
  readonly node: string;
  readonly text: string;
}

/** The number of commands that the coordinator sent for some work. */
export interface CommandCount {
  /** The number of commands, without those that open and close transactions. */
  readonly commands: number;
  readonly nodes: number;
  /** COPY commands to a node, into a table or for an intermediate result. */
  readonly copies: number;
  /** The number of nodes that prepared the commit. If the number is above 0, the commit had two phases. */
  readonly prepared: number;
}

/** The part of a `pg` connection that `recordCommands` uses. */
export interface NoticeSource {
  on(event: "notice", listener: (notice: Notice) => void): unknown;
}

/** A notice that PostgreSQL sends in addition to a result. */
export interface Notice {
  readonly message?: string | undefined;
  readonly detail?: string | undefined;
}

/** Makes the coordinator report each command that it sends to a node. */
export const LOG_COMMANDS =
  "set citus.log_remote_commands = on; set citus.log_local_commands = on; set client_min_messages = notice";

const ISSUING = "issuing ";
const EXECUTING_LOCALLY = "executing the command locally: ";
const PREPARES = /^prepare transaction/i;
const CONTROLS =
  /^(begin|commit|rollback|savepoint|release|prepare transaction|set |select (pg_catalog\.)?(assign_distributed|citus_check_|citus_internal))/i;

/**
 * Records the commands that the coordinator sends for statements of a connection. Execute `LOG_COMMANDS` on it first.
 *
 * @example
 * await client.query(LOG_COMMANDS);
 * const recorded = recordCommands(client);
 * await client.query("select count(*) from webhooks.event");
 * console.log(countOf(recorded.take()).commands);
 */
export function recordCommands(client: NoticeSource): { take(): NodeCommand[] } {
  const commands: NodeCommand[] = [];
  client.on("notice", (notice) => {
    const command = commandIn(notice);
    if (command) commands.push(command);
  });
  return { take: () => commands.splice(0) };
}

/** Counts commands, their nodes, the COPYs among them, and prepared commits. */
export function countOf(commands: readonly NodeCommand[]): CommandCount {
  const work = commands.filter(({ text }) => !CONTROLS.test(text));
  return {
    commands: work.length,
    nodes: new Set(work.map(({ node }) => node)).size,
    copies: work.filter(({ text }) => /^copy /i.test(text)).length,
    prepared: commands.filter(({ text }) => PREPARES.test(text)).length,
  };
}

function commandIn({ message = "", detail = "" }: Notice): NodeCommand | undefined {
  if (message.startsWith(EXECUTING_LOCALLY)) {
    return { node: "coordinator", text: message.slice(EXECUTING_LOCALLY.length).trim() };
  }
  if (!message.startsWith(ISSUING)) return undefined;
  return { node: /@(\S+)/.exec(detail)?.[1] ?? "unknown", text: message.slice(ISSUING.length).trim() };
}
