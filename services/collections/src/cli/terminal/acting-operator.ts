import { userInfo } from "node:os";
import type { Actor } from "@collections/database";

const NAME_CHARACTERS = 80;

/**
 * Returns the operator who runs this command, as the audit names them: the name of the system user. After `sudo` it is
 * the user who called `sudo`. A user id without a name, as in many containers, is named `uid-` and its number.
 */
export function actingOperator(env: NodeJS.ProcessEnv = process.env, uid = process.getuid?.()): Actor {
  const name = (uid === 0 && env["SUDO_USER"]) || systemUserName() || `uid-${uid ?? "unknown"}`;
  return `operator:${printable(name)}`;
}

function systemUserName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

function printable(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?").slice(0, NAME_CHARACTERS);
}
