import { isRecord, listAt, recordAt, stringAt } from "../../api/parse.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import { SecretText } from "../../api/secret-text.ts";
import { withoutEnd } from "../../api/text-end.ts";
import { isHttpsServer } from "./direct-address.ts";

/** How the API server of a connected cluster is reached; certificates are PEM. */
export interface ClusterAccess {
  readonly kind: "access";
  /** https, without a trailing slash. */
  readonly server: string;
  readonly ca: string;
  readonly serverName: string | undefined;
  readonly credential:
    | { readonly kind: "token"; readonly token: SecretText }
    | { readonly kind: "certificate"; readonly certificate: string; readonly key: SecretText };
}

/** Why a kubeconfig is not used; the sentence names the field and quotes no value. */
export interface RefusedKubeconfig {
  readonly kind: "refused";
  readonly problem: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a kubeconfig that are used, or mean nothing here. */
const known = {
  top: ["apiVersion", "kind", "clusters", "contexts", "users", "current-context", "preferences"],
  cluster: ["server", "certificate-authority-data", "tls-server-name", "disable-compression"],
  user: ["token", "client-certificate-data", "client-key-data"],
} as const;

/**
 * Reads the current context of a parsed kubeconfig (client-go, clientcmd/api/v1) strictly. A
 * program, a file, a proxy, another user's name or a connection that verifies nothing is refused:
 * programs would run, and files would be read, in the gateway.
 */
export function parseClusterKubeconfig(raw: unknown): ClusterAccess | RefusedKubeconfig {
  if (!isRecord(raw)) return refused("it is not a kubeconfig");
  const [context, contextProblem] = entryOf(raw, "contexts", stringAt(raw, "current-context"));
  if (contextProblem !== undefined) return refused(contextProblem);
  const names = recordAt(context, "context");
  const [clusterEntry, clusterProblem] = entryOf(raw, "clusters", stringAt(names, "cluster"));
  if (clusterProblem !== undefined) return refused(clusterProblem);
  const [userEntry, userProblem] = entryOf(raw, "users", stringAt(names, "user"));
  if (userProblem !== undefined) return refused(userProblem);
  const [cluster, user] = [recordAt(clusterEntry, "cluster"), recordAt(userEntry, "user")];
  const unknown =
    unknownField(raw, known.top, "") ??
    unknownField(cluster, known.cluster, "clusters[].cluster.") ??
    unknownField(user, known.user, "users[].user.");
  if (unknown !== undefined) return refused(`${unknown} is not supported; remove it`);
  return accessOf(cluster, user);
}

function accessOf(cluster: Fields, user: Fields): ClusterAccess | RefusedKubeconfig {
  const address = stringAt(cluster, "server") ?? "";
  const { bytes } = readingBounds.clusterAddress;
  const server = address.length > bytes ? "" : withoutEnd(address, "/");
  if (!isHttpsServer(server))
    return refused(
      `clusters[].cluster.server must be an https URL of at most ${bytes} characters ` +
        "without query and credentials",
    );
  const ca = pemAt(cluster, "certificate-authority-data");
  if (ca === undefined)
    return refused("clusters[].cluster.certificate-authority-data must be base64 of PEM");
  const credential = credentialOf(user);
  if (typeof credential === "string") return refused(credential);
  return {
    kind: "access",
    server,
    ca,
    serverName: stringAt(cluster, "tls-server-name"),
    credential,
  };
}

function credentialOf(user: Fields): ClusterAccess["credential"] | string {
  const token = stringAt(user, "token") ?? "";
  const certificate = pemAt(user, "client-certificate-data");
  const key = pemAt(user, "client-key-data");
  const hasCertificate = certificate !== undefined && key !== undefined;
  if (token !== "" && hasCertificate)
    return "users[].user must have either token or client-certificate-data and client-key-data";
  if (hasCertificate) return { kind: "certificate", certificate, key: new SecretText(key) };
  return /^[\x21-\x7e]+$/.test(token)
    ? { kind: "token", token: new SecretText(token) }
    : "users[].user must have token, or client-certificate-data and client-key-data as base64 " +
        "of PEM";
}

/** The entry of a list that a name names, or what is wrong. */
function entryOf(
  raw: Fields,
  list: "contexts" | "clusters" | "users",
  name: string | undefined,
): readonly [unknown, string | undefined] {
  const found = listAt(raw, list).filter((entry) => stringAt(entry, "name") === (name ?? ""));
  if (name === undefined || found.length === 0)
    return [undefined, `${list} has no entry for the current context`];
  return found.length === 1
    ? [found[0], undefined]
    : [undefined, `${list} has two entries of the same name`];
}

function unknownField(
  fields: Fields,
  names: readonly string[],
  prefix: string,
): string | undefined {
  const found = Object.keys(fields).find((name) => !names.includes(name));
  // A field is a word of the kubeconfig's schema, or any text that the user wrote.
  return found === undefined
    ? undefined
    : `${prefix}${/^[A-Za-z-]{1,40}$/.test(found) ? found : "an unknown field"}`;
}

function pemAt(fields: Fields, name: string): string | undefined {
  const encoded = stringAt(fields, name) ?? "";
  const [digits = ""] = /^[A-Za-z0-9+/\s]*/.exec(encoded) ?? [];
  if (!/^[=\s]*$/.test(encoded.slice(digits.length))) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  return text.includes("-----BEGIN ") ? text : undefined;
}

function refused(problem: string): RefusedKubeconfig {
  return { kind: "refused", problem };
}
