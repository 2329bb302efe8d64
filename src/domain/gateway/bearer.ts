import { SecretText } from "../../api/secret-text.ts";
import { type RawHeaders, valuesOfField } from "./raw-headers.ts";

/** The credential of a request, and its WebSocket sub-protocols without it. */
interface Bearer {
  readonly token: SecretText | undefined;
  /** Undefined if the request has no header sec-websocket-protocol. */
  readonly subprotocols: string | undefined;
}

const subprotocolPrefix = "base64url.bearer.authorization.k8s.io.";

/**
 * Clients of Kubernetes offer five at most; with more, a request counts as one without a
 * credential.
 */
export const mostSubprotocols = 32;

/**
 * The bearer token of a request: in the header Authorization (RFC 6750, section 2.1) or, for a
 * browser, in a WebSocket sub-protocol, as kube-apiserver reads it. Undefined if there is none, if
 * there are two, or if the header has another form.
 */
export function bearerOf(rawHeaders: RawHeaders): Bearer {
  const header = valuesOfField(rawHeaders, "authorization");
  const sent = valuesOfField(rawHeaders, "sec-websocket-protocol");
  if (sent.length === 0) return { token: tokenOfHeader(header), subprotocols: undefined };
  const all = sent.join(",").split(",", mostSubprotocols + 1);
  if (all.length > mostSubprotocols) return { token: undefined, subprotocols: undefined };
  const names = all.map((part) => part.trim());
  const encoded = names.filter((part) => part.startsWith(subprotocolPrefix));
  const others = names.filter((part) => !part.startsWith(subprotocolPrefix));
  const subprotocols = others.join(", ");
  if (encoded.length === 0) return { token: tokenOfHeader(header), subprotocols };
  // A server has to choose one sub-protocol, and must not choose the credential.
  const isUsable =
    encoded.length === 1 && header.length === 0 && others.some((part) => part !== "");
  const token = isUsable
    ? tokenOfSubprotocol(encoded[0]?.slice(subprotocolPrefix.length) ?? "")
    : undefined;
  return { token, subprotocols };
}

function tokenOfHeader(values: readonly string[]): SecretText | undefined {
  const match = values.length === 1 ? /^bearer +(\S+)$/i.exec(values[0] ?? "") : null;
  return match === null ? undefined : new SecretText(match[1] ?? "");
}

/** Base64url without padding (RFC 4648, section 5). */
function tokenOfSubprotocol(encoded: string): SecretText | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(encoded) || encoded.length % 4 === 1) return undefined;
  return new SecretText(Buffer.from(encoded, "base64url").toString("latin1"));
}
