import type { Request } from "express";
import { isIPv4, isIPv6 } from "node:net";

/**
 * Returns the address for which failed authentications are counted: the address of the client behind the trusted
 * proxies. An IPv6 address is replaced by its /64 network, because a client with one address of a network can use all
 * of them.
 */
export function addressOf(request: Pick<Request, "ip" | "socket">): string {
  const given = request.ip ?? "";
  // Most addresses are IPv4, and need no check for IPv6.
  if (isIPv4(given)) return given;
  const address = isIPv6(given) ? given : (request.socket.remoteAddress ?? "unknown");
  const embedded = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (embedded !== undefined) return embedded;
  return isIPv6(address) ? `${groupsOf(address).slice(0, 4).join(":")}::/64` : address;
}

/** Returns the eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [, body = ""] = /^\[(.*)\]$/.exec(new URL(`http://[${address.split("%", 1)[0]}]`).hostname)!;
  const [front = "", back] = body.split("::");
  const [before, after] = [front, back ?? ""].map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = back === undefined ? 0 : 8 - before!.length - after!.length;
  return [...before!, ...Array.from({ length: zeros }, () => "0"), ...after!];
}
