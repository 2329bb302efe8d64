import { isTrueAt, listAt, stringAt } from "../api/parse.ts";
import { bodyOf } from "./answers.ts";
import { isKubeError } from "./errors.ts";
import type { Transport } from "./transport.ts";

/** What the objects of a kind are called in paths and in RBAC. */
export interface ServedKind {
  readonly group: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** Which resource a kind is (Kubernetes API concepts, "Discovery API"). */
export interface Discovery {
  /** Undefined when the API server serves no such kind; throws a KubeError when it cannot be asked. */
  kindOf(apiVersion: string, kind: string): Promise<ServedKind | undefined>;
}

/** Asks the API server each time: kinds come and go, and who asks does so rarely. */
export function createDiscovery(transport: Pick<Transport, "request">): Discovery {
  return {
    async kindOf(apiVersion, kind) {
      const steps = apiVersion.split("/");
      const call = { method: "GET", path: `${steps.length === 1 ? "/api" : "/apis"}/${steps.map(encodeURIComponent).join("/")}` } as const;
      try {
        const list = bodyOf(call, await transport.request(call));
        const found = listAt(list, "resources").find((resource) => stringAt(resource, "kind") === kind && stringAt(resource, "name")?.includes("/") === false);
        const plural = stringAt(found, "name");
        return plural === undefined ? undefined : { group: steps.length === 1 ? "" : (steps[0] ?? ""), plural, namespaced: isTrueAt(found, "namespaced") };
      } catch (error) {
        if (isKubeError(error, "NotFound")) return undefined;
        throw error;
      }
    },
  };
}
