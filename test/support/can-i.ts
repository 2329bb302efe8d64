import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { askGateway } from "./gateway-request.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { type KubectlAccess, type KubectlResult, tryKubectl } from "./kubectl.ts";
import { unique } from "./policy-request.ts";
import { askAt, type KeyedRequest, selfReview, type WayIn } from "./ways-in.ts";

/** Something that `kubectl auth can-i` is asked, and the request that it is about. */
export interface Question {
  readonly args: readonly string[];
  readonly request: KeyedRequest;
}

/** A way to an API server that narrows what a credential may do, and its kubectl. */
export interface AskedWay extends Required<WayIn> {
  readonly kubectl: Pick<KubectlAccess, "kubectl" | "directory">;
}

interface Kind {
  readonly arg: string;
  readonly base: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
  readonly subresources?: readonly (readonly [verb: string, name: string])[];
  /** What is created without an effect; absent if admission has a say. */
  readonly created?: object;
}

const kinds: readonly Kind[] = [
  {
    ...{ arg: "configmaps", base: "/api/v1", plural: "configmaps", isNamespaced: true },
    created: { metadata: { generateName: "can-i-" } },
  },
  {
    ...{ arg: "secrets", base: "/api/v1", plural: "secrets", isNamespaced: true },
    created: { metadata: { generateName: "can-i-" }, type: "Opaque" },
  },
  {
    ...{ arg: "pods", base: "/api/v1", plural: "pods", isNamespaced: true },
    subresources: [
      ["get", "log"],
      ["create", "exec"],
    ],
  },
  {
    ...{ arg: "serviceaccounts", base: "/api/v1", plural: "serviceaccounts", isNamespaced: true },
    subresources: [["create", "token"]],
    created: { metadata: { generateName: "can-i-" } },
  },
  {
    ...{ arg: "deployments.apps", base: "/apis/apps/v1", plural: "deployments" },
    isNamespaced: true,
    subresources: [
      ["get", "scale"],
      ["patch", "scale"],
    ],
  },
  { arg: "nodes", base: "/api/v1", plural: "nodes", isNamespaced: false },
  { arg: "namespaces", base: "/api/v1", plural: "namespaces", isNamespaced: false },
  {
    ...{ arg: "clusterroles.rbac.authorization.k8s.io", plural: "clusterroles" },
    ...{ base: "/apis/rbac.authorization.k8s.io/v1", isNamespaced: false },
  },
];

const methods = {
  get: "GET",
  list: "GET",
  create: "POST",
  patch: "PATCH",
  delete: "DELETE",
} as const;

/** The namespaces of the questions; the user has rights in the first two. */
export const canINamespaces = ["web", "pay", "other", "kube-system"] as const;

type Random = () => number;

function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("nothing to pick");
  return item;
}

function some<T>(random: Random, items: readonly T[]): readonly T[] {
  return random() < 0.4 ? [] : items.filter(() => random() < 0.5);
}

/** A question of a seed. */
export function randomQuestion(random: Random): Question {
  if (random() < 0.1) {
    const path = pick(random, ["/version", "/metrics", "/logs/one", "/healthz/etcd", "/apis"]);
    return { args: ["get", path], request: { path } };
  }
  const kind = pick(random, kinds);
  const [verb, subresource] =
    kind.subresources !== undefined && random() < 0.4
      ? pick(random, kind.subresources)
      : [pick(random, ["get", "list", "list", "create", "patch", "delete"] as const), ""];
  return questionAbout(random, { kind, verb, subresource });
}

interface Asked {
  readonly kind: Kind;
  readonly verb: string;
  readonly subresource: string;
}

function questionAbout(random: Random, { kind, verb: wanted, subresource }: Asked): Question {
  const isFixed = wanted === "create" && subresource === "" && kind.created === undefined;
  const verb = isFixed ? "get" : wanted;
  const namespace = pick(random, canINamespaces);
  const isEverywhere = verb === "list" && random() < 0.3;
  const isNamed = subresource !== "" || !["list", "create"].includes(verb);
  const name = kind.plural === "namespaces" ? pick(random, canINamespaces) : "none";
  const place = kind.isNamespaced && !isEverywhere ? `/namespaces/${namespace}` : "";
  const below = isNamed ? `/${name}${subresource === "" ? "" : `/${subresource}`}` : "";
  const method = methods[verb as keyof typeof methods];
  const query = method === "GET" ? "" : "?dryRun=All&command=ls";
  return {
    args: [
      ...[verb, isNamed ? `${kind.arg}/${name}` : kind.arg],
      ...(subresource === "" ? [] : [`--subresource=${subresource}`]),
      isEverywhere ? "--all-namespaces" : `--namespace=${namespace}`,
    ],
    request: {
      method,
      path: `${kind.base}${place}/${kind.plural}${below}${query}`,
      ...(verb === "patch" && { type: "application/merge-patch+json", body: {} }),
      ...(verb === "create" && { body: subresource === "" ? (kind.created ?? {}) : {} }),
    },
  };
}

