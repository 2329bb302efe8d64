import fc from "fast-check";
import type { ResourceScope } from "../../../src/api/discovery.ts";
import type { ScopedRequest } from "../../../src/domain/scope/scoped-request.ts";

/** A small vocabulary, so that scopes and requests often match. */
const project = fc.constantFrom("web", "pay");
const cluster = fc.constantFrom("c1", "c2");
const space = fc.constantFrom("blue", "red");
const virtualCluster = fc.constantFrom("vc", "wc");
const namespace = fc.constantFrom(
  "ns",
  "other",
  "",
  "kube-system",
  "latchkey-system",
  "latchkey-cluster-c1",
);
const resourceScope = fc.constantFrom<ResourceScope>(
  "Namespaced",
  "Namespaced",
  "Cluster",
  "Unknown",
);
const verb = fc.constantFrom(
  "get",
  "list",
  "create",
  "patch",
  "impersonate",
  "impersonate:user-info",
  "*",
);
const group = fc.constantFrom(
  "",
  "apps",
  "management.service",
  "rbac.authorization.k8s.io",
  "certificates.k8s.io",
  "authorization.k8s.io",
  "*",
  "apiextensions.k8s.io",
  "constructor",
  "__proto__",
);
const resource = fc.constantFrom(
  "pods",
  "deployments",
  "namespaces",
  "serviceaccounts",
  "nodes",
  "users",
  "ownedaccesskeys",
  "sharedsecrets",
  "secrets",
  "secrets",
  "customresourcedefinitions",
  "roles",
  "signers",
  "selfsubjectaccessreviews",
  "*",
);
const subresource = fc.constantFrom("", "", "log", "scale", "token", "proxy", "status", "*");
const objectName = fc.constantFrom("p", "web", "");
const path = fc.constantFrom(
  "/api",
  "/apis/apps",
  "/logs",
  "/logs/a",
  "/logs/../x",
  "/metrics",
  "/version/",
  "/logs/*",
  "/logs/a*",
  "/api/*",
);
const target = fc.constantFrom<ScopedRequest["target"]>(
  "Management",
  "Cluster",
  "ProjectSpace",
  "ProjectVirtualCluster",
);

const place = {
  target,
  cluster: fc.option(cluster, { nil: undefined }),
  // An option or a path may name a project without a name.
  project: fc.option(fc.oneof({ weight: 9, arbitrary: project }, fc.constant("")), {
    nil: undefined,
  }),
  space: fc.option(space, { nil: undefined }),
  virtualCluster: fc.option(virtualCluster, { nil: undefined }),
  virtualClusterNamespace: fc.option(namespace, { nil: undefined }),
};

/** Any request with this vocabulary; unknown parts of its location are absent. */
export const anyRequest: fc.Arbitrary<ScopedRequest> = fc
  .oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("resource" as const),
        ...place,
        verb,
        group,
        resource,
        subresource,
        name: objectName,
        namespace,
        resourceScope,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("path" as const), ...place, verb, path }),
    },
  )
  .map(
    ({
      cluster: c,
      project: p,
      space: s,
      virtualCluster: v,
      virtualClusterNamespace: n,
      ...request
    }) => ({
      ...request,
      ...(c === undefined ? {} : { cluster: c }),
      ...(p === undefined ? {} : { project: p }),
      ...(s === undefined ? {} : { space: s }),
      ...(v === undefined ? {} : { virtualCluster: v }),
      ...(n === undefined ? {} : { virtualClusterNamespace: n }),
    }),
  );

/** The same in clusters where Latchkey runs in other namespaces. */
export const anyRequestElsewhere: fc.Arbitrary<ScopedRequest> = fc
  .tuple(anyRequest, fc.constantFrom("unknown" as const, new Set(["ns"]), new Set<string>()))
  .map(([request, latchkeyNamespaces]) => ({ ...request, latchkeyNamespaces }));

const orStar = (name: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 3, arbitrary: name }, { weight: 1, arbitrary: fc.constantFrom("*", "") });
const some = <T>(entry: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.oneof(fc.array(entry, { maxLength: 0 }), fc.array(entry, { minLength: 1, maxLength: 2 }));
const optional = { requiredKeys: [] };

const pattern = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(resource, subresource)
      .map(([one, two]) => (two === "" ? one : `${one}/${two}`)),
  },
  { weight: 1, arbitrary: fc.constantFrom("*", "pods/*", "serviceaccounts/*", "*/log", "*/token") },
);

/** Any rule, as written in a spec. */
export const anyRule = fc.record(
  {
    verbs: some(verb),
    resources: some(fc.record({ group, resources: some(pattern) }, optional)),
    resourceNames: some(objectName),
    namespaces: some(namespace),
    nonResourceURLs: some(fc.constantFrom("*", "/logs/*", "/logs", "/metrics")),
    requestTargets: some(target),
    cluster: fc.oneof(fc.constant(""), cluster),
    virtualClusters: some(
      fc.record({ name: fc.oneof(fc.constant(""), virtualCluster), namespace }, optional),
    ),
  },
  optional,
);

/** Any valid scope, as written in a spec. */
export const anyScope = fc.record(
  {
    roles: some(
      fc.record(
        {
          role: fc.constantFrom("viewer", "everything", "serviceCLI", "nobody"),
          projects: some(orStar(project)),
          virtualClusters: some(orStar(virtualCluster)),
        },
        optional,
      ),
    ),
    projects: some(fc.record({ project: orStar(project) }, optional)),
    spaces: some(fc.record({ project: orStar(project), space: orStar(space) }, optional)),
    virtualClusters: some(
      fc.record({ project: orStar(project), virtualCluster: orStar(virtualCluster) }, optional),
    ),
    clusters: some(fc.record({ cluster: orStar(cluster) }, optional)),
    rules: some(anyRule),
    allowServiceCli: fc.boolean(),
  },
  optional,
);
