import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * Azure's own platform service has this address on every Azure machine. The address is in a public range, so it needs
 * its own rule.
 */
const AZURE_PLATFORM_ADDRESS = "168.63.129.16";
/** The range from which the internet's registries assign public IPv6 addresses. Addresses outside it are not routed. */
const IPV6_GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
const IPV4_IN_IPV6 = [ipaddr.IPv6.parseCIDR("::ffff:0:0/96"), ipaddr.IPv6.parseCIDR("64:ff9b::/96")];

/**
 * Returns the kind of an address's range, such as `private`, if connecting to the address is forbidden. Returns null
 * for a public unicast address. An IPv4 address inside an IPv6 address (mapped, or with the well-known prefix of NAT64)
 * is treated as that IPv4 address.
 *
 * @example
 * forbiddenRange("10.0.0.5"); // "private"
 * forbiddenRange("169.254.169.254"); // "link-local"
 * forbiddenRange("8.8.8.8"); // null
 */
export function forbiddenRange(address: string): string | null {
  if (isIPv4(address)) return forbiddenIpv4(ipaddr.IPv4.parse(address));
  // The URL parser writes IPv6 addresses in hex only. Parsers disagree about dotted forms such as `::8.8.8.8`.
  const hex = isIPv6(address) ? URL.parse(`http://[${address}]/`)?.hostname : undefined;
  return hex === undefined ? "not an address" : forbiddenIpv6(ipaddr.IPv6.parse(hex.slice(1, -1)));
}

function forbiddenIpv4(address: ipaddr.IPv4): string | null {
  if (address.toString() === AZURE_PLATFORM_ADDRESS) return "cloud platform";
  return describeRange(address.range());
}

function forbiddenIpv6(address: ipaddr.IPv6): string | null {
  if (IPV4_IN_IPV6.some((block) => address.match(block))) {
    return forbiddenIpv4(new ipaddr.IPv4(address.toByteArray().slice(12)));
  }
  const range = describeRange(address.range());
  if (range !== null) return range;
  if (isIsatap(address)) return "tunnel";
  return address.match(IPV6_GLOBAL_UNICAST) ? null : "not routed";
}

/**
 * Returns whether an IPv6 address is an ISATAP tunnel address (RFC 5214). Under any prefix, the last 64 bits of such an
 * address are 0000:5EFE or 0200:5EFE and an IPv4 address.
 */
function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , flags, marker] = address.parts;
  return (flags === 0 || flags === 0x0200) && marker === 0x5efe;
}

function describeRange(range: string): string | null {
  if (range === "unicast") return null;
  return RANGE_WORDS[range] ?? "reserved";
}

const RANGE_WORDS: Record<string, string> = {
  broadcast: "broadcast",
  carrierGradeNat: "carrier-grade NAT",
  linkLocal: "link-local",
  loopback: "loopback",
  multicast: "multicast",
  private: "private",
  uniqueLocal: "private",
  unspecified: "unspecified",
};
