import { presentName } from "@collections/local-time";

export { momentText } from "../../desk/files/moment-text.ts";

/** The time zone of this machine, or the one that the environment variable `TZ` names. */
export function machineTimeZone(): string {
  return presentName(new Intl.DateTimeFormat().resolvedOptions().timeZone);
}
