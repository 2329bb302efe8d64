import { isRecord, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { type Cluster, clusterOver } from "../../src/client/connection/cluster.ts";
import type { KubeconfigChoice } from "../../src/kube/credentials/kubeconfig.ts";

/** What a fake cluster holds, by the plural name of the kind, and which lists are forbidden. */
export interface FakeObjects {
  readonly objects: Readonly<Record<string, readonly object[]>>;
  readonly forbidden?: readonly string[];
}

/** The connection of a test to a cluster that does not exist. */
export const fakeChoice: KubeconfigChoice = {
  server: "https://cluster.example",
  namespace: "team-a",
  credential: { kind: "none" },
  insecureSkipTlsVerify: false,
  context: "test",
  certificateAuthority: undefined,
  clientCertificate: undefined,
  clientKey: undefined,
  tlsServerName: undefined,
  proxyUrl: undefined,
  impersonate: undefined,
};

/** The JSON of an object, with a kind as every object of an API server has. */
export function objectText(content: unknown): string {
  return JSON.stringify(isRecord(content) ? { kind: "Kind", ...content } : content);
}

/** A cluster that answers GETs with objects, applies with their body and reviews with yes. */
export function fakeCluster(
  { objects, forbidden = [] }: FakeObjects,
  namespace = fakeChoice.namespace,
): Cluster {
  const failure = (status: number, reason: string) => ({
    status,
    text: JSON.stringify({
      kind: "Status",
      status: "Failure",
      reason,
      message: reason,
      code: status,
    }),
  });
  const request = async (call: { method: string; path: string; body?: unknown }) => {
    const url = new URL(call.path, "https://cluster.example");
    const answer = (content: unknown, status = 200) => ({ status, text: objectText(content) });
    if (url.pathname === "/version") return answer({ gitVersion: "v1.36.2" });
    if (call.method === "POST") {
      const isWanted = !forbidden.includes(
        stringAt(recordAt(recordAt(call.body, "spec"), "resourceAttributes"), "resource") ?? "",
      );
      const userInfo = { username: "alice", groups: ["devs"] };
      return answer({ status: { allowed: isWanted, userInfo, resourceRules: [] } }, 201);
    }
    if (call.method === "PATCH") return answer(call.body, 201);
    if (url.pathname === "/apis/management.service/v1")
      return answer({
        resources: ["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"].map(
          (name) => ({ name }),
        ),
      });
    const steps = url.pathname.split("/").slice(url.pathname.startsWith("/apis/") ? 4 : 3);
    const isIn = steps[0] === "namespaces" && steps.length > 2;
    const [plural = "", name] = isIn ? steps.slice(2) : steps;
    if (forbidden.includes(plural)) return failure(403, "Forbidden");
    const found = (objects[plural] ?? []).filter(
      (object) => !isIn || stringAt(recordAt(object, "metadata"), "namespace") === steps[1],
    );
    if (name === undefined) return answer({ items: found });
    const one = found.find((object) => stringAt(recordAt(object, "metadata"), "name") === name);
    return one === undefined ? failure(404, "NotFound") : answer(one);
  };
  return clusterOver({ request }, { ...fakeChoice, namespace });
}

/** The items of a report by object, state and reason; a name that ends in a digest is `*`. */
export function statesOf(report: unknown): readonly string[] {
  return listAt(report, "items").map((item) => {
    const object = recordAt(item, "object");
    const place = [stringAt(object, "namespace"), stringAt(object, "name")]
      .filter((part) => part !== undefined)
      .join("/")
      .replace(/latchkey-.*-[0-9a-f]{16}$/, "*");
    return `${stringAt(object, "kind")} ${place} ${stringAt(item, "state")} ${stringAt(item, "reason")}`;
  });
}
