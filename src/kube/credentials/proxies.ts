import { BlockList, isIP } from "node:net";
import { domainToASCII } from "node:url";
import { UsageError } from "../../runtime/config-values.ts";
import type { Environment } from "../../runtime/options.ts";

/** A proxy through which connections are tunnelled. */
export interface Proxy {
  readonly scheme: "http" | "https" | "socks5";
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** User and password; a function, so that no log and no message prints them. */
  readonly login?: () => readonly [user: string, password: string];
  /** CA certificates (PEM) for an https proxy, in addition to the public ones. */
  readonly ca?: string;
}

/** The proxy for connections to the origin of a URL; undefined: it is connected to directly. */
export type ProxyOf = (url: string) => Proxy | undefined;

/** Where a proxy listens, without its user and password: for messages. */
export function nameOfProxy({ scheme, host, port }: Proxy): string {
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** The address of a proxy as somebody else may see it: without user and password. */
export function withoutLogin(address: string): string {
  const proxy = parseProxy(address);
  return typeof proxy === "string" || proxy.login === undefined ? address : nameOfProxy(proxy);
}

/** Schemes with their default ports (Go, net/http, Transport.Proxy); names are never resolved. */
const schemes: ReadonlyMap<string, readonly [Proxy["scheme"], number]> = new Map([
  ["http", ["http", 80]],
  ["https", ["https", 443]],
  ["socks5", ["socks5", 1080]],
  ["socks5h", ["socks5", 1080]],
]);

/**
 * Parses the address of a proxy: a URL, or host and port of an HTTP proxy. Returns a problem that
 * quotes nothing but the scheme, because the text may have a password.
 */
export function parseProxy(text: string): Proxy | string {
  const address = text.trim();
  const [start, given = "http"] = /^([a-z][a-z0-9+.-]{0,20}):\/\//i.exec(address) ?? [];
  const found = schemes.get(given.toLowerCase());
  if (found === undefined)
    return `has the scheme "${given}", which is not supported; use http://, https:// or socks5://`;
  const [scheme, usualPort] = found;
  const url = URL.parse(start === undefined ? `http://${address}` : address);
  if (url === null || url.hostname === "")
    return "is not the address of a proxy; write it as http://proxy.example.com:3128";
  const login = loginOf(url);
  if (login === undefined)
    return "has a user or password with a % that begins no escape; write it as %25";
  return {
    scheme,
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? usualPort : Number(url.port),
    ...(login.some((part) => part !== "") && { login: () => login }),
  };
}

function loginOf({ username, password }: URL): readonly [string, string] | undefined {
  try {
    return [decodeURIComponent(username), decodeURIComponent(password)];
  } catch {
    return undefined;
  }
}

/**
 * The proxies of HTTPS_PROXY and NO_PROXY, as kubectl reads them (Go, golang.org/x/net/http/
 * httpproxy): names in upper case take precedence, `localhost` and loopback addresses have no
 * proxy, and only https servers have this one. Throws a UsageError for an address that is invalid.
 */
export function environmentProxies(env: Environment): ProxyOf {
  const variable = ["HTTPS_PROXY", "https_proxy"].find((name) => (env[name] ?? "") !== "");
  if (variable === undefined) return () => undefined;
  const proxy = parseProxy(env[variable] ?? "");
  if (typeof proxy === "string") throw new UsageError(`${variable} ${proxy}`);
  const noProxy = env["NO_PROXY"] || (env["no_proxy"] ?? "");
  const exemptions = [isLoopback, ...noProxy.split(",").flatMap(exemptionsOf)];
  return (url) => {
    const { protocol, hostname, port } = new URL(url);
    const target = { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port || "443" };
    const isDirect = protocol !== "https:" || exemptions.some((exempts) => exempts(target));
    return isDirect ? undefined : proxy;
  };
}

interface Target {
  /** In lower case, without brackets. */
  readonly host: string;
  readonly port: string;
}
type Exemption = (target: Target) => boolean;

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const isLoopback: Exemption = ({ host }) => host === "localhost" || isIn(loopback, host);

/** What an entry of NO_PROXY exempts; an entry that is none of its forms exempts nothing. */
function exemptionsOf(text: string): readonly Exemption[] {
  const entry = text.trim().toLowerCase();
  if (entry === "*") return [() => true];
  const network = networkOf(entry);
  if (network !== undefined) return [({ host }) => isIn(network, host)];
  const [, inBrackets, plain, port = ""] = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(entry) ?? [];
  const name = inBrackets ?? plain ?? entry.replace(/^\[(.*)\]$/, "$1");
  if (name === "") return [];
  const address = name.includes("/") ? undefined : networkOf(name);
  const [, start = "", rest = ""] = /^(\*?\.)?(.*)$/.exec(name) ?? [];
  const domain = domainToASCII(rest) || rest;
  const isHost = (host: string): boolean =>
    address === undefined
      ? isIP(host) === 0 && (host.endsWith(`.${domain}`) || (start === "" && host === domain))
      : isIn(address, host);
  return [(target) => (port === "" || port === target.port) && isHost(target.host)];
}

/** The network of an address, or of one in the notation of CIDR, such as `10.0.0.0/8`. */
function networkOf(text: string): BlockList | undefined {
  const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const [family, most] = isIP(address) === 6 ? (["ipv6", 128] as const) : (["ipv4", 32] as const);
  if (isIP(address) === 0 || Number(bits ?? 0) > most) return undefined;
  const list = new BlockList();
  list.addSubnet(address, Number(bits ?? most), family);
  return list;
}

function isIn(list: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && list.check(host, family === 6 ? "ipv6" : "ipv4");
}
