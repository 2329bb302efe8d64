/** The content of a kubeconfig with one context, whose entries are called `latchkey-<name>`. */
export function kubeconfigContent(name: string, cluster: object, user: object): object {
  const entry = `latchkey-${name}`;
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": entry,
    clusters: [{ name: entry, cluster }],
    users: [{ name: entry, user }],
    contexts: [{ name: entry, context: { cluster: entry, user: entry } }],
  };
}
