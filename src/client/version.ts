import { ownObjects, versionAnnotation } from "../api/names.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { serverVersion } from "../kube/client/server-version.ts";
import { latchkeyVersion } from "../runtime/latchkey-version.ts";
import type { Action } from "./cli.ts";
import type { Cluster } from "./connection/cluster.ts";
import { printable } from "./failure.ts";
import { readObject, rightText } from "./missing-right.ts";
import { resultText } from "./output.ts";

/** `kubectl latchkey version`. */
export const printVersion: Action<"version"> = async ({ flags }, cli) => {
  const { terminal } = cli;
  const found = flags.client ? {} : await versionsIn(await cli.connect(flags), flags, terminal.say);
  const content = { client: latchkeyVersion, ...found };
  terminal.print(
    resultText(flags.output, content, () =>
      Object.entries(content)
        .map(([name, version]) => `${name}: ${printable(version)}\n`)
        .join(""),
    ),
  );
};

/** The versions of the API server and, where the user may read its Lease, of the controller. */
async function versionsIn(
  cluster: Cluster,
  { latchkeyNamespace: namespace }: { readonly latchkeyNamespace: string },
  say: (sentence: string) => void,
): Promise<Readonly<Record<string, string>>> {
  const kubernetes = await serverVersion(cluster.transport);
  const ref = { namespace, name: ownObjects.lease };
  const { found, missing } = await readObject(resources.leases, ref, cluster.getMetadata);
  const marks = recordAt(recordAt(found, "metadata"), "annotations");
  const controller = stringAt(marks, versionAnnotation);
  if (controller !== undefined) return { kubernetes, controller };
  const why = missing.map((right) => `you may not ${rightText(right)}`).join("");
  say(`the version of the controller is not known: ${why || `it has no Lease in ${namespace}`}`);
  return { kubernetes };
}
