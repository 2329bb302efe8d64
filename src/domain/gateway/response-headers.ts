import { fieldsNamed, hopByHop, type RawHeaders, tokensOf } from "./raw-headers.ts";

/** Fields of an answer that are the gateway's to set, and those that a browser would obey. */
const dropped: ReadonlySet<string> = new Set(["set-cookie", "set-cookie2", "alt-svc", "refresh"]);

/** Where an answer comes from. */
interface ResponseOrigin {
  /** The prefix of the paths of its upstream, such as `/kubernetes/management`. */
  readonly prefix: string;
  /** Whether a backend behind the API server answers, whose redirects are its own. */
  readonly isProxied: boolean;
}

/** The headers that the client gets; undefined for a redirect that leads away from the gateway. */
export function responseHeaders(
  raw: RawHeaders,
  { prefix, isProxied }: ResponseOrigin,
): readonly string[] | undefined {
  const ofConnection = tokensOf(raw, "connection");
  const headers = fieldsNamed(
    raw,
    (name) => !hopByHop.has(name) && !ofConnection.includes(name) && !isDropped(name),
  );
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] !== "location") continue;
    const location = locationWithin(headers[at + 1] ?? "", { prefix, isProxied });
    if (location === undefined) return undefined;
    headers[at + 1] = location;
  }
  return headers;
}

function isDropped(name: string): boolean {
  return dropped.has(name) || name.startsWith("access-control-");
}

/** A path gets the prefix in front; a location with another origin is only a backend's. */
function locationWithin(value: string, { prefix, isProxied }: ResponseOrigin): string | undefined {
  if (value.startsWith("/") && !/^\/[/\\]/.test(value)) return prefix + value;
  if (/^[a-z][a-z0-9+.-]*:|^\/[/\\]|^\\/i.test(value)) return isProxied ? value : undefined;
  return value;
}
