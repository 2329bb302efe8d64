import { ownObjects } from "../../api/names.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { issuersResult } from "../admin/issuers.ts";
import { plainItem } from "../report.ts";
import { type Checked, forbiddenItem } from "./lease-item.ts";

/** Whether the ConfigMap with the issuers of tokens is taken; no item without it. */
export async function issuerItems({ cluster, namespace }: Checked): Promise<readonly ReportItem[]> {
  const resource = resources.configMaps;
  const ref = { namespace, name: ownObjects.issuers };
  const object = { kind: resource.kind, ...ref };
  try {
    const result = issuersResult(await cluster.get(resource, ref));
    if (result.kind === "issuers") {
      const urls = result.issuers.map(({ url }) => JSON.stringify(url)).join(", ");
      return [plainItem(object, ["ok", "IssuersTaken"], `Tokens of ${urls || "nobody"} count.`)];
    }
    const { field, problem } = result;
    const message =
      `${field === "" ? "The text" : field} ${problem}. ` +
      "Until it is corrected, a running webhook and gateway use the former issuers.";
    return [plainItem(object, ["problem", "IssuersRefused"], message)];
  } catch (error) {
    return isKubeError(error, "NotFound") ? [] : [forbiddenItem(object, error)];
  }
}
