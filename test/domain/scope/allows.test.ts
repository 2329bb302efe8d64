import { describe, expect, test } from "vitest";
import type { ScopedRequest } from "../../../src/domain/scope/scoped-request.ts";
import { allows } from "../../../src/domain/scope/allows.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { cellsOf } from "../text-table.ts";
import { requestOf, requestRows, scopeOf } from "./scope-text.ts";
import { context, isAllowed } from "./verdict-of.ts";

const pod = requestOf("pod");

type Case = readonly [string, unknown, ScopedRequest];
type Group = [string, readonly Case[], readonly Case[]];

describe.each<Group>([
  [
    "a scope",
    [["that is absent restricts nothing", undefined, pod]],
    [
      ["that is empty allows nothing", {}, pod],
      ["whose lists are empty allows nothing", { projects: [], rules: [] }, pod],
      ["with an unknown field allows nothing", { rules: [{}], more: [] }, pod],
      ["with a field of another type allows nothing", { rules: [{}], projects: "web" }, pod],
      ["that is invalid does not even allow discovery", { rules: "all" }, requestOf("get /api")],
    ],
  ],
  [
    "a project entry",
    requestRows(`
      covers resources in the project | project web | pod project=web
      covers paths in the project | project web | get /logs target=ProjectVirtualCluster project=web
      * covers every project | project * | pod project=web
    `),
    [
      ["without a name covers nothing", { projects: [{}] }, requestOf("pod project=")],
      ...requestRows(`
        covers no other project | project web | pod project=web2
        covers nothing outside of projects | project * | pod
        supports no globs except * as the whole name | project we* | pod project=web
      `),
    ],
  ],
  [
    "a space entry",
    requestRows(`
      covers the space | space web/blue | pod project=web space=blue
      * covers every space of the project | space web/* | pod project=web space=blue
    `),
    requestRows(`
      does not cover a space with that name in another project | space web/blue
        | pod project=pay space=blue
      covers no other space | space web/blue | pod project=web space=red
      covers only spaces in the project | space web/* | pod project=web
    `),
  ],
  [
    "a virtual cluster entry",
    requestRows(`
      covers the virtual cluster | virtualCluster web/vc
        | pod target=ProjectVirtualCluster project=web virtualCluster=vc
      * covers every virtual cluster of the project | virtualCluster web/*
        | pod project=web virtualCluster=vc
    `),
    requestRows(`
      does not cover a virtual cluster with that name in another project | virtualCluster web/vc
        | pod project=pay virtualCluster=vc
      covers no other virtual cluster | virtualCluster web/vc | pod project=web virtualCluster=wc
    `),
  ],
  [
    "a cluster entry",
    requestRows(`
      covers requests to the cluster | cluster c1 | pod target=Cluster cluster=c1
      * covers every connected cluster | cluster * | pod target=Cluster cluster=c1
      covers the spaces and virtual clusters of the cluster | cluster c1
        | pod target=ProjectSpace cluster=c1 project=web space=blue
    `),
    requestRows(`
      covers no other cluster | cluster c1 | pod target=Cluster cluster=c2
      does not cover the central cluster | cluster * | pod cluster=c1
    `),
  ],
  [
    "a role entry",
    requestRows(`
      covers what its rules permit | role viewer | pod
      covers one subresource of all resources | role viewer | get pods/log p in ns
      covers named objects | role viewer | patch deployments.apps web in ns
      covers paths | role viewer | get /logs/a
      is restricted to projects | role viewer projects=web | pod project=web
      is restricted to each of several projects | role viewer projects=pay,web | pod project=web
      is restricted to virtual clusters | role viewer virtualClusters=vc | pod virtualCluster=vc
      covers a space | role viewer projects=web | pod target=ProjectSpace project=web space=blue
      covers a virtual cluster | role viewer virtualClusters=vc
        | pod target=ProjectVirtualCluster project=web virtualCluster=vc
      covers paths of a virtual cluster | role viewer
        | get /metrics target=ProjectVirtualCluster project=web virtualCluster=vc
      covers namespaces of projects in a connected cluster | role viewer
        | pod target=Cluster cluster=c1 project=web
      serviceCLI reads SharedSecrets | role serviceCLI | list sharedsecrets.management.service in ns
      allowServiceCli is the same role | allowServiceCli true
        | list sharedsecrets.management.service in ns
    `),
    requestRows(`
      does not cover more than its rules | role viewer | delete pods p in ns
      covers no other names | role viewer | get deployments.apps db in ns
      covers nothing outside of projects in a connected cluster | role viewer
        | pod target=Cluster cluster=c1
      covers no path of a connected cluster | role viewer | get /metrics target=Cluster cluster=c1
      covers no other virtual cluster | role viewer virtualClusters=vc
        | pod target=ProjectVirtualCluster project=web virtualCluster=wc
      covers no project without a name | role viewer | pod target=Cluster cluster=c1 project=
      that does not exist covers nothing | role nobody | pod
      covers nothing outside of its projects | role viewer projects=web | pod
      must match both lists | role viewer projects=web virtualClusters=vc | pod project=web
      serviceCLI changes nothing | role serviceCLI | update sharedsecrets.management.service p in ns
      allowServiceCli: false allows nothing | allowServiceCli false
        | get sharedsecrets.management.service p in ns
    `),
  ],
  [
    "a rule",
    requestRows(`
      that restricts nothing covers resources | rule | pod
      that restricts nothing covers paths | rule | get /metrics
      covers its verbs | rule verbs=get | pod
      without resources covers all of the group | rule resources=. | get pods/log p in ns
      covers a resource | rule resources=pods | pod
      covers a subresource | rule resources=pods/log | get pods/log p in ns
      covers every subresource of one | rule resources=pods/* | get pods/log p in ns
      covers one subresource of all resources | rule resources=*/scale | get pods/scale p in ns
      * also covers subresources | rule resources=* | get pods/log p in ns
      covers its names | rule resources=pods resourceNames=p | pod
      covers its namespaces | rule namespaces=ns | pod
      with an empty namespace covers cluster-scoped resources | rule namespaces=
        | get nodes p resourceScope=Cluster
      with an empty namespace covers the resource namespaces | rule namespaces=
        | get namespaces p in ns resourceScope=Cluster
      with a namespace covers the Namespace itself | rule namespaces=ns
        | get namespaces p in ns resourceScope=Cluster
      without namespaces covers a list over all namespaces | rule | list pods
      covers a path | rule nonResourceURLs=/metrics | get /metrics
      covers paths below a path | rule nonResourceURLs=/logs/* | get /logs/a/b
      * covers every path | rule nonResourceURLs=* | get /metrics
      that lists paths and resources covers resources | rule nonResourceURLs=/metrics resources=.
        | pod
      that lists paths and resources covers paths | rule nonResourceURLs=/metrics resources=.
        | get /metrics
      covers its targets | rule requestTargets=Cluster | pod target=Cluster cluster=c1
      covers its cluster | rule cluster=c1 | pod target=Cluster cluster=c1
      covers its virtual clusters | rule virtualClusters=home/vc
        | pod target=ProjectVirtualCluster virtualCluster=vc virtualClusterNamespace=home
      covers each of several virtual clusters | rule virtualClusters=wc,vc
        | pod target=ProjectVirtualCluster virtualCluster=vc
      covers every virtual cluster by an empty entry | rule virtualClusters=
        | pod target=ProjectVirtualCluster virtualCluster=vc
    `),
    requestRows(`
      covers no other verbs | rule verbs=get | list pods p in ns
      takes * literally as a verb | rule verbs=* | pod
      covers no other group | rule resources=pods.apps | pod
      for a resource does not cover its subresources | rule resources=pods | get pods/log p in ns
      for all subresources does not cover the resource | rule resources=pods/* | pod
      for one subresource covers no other | rule resources=*/scale | get pods/log p in ns
      for names does not cover lists | rule resources=pods resourceNames=p | list pods in ns
      for names without resources covers nothing | rule resourceNames=p | pod
      covers no other namespace | rule namespaces=other | pod
      for cluster-scoped resources does not cover a list over all namespaces | rule namespaces=
        | list pods
      for cluster-scoped resources covers nothing in a namespace | rule namespaces= | pod
      for namespaces does not cover a list over all namespaces | rule namespaces=ns | list pods
      covers nothing that the API server does not serve | rule | pod resourceScope=Unknown
      covers no group called constructor that the API server does not serve | rule
        | get pods.constructor p in ns resourceScope=Unknown
      for namespaces does not cover cluster-scoped resources | rule namespaces=ns | get nodes p
      for a path covers nothing below it | rule nonResourceURLs=/logs | get /logs/a
      for paths below a path does not cover the path | rule nonResourceURLs=/logs/* | get /logs
      covers no path with .. segments | rule nonResourceURLs=/logs/* | get /logs/../metrics
      that only lists paths covers no resource | rule nonResourceURLs=* | pod
      that only lists resources covers no path | rule resources=pods | get /metrics
      that only lists namespaces covers no path | rule namespaces=ns | get /metrics
      covers no other target | rule requestTargets=Cluster | pod
      for a cluster covers no other target | rule cluster=c1 | pod cluster=c1
      for a cluster covers no other cluster | rule cluster=c1 | pod target=Cluster cluster=c2
      for virtual clusters covers no other target | rule virtualClusters= | pod virtualCluster=vc
      for a virtual cluster covers no other virtual cluster | rule virtualClusters=vc
        | pod target=ProjectVirtualCluster virtualCluster=wc
      for a virtual cluster in a namespace covers none in other namespaces
        | rule virtualClusters=home/ | pod target=ProjectVirtualCluster virtualCluster=vc
    `),
  ],
  [
    "core Secrets",
    requestRows(`
      are covered by a rule that names them | rule resources=secrets | get secrets p in ns
      are covered by a rule that names them with other resources | rule resources=pods,secrets
        | get secrets p in ns
      are covered by a project | project web | get secrets p in ns project=web
      are covered by a space | space web/* | get secrets p in ns project=web space=blue
      are covered by a virtual cluster | virtualCluster web/vc
        | get secrets p in ns project=web virtualCluster=vc
      are covered by a connected cluster | cluster c1
        | get secrets p in ns target=Cluster cluster=c1
      are covered by a role that names them | role viewer | list secrets in ns
      are only the resource of the core group | rule | get secrets.apps p in ns
    `),
    requestRows(`
      are not covered by a rule without resources | rule | get secrets p in ns
      are not covered by a rule without resources in the group | rule resources=
        | get secrets p in ns
      are not covered by * | rule resources=* | get secrets p in ns
      are not covered by a rule that names secrets of another group | rule resources=secrets.apps
        | get secrets p in ns
      are not covered by one rule that names them elsewhere and one that does not name them
        | rule resources=secrets namespaces=other + rule | get secrets p in ns
      are not covered by a role with wildcards | role everything | get secrets p in ns
      of all namespaces are not covered by a rule that names them | rule resources=secrets
        | list secrets
      of all namespaces are not covered by a role that names them | role viewer | list secrets
      have no subresource that a wildcard covers | rule resources=secrets,secrets/*,*/log
        | get secrets/log p in ns
      have no subresource that a project covers | project web | get secrets/log p in ns project=web
    `),
  ],
  ...["latchkey-system", "latchkey-clusters", "latchkey-cluster-c1", "kube-system"].map(
    (namespace): Group => [
      `what is in namespace ${namespace}`,
      requestRows(`
      is covered by a rule that lists it and the resource
        | rule resources=pods namespaces=ns,${namespace} | get pods p in ${namespace}
      is covered where such a rule names Secrets | rule resources=secrets namespaces=${namespace}
        | get secrets p in ${namespace}
    `),
      requestRows(`
      is not covered by a rule that lists neither | rule | get pods p in ${namespace}
      is not covered by a rule that lists the resource alone | rule resources=pods
        | get pods p in ${namespace}
      is not covered by a rule that lists the namespace alone | rule namespaces=${namespace}
        | get pods p in ${namespace}
      is not covered by a rule that lists the namespace and *
        | rule resources=* namespaces=${namespace} | get pods p in ${namespace}
      is not covered by two rules that list one each
        | rule resources=pods + rule namespaces=${namespace} | get pods p in ${namespace}
      is not covered by a project | project * | get pods p in ${namespace} project=web
      is not covered by a connected cluster | cluster *
        | get pods p in ${namespace} target=Cluster cluster=c1
      is not covered by a role | role viewer | get pods p in ${namespace}
    `),
    ],
  ),
  [
    "regardless of the scope, a key",
    requestRows(`
      may use discovery | empty | get /apis/apps/v1
      may read the version | empty | get /version
      may review its own identity | empty | create selfsubjectreviews.authentication.k8s.io
      may review its own permissions | empty | create selfsubjectaccessreviews.authorization.k8s.io
    `),
    requestRows(`
      may not review the permissions of others | empty
        | create subjectaccessreviews.authorization.k8s.io
      may not write to discovery | empty | post /api
      may not read other paths | empty | get /metrics
    `),
  ],
  [
    "a request that could escape the scope",
    requestRows(`
      is allowed if a rule names the resource | rule resources=serviceaccounts/token
        | create serviceaccounts/token p in ns
      is allowed if a rule names the resource and the verb | rule verbs=impersonate resources=users
        | impersonate users bob resourceScope=Cluster
      does not include reading | rule | get roles.rbac.authorization.k8s.io p in ns
      does not include creating a key, which admission limits | rule
        | create ownedaccesskeys.management.service resourceScope=Cluster
    `),
    requestRows(`
      is not covered by a rule without resources | rule | create serviceaccounts/token p in ns
      is not covered by a wildcard | rule resources=* | create serviceaccounts/token p in ns
      is not covered by a project | project * | create serviceaccounts/token p in ns project=web
      is not covered by a role | role viewer | patch namespaces ns in ns
      to impersonate must be covered by its verb, too | rule resources=users | impersonate users bob resourceScope=Cluster
      to impersonate on a resource must be covered by its verb, too | rule resources=pods
        | impersonate-on:user-info:get pods p in ns
      is reading keys | rule | get ownedaccesskeys.management.service p
      is reading tokens | rule | list directclusterendpointtokens.management.service
      is approving signers | rule | approve signers.certificates.k8s.io p
      is requesting a certificate | rule | create certificatesigningrequests.certificates.k8s.io
      is changing roles | rule | update clusterroles.rbac.authorization.k8s.io p
      is changing policies | rule
        | delete validatingadmissionpolicies.admissionregistration.k8s.io p
      is labelling a namespace | rule | patch namespaces ns in ns
      is using the proxy of a node | rule | get nodes/proxy p
      is changing a CRD | rule | patch customresourcedefinitions.apiextensions.k8s.io p
      is changing keys through any subresource | rule resources=*
        | patch ownedaccesskeys/scale.management.service p
      is deleting a collection of roles | rule
        | deletecollection roles.rbac.authorization.k8s.io in ns
      is finalizing a namespace with a wildcard of subresources | rule resources=*/finalize
        | update namespaces/finalize p in ns
      is registering an aggregated API server | rule | create apiservices.apiregistration.k8s.io
    `),
  ],
  [
    "a question about several requests",
    requestRows(`
      may be about every verb | rule resources=pods | * pods p in ns
      may be about every verb of a role | role everything | * pods p in ns
      may be about every subresource | rule resources=pods/* | get pods/* p in ns
      may be about every subresource, with every resource | rule resources=* | get pods/* p in ns
      may be about reading every subresource of roles | rule
        | get roles/*.rbac.authorization.k8s.io p in ns
      may be about a list of all namespaces | rule | list pods
      may be about a collection of all namespaces | cluster *
        | deletecollection pods target=Cluster cluster=c1
      may be about all namespaces | rule | list namespaces resourceScope=Cluster
      may be about any new namespace | rule resources=namespaces
        | create namespaces resourceScope=Cluster
      may be about all paths below one | rule nonResourceURLs=/logs/* | get /logs/*
      may be about all paths that begin so | rule nonResourceURLs=/logs/* | get /logs/a*
      may be about every path | rule nonResourceURLs=* | get /*
    `),
    requestRows(`
      is not about listed verbs | rule verbs=get,list,*,create resources=pods | * pods p in ns
      is not about the verbs of a role | role viewer | * pods p in ns
      is not about verbs of actors, which include impersonate | rule resources=serviceaccounts
        | * serviceaccounts p in ns
      is not about verbs of users | rule resources=users | * users bob resourceScope=Cluster
      is not about every resource | rule | list * in ns
      is not about every resource of a group | rule resources=*.apps | list *.apps in ns
      is not about every resource of a cluster | cluster * | get * p in ns target=Cluster cluster=c1
      is not about every group | rule | list pods.* in ns
      is not about a pattern of subresources | rule resources=*/* | get pods/* p in ns
      is not about one subresource of all | rule resources=pods/log | get pods/* p in ns
      is not about subresources with a token | rule resources=serviceaccounts/*
        | create serviceaccounts/* p in ns
      is not about subresources with a proxy | rule resources=nodes/*
        | get nodes/* p resourceScope=Cluster
      is not about subresources of Secrets | rule resources=secrets/* | get secrets/* p in ns
      is not about subresources of namespaces | rule resources=namespaces/*
        | update namespaces/* ns in ns resourceScope=Cluster
      is not about subresources in a guarded namespace
        | rule resources=pods/* namespaces=kube-system | get pods/* p in kube-system
      is not about any object of all namespaces | rule | get pods p
      is not about any object of all namespaces of a cluster | cluster *
        | delete pods target=Cluster cluster=c1
      is not about a new object in any namespace | rule | create pods
      is not about any namespace | rule resources=namespaces | get namespaces resourceScope=Cluster
      is not about a path that begins like a listed one | rule nonResourceURLs=/logs | get /logs*
      is not about paths that a literal lists | rule nonResourceURLs=/logs/a* | get /logs/a*
      is not about paths beside discovery | empty | get /healthz*
    `),
  ],
])("%s", (_, allowing, denying) => {
  test.each(allowing)("%s", (_name, scope, request) =>
    expect(isAllowed(scope, request)).toBe(true),
  );
  test.each(denying)("%s", (_name, scope, request) =>
    expect(isAllowed(scope, request)).toBe(false),
  );
});

