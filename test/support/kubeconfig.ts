import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/** A user of a kubeconfig, with the fields of client-go's `AuthInfo`. */
export type KubeconfigUser = { token: string } | { tokenFile: string };

/**
 * The cluster of a kubeconfig; `certificateAuthority` is PEM text, and ignored for a URL of plain
 * HTTP.
 */
export interface KubeconfigCluster {
  url: string;
  certificateAuthority: string;
}

/**
 * Writes a kubeconfig with a context and a user of the same name for each entry; the first one is
 * current.
 */
export function writeKubeconfig(
  path: string,
  cluster: KubeconfigCluster,
  users: Readonly<Record<string, KubeconfigUser>>,
): void {
  const names = Object.keys(users);
  writePrivately(
    path,
    JSON.stringify(
      {
        apiVersion: "v1",
        kind: "Config",
        "current-context": names[0] ?? "",
        clusters: [
          {
            name: "latchkey",
            cluster: {
              server: cluster.url,
              ...trustIn(cluster),
            },
          },
        ],
        contexts: names.map((name) => ({ name, context: { cluster: "latchkey", user: name } })),
        users: Object.entries(users).map(([name, user]) => ({ name, user })),
      },
      undefined,
      2,
    ),
  );
}

/** The lists of a kubeconfig, as client-go spells them. */
interface Kubeconfig {
  clusters: { name: string; cluster: object }[];
  contexts: { name: string; context: { cluster: string; user: string } }[];
  users: { name: string; user: KubeconfigUser }[];
}

/**
 * Adds a cluster, and a context of the same name with or without a user of that name, to a
 * kubeconfig that this file wrote, or to a new one without a current context.
 */
export function addContext(
  path: string,
  name: string,
  { user, ...cluster }: KubeconfigCluster & { readonly user?: KubeconfigUser },
): void {
  const before: Kubeconfig = existsSync(path)
    ? JSON.parse(readFileSync(path, "utf8"))
    : { apiVersion: "v1", kind: "Config", clusters: [], contexts: [], users: [] };
  const context = { cluster: name, user: user === undefined ? "" : name };
  const after: Kubeconfig = {
    ...before,
    clusters: [...before.clusters, { name, cluster: { server: cluster.url, ...trustIn(cluster) } }],
    contexts: [...before.contexts, { name, context }],
    users: [...before.users, ...(user === undefined ? [] : [{ name, user }])],
  };
  writePrivately(path, JSON.stringify(after, undefined, 2));
}

/** The servers require an explicit setting for plain HTTP. */
function trustIn({
  url,
  certificateAuthority,
}: KubeconfigCluster): Readonly<Record<string, unknown>> {
  if (url.startsWith("http:")) return { "insecure-skip-tls-verify": true };
  return { "certificate-authority-data": Buffer.from(certificateAuthority).toString("base64") };
}

/** Atomically writes a file that only its owner can read. */
export function writePrivately(path: string, content: string): void {
  const draft = `${path}.${process.pid}.draft`;
  writeFileSync(draft, content, { mode: 0o600 });
  renameSync(draft, path);
}
