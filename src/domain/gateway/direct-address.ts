import { certificateBlocks } from "../../api/pem.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import { withoutEnd } from "../../api/text-end.ts";

/** How clients with direct tokens reach a connected cluster without the gateway. */
export interface DirectAddress {
  /** https, without a trailing slash. */
  readonly server: string;
  /** Certificates (PEM); undefined if a public CA signed that of the server. */
  readonly ca: string | undefined;
}

const { bytes: longestServer } = readingBounds.clusterAddress;
const { bytes: longestCa } = readingBounds.clusterCertificates;

/** The data keys of the address and its CA in the Secret of a connected cluster. */
export const directKeys = { server: "direct-server", ca: "direct-ca.crt" } as const;

/**
 * Reads a direct address from the decoded data of a Secret; undefined if it has none, and a
 * sentence that quotes no value if it is not usable. Everything that it accepts is published.
 */
export function parseDirectAddress(
  server: string | undefined,
  ca: string | undefined,
): DirectAddress | string | undefined {
  if (server === undefined)
    return ca === undefined ? undefined : `data[${directKeys.ca}] requires ${directKeys.server}`;
  const address = server.length > longestServer ? "" : withoutEnd(server.trim(), "/");
  if (!isHttpsServer(address))
    return (
      `data[${directKeys.server}] must be an https URL of at most ${longestServer} characters ` +
      "without query and credentials"
    );
  if (ca === undefined) return { server: address, ca: undefined };
  const certificates = ca.length > longestCa ? "" : certificatesIn(ca);
  if (certificates === "")
    return `data[${directKeys.ca}] must be certificates in PEM of at most ${longestCa} characters`;
  return { server: address, ca: certificates };
}

/** Whether a text is an https URL of this length without credentials, query and fragment. */
export function isHttpsServer(text: string): boolean {
  if (text.length > longestServer || !/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text))
    return false;
  const { protocol, username, password } = new URL(text);
  return protocol === "https:" && username + password === "" && !/[?#\\]/.test(text);
}

/** The certificates of a PEM file, which may contain a key by mistake. */
export function certificatesIn(pem: string): string {
  const blocks = certificateBlocks(pem).filter((block) => /^[-A-Za-z0-9+/=\s]*$/.test(block));
  return blocks.map((block) => `${block}\n`).join("");
}
