import type { ClusterInfo } from "../../../kube/credentials/kubeconfig-credentials.ts";
import type { NewKeyFormat } from "../connection/connection-options.ts";
import { kubeconfigContent } from "../connection/kubeconfig-content.ts";
import { jsonText, yamlText } from "../output.ts";
import { dotenvText } from "../secrets/values.ts";

/** A new key, and the OwnedAccessKey that holds its digest. */
interface PrintedKey {
  readonly name: string;
  readonly subject: string;
  readonly key: string;
}

/** A new key in the chosen format; without one, the key alone. */
export function newKeyText(
  format: NewKeyFormat | undefined,
  { name, subject, key }: PrintedKey,
  cluster: ClusterInfo,
): string {
  switch (format) {
    case undefined:
      return `${key}\n`;
    case "env":
      return variablesText(key, cluster);
    case "kubeconfig":
      return yamlText(kubeconfigContent(name, cluster, { token: key }));
    case "json":
      return jsonText({ name, subject, key, server: cluster.server });
    case "yaml":
      return yamlText({ name, subject, key, server: cluster.server });
  }
}

/** Lines that a shell, Docker and dotenv libraries read alike: quotes only where they are needed. */
function variablesText(
  key: string,
  { server, "certificate-authority-data": ca }: ClusterInfo,
): string {
  const variables: readonly (readonly [name: string, value: string | undefined])[] = [
    ["LATCHKEY_ACCESS_KEY", key],
    ["LATCHKEY_SERVER", server],
    ["LATCHKEY_CERTIFICATE_AUTHORITY_DATA", ca],
  ];
  return variables
    .flatMap(([name, value]) => {
      if (value === undefined) return [];
      const isPlain = /^[\w./:=+@%-]*$/.test(value);
      return isPlain ? `${name}=${value}\n` : dotenvText([[name, value]]);
    })
    .join("");
}
