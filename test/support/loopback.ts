import { networkInterfaces } from "node:os";

const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
const has = (wanted: string): boolean => addresses.some(({ address }) => address === wanted);

/** The address at which programs of tests listen: of IPv6 on a machine without IPv4. */
export const loopback = has("::1") && !has("127.0.0.1") ? "::1" : "127.0.0.1";

/** The same in a URL. */
export const loopbackHost = loopback === "::1" ? "[::1]" : loopback;

/** Where this machine reaches what listens at an address, such as `:8443`. */
export function reachedAt(address: string): string {
  return address.startsWith(":") ? `${loopbackHost}${address}` : address;
}