const ruleMustList = "a rule must list this namespace and this resource by name";

test.each(
  cellsOf(`
    get pods/log p in ns | get pods/log p in namespace ns: no entry of the scope covers it
    list deployments.apps
      | list deployments.apps: no entry of the scope covers it; set one namespace in the tool or in its kubeconfig, or add a role to the scope that allows it
    get /metrics | get /metrics: no entry of the scope covers it
    get things p in ns resourceScope=Unknown
      | get things p in namespace ns: the API server does not serve this resource
    get pods p in kube-system
      | get pods p in namespace kube-system: namespace kube-system is protected; ${ruleMustList}
    list secrets
      | list secrets: a scope does not cover Secrets of all namespaces; request one namespace
    list * in ns
      | list * in namespace ns: that includes requests that only a rule with their names covers; ask for one
    patch namespaces p
      | patch namespaces p: it could escape the scope; a rule must list this resource by name
  `),
)("the reason of a denial names the request and the cause", (request = "", expected) => {
  expect(allows(parseScopeLimit({}), requestOf(request), context)).toEqual({
    kind: "denied",
    by: "scope",
    reason: `the scope of this credential does not allow ${expected}`,
  });
});

describe("a key limited to a namespace", () => {
  const limited = { rules: [{ namespaces: ["web"] }] };
  test.each(["list", "watch"])("may not %s namespaces, and its refusal has the role", (verb) => {
    const request = requestOf(`${verb} namespaces`);
    const verdict = allows(parseScopeLimit(limited), request, context);
    const reason = verdict.kind === "denied" ? verdict.reason : "";
    expect(reason).toContain("; set the namespace in the tool or in its kubeconfig, or add");
    const role = /such as (\w+)$/.exec(reason)?.[1];
    const wider = parseScopeLimit({ ...limited, roles: [{ role }] });
    expect(allows(wider, request, context)).toEqual({ kind: "allowed" });
    expect(allows(wider, requestOf("list pods"), context).kind).toBe("denied");
  });

  test("reads of no role in a connected cluster, where roles are about projects", () => {
    const away = requestOf("list namespaces target=Cluster cluster=east");
    expect(allows(parseScopeLimit(limited), away, context)).toMatchObject({
      reason: expect.stringMatching(/; set the namespace in the tool or in its kubeconfig$/),
    });
  });

  test("may not list pods of all namespaces, and may with a rule without namespaces", () => {
    const wider = { rules: [{ resources: [{ group: "", resources: ["pods"] }] }] };
    expect(allows(parseScopeLimit(limited), requestOf("list pods"), context)).toMatchObject({
      reason: expect.stringContaining("; set one namespace in the tool"),
    });
    expect(allows(parseScopeLimit(wider), requestOf("list pods"), context).kind).toBe("allowed");
  });
});

test("the reason of a denial of Secrets names what a rule lacks, if there is one", () => {
  const secret = requestOf("get secrets p in ns");
  const reasonOf = (scope: unknown) => allows(parseScopeLimit(scope), secret, context);
  expect(reasonOf({ rules: [{}] })).toMatchObject({
    reason: expect.stringMatching(
      /: a rule covers Secrets only if its resources list secrets by name$/,
    ),
  });
  expect(reasonOf({})).toMatchObject({
    reason: expect.stringMatching(/: no entry of the scope covers it$/),
  });
});

test("the reason of a denial names an invalid scope", () => {
  expect(allows("unreadable", pod, context)).toEqual({
    kind: "denied",
    by: "scope",
    reason:
      "the scope of this credential does not allow get pods p in namespace ns: the scope is invalid",
  });
});

test.each(["pod projct=web", "get pods in ns extra"])(
  "the request %s of a row is rejected as a typo",
  (text) => {
    expect(() => requestOf(text)).toThrow(/^not a/);
  },
);

test.each(["projct web", "rule verb=get", "project web + sapce web/blue"])(
  "the scope %s of a row is rejected as a typo",
  (text) => {
    expect(() => scopeOf(text)).toThrow(/^not a field/);
  },
);
