import type { Metadata } from "../../api/object.ts";
import type { ConnectedCluster } from "./consents.ts";

/**
 * The connected cluster that a Secret with the label `cluster` describes; undefined without a name.
 * A list of projects that is absent or invalid lets none in.
 */
export function connectedClusterOf(_metadata: Metadata): ConnectedCluster | undefined {
  return undefined;
}