const coreResources = [
  ...["configmaps", "secrets", "pods", "pods/log", "namespaces", "nodes"],
  ...["serviceaccounts", "serviceaccounts/token"],
];

/** A scope of a seed, in which questions are now and then; `cluster` is a connected one. */
export function randomScope(random: Random, cluster: string): object {
  const rule = () => ({
    verbs: some(random, ["get", "list", "create", "patch", "delete"]),
    resources: some(random, [
      // Admission refuses patterns that overlap.
      { group: "", resources: pick(random, [some(random, coreResources), ["pods/*"], ["*"]]) },
      { group: "apps", resources: some(random, ["deployments", "*/scale"]) },
      { group: "rbac.authorization.k8s.io" },
    ]),
    namespaces: some(random, [...canINamespaces, ""]),
    ...(random() < 0.2 && { nonResourceURLs: pick(random, [["*"], ["/logs/*"], ["/metrics"]]) }),
  });
  const kind = random();
  if (kind < 0.1) return {};
  if (kind < 0.3) return { clusters: [{ cluster: pick(random, ["*", cluster]) }] };
  return { rules: Array.from({ length: 1 + Math.floor(random() * 3) }, rule) };
}

/** Namespaces and rights of a user of the questions, as arguments of kubectl for an administrator. */
export function canIRights(user: string): readonly (readonly string[])[] {
  const binding = (name: string, role: string, namespace: string) => [
    ...["create", "rolebinding", name, `--clusterrole=${role}`],
    ...[`--user=${user}`, `--namespace=${namespace}`],
  ];
  return [
    ...canINamespaces.slice(0, 3).map((name) => ["create", "namespace", name]),
    // Namespaces are among what both may list, which no RoleBinding gives.
    binding("can-i-web", "admin", "web"),
    binding("can-i-pay", "view", "pay"),
    ["create", "clusterrole", "can-i", "--verb=get,list", "--resource=nodes,configmaps,pods"],
    ["create", "clusterrolebinding", "can-i", "--clusterrole=can-i", `--user=${user}`],
  ];
}

/** A client of a way in, with a credential. */
export interface CanI {
  /** Runs `kubectl auth can-i`. */
  run(args: readonly string[]): Promise<KubectlResult>;
  /**
   * What kubectl says about a question and, in words, what becomes of the request: `yes` unless it
   * is 403.
   */
  ask(question: Question): Promise<{ readonly says: string; readonly is: string }>;
}

/** Makes such a client, once the credential works there. */
export async function canIAt(credential: string, way: AskedWay): Promise<CanI> {
  const { server, prefix, kubectl } = way;
  const path = join(kubectl.directory, `${unique("can-i")}.kubeconfig`);
  writeKubeconfig(path, { ...server, url: server.url + prefix }, { key: { token: credential } });
  const access = { ...kubectl, kubeconfigs: { key: path } };
  const isKnown = async () => (await askAt({ key: credential }, selfReview, way)).code === 201;
  await eventually(isKnown, { what: "the credential to work" });
  const run = (args: readonly string[]) =>
    tryKubectl(access, ["auth", "can-i", ...args], { user: "key" });
  return {
    run,
    async ask({ args, request }) {
      const { method = "GET", type = "application/json", body } = request;
      const [said, made] = await Promise.all([
        run(args),
        askGateway({
          ...{ method, key: credential, server, path: prefix + request.path, keepAlive: true },
          headers: { "content-type": type },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      ]);
      const [answer = ""] = /^(?:yes|no)\b/.exec(said.stdout) ?? [said.stderr];
      return { says: answer, is: made.status === 403 ? "no" : "yes" };
    },
  };
}
