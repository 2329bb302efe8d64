import { annotations } from "../../api/names.ts";
import { recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { Action } from "../cli.ts";
import { requestLines } from "../keys/key-view.ts";
import { deleteOf, describeOf, listOf } from "../objects/object-actions.ts";

const resource = resources.endpointTokens;

/** `kubectl latchkey token list`. */
export const listTokens: Action<"tokenList"> = listOf(resource);

/** `kubectl latchkey token describe`. */
export const describeToken: Action<"tokenDescribe"> = describeOf(resource, (object) => [
  ["Cluster", clusterOf(object) ?? "every connected cluster that its scope does not exclude"],
  ...requestLines(object),
  ["Signing key", stringAt(recordAt(object, "status"), "keyID")],
]);

/** The cluster that alone accepts a token, by its annotation. */
function clusterOf(object: unknown): string | undefined {
  const metadata = recordAt(object, "metadata");
  return stringMapAt(metadata, "annotations")[annotations.audienceCluster];
}

/** `kubectl latchkey token delete`. */
export const deleteTokens: Action<"tokenDelete"> = deleteOf(resource);
