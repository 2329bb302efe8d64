import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { isGuardedNamespace } from "../../../src/domain/scope/derived-credentials.ts";
import { narrows } from "../../../src/domain/scope/narrows.ts";
import { anyRequest, anyScope } from "./arbitraries.ts";
import { anyPair, narrower } from "./narrower.ts";
import { scopePairRows } from "./scope-text.ts";
import { isAllowed } from "./verdict-of.ts";
import { runs } from "../../support/property-runs.ts";

const often = runs(1_000);

const isGuarded = (namespace: string): boolean => isGuardedNamespace(namespace, "latchkey-system");

function isNarrower(child: unknown, parent: unknown): boolean {
  return narrows(parseScopeLimit(child), parseScopeLimit(parent), isGuarded);
}

test("a narrower scope allows nothing that the wider scope denies", () => {
  let narrowed = 0;
  let allowed = 0;
  fc.assert(
    fc.property(
      anyPair,
      fc.array(anyRequest, { minLength: 8, maxLength: 8 }),
      ([child, parent], requests) => {
        if (!isNarrower(child, parent)) return;
        narrowed += 1;
        for (const request of requests) {
          if (!isAllowed(child, request)) continue;
          allowed += 1;
          expect(isAllowed(parent, request)).toBe(true);
        }
      },
    ),
    often,
  );
  // If nothing ever narrowed, the property would prove nothing.
  expect(narrowed).toBeGreaterThan(often.numRuns / 5);
  expect(allowed).toBeGreaterThan(often.numRuns / 10);
});

test("a namespace by name is within no namespaces by name, unless it may be guarded", () => {
  const inNamespaces = (namespaces: readonly string[]) =>
    parseScopeLimit({ rules: [{ namespaces, resources: [{ group: "", resources: ["pods"] }] }] });
  const [child, parent] = [inNamespaces(["web"]), inNamespaces([])];
  const isWithin = (isOneOf: (namespace: string) => boolean) => narrows(child, parent, isOneOf);
  expect([isWithin(isGuarded), isWithin(() => true)]).toEqual([true, false]);
});

test("every scope narrows itself, and a single narrowing step is recognized", () => {
  fc.assert(
    fc.property(anyScope, (scope) => {
      expect(isNarrower(scope, scope)).toBe(true);
      expect(narrower(scope, true).filter((less) => !isNarrower(less, scope))).toEqual([]);
    }),
    runs(250),
  );
});

test("an invalid scope only contains invalid ones, and no scope is only within no scope", () => {
  const limits = [
    "none",
    "unreadable",
    parseScopeLimit({}),
    parseScopeLimit({ rules: [{}] }),
  ] as const;
  expect(limits.map((parent) => limits.map((child) => narrows(child, parent, isGuarded)))).toEqual([
    [true, true, true, true],
    [false, true, false, false],
    [false, true, true, false],
    [false, true, true, true],
  ]);
});

describe("narrows:", () => {
  test.each(
    scopePairRows(`
    a name within * | project web | project *
    a namespace of many | rule namespaces=a,i | rule namespaces=a,b,c,d,e,f,g,h,i
    a space of the project | space web/blue | project web
    a space by name within all spaces of a project | space web/blue | space web/*
    a virtual cluster of the project | virtualCluster web/vc | project web
    a virtual cluster by name | virtualCluster web/vc | virtualCluster */*
    a cluster by name | cluster c1 | cluster *
    rules within a rule that restricts nothing | rule verbs=get + rule resources=pods namespaces=ns
      | rule
    everything within a rule that restricts nothing and a rule that names Secrets
      | project web + cluster c + role viewer + rule verbs=get | rule + rule resources=secrets
    Secrets that both name | rule resources=secrets namespaces=ns | rule resources=secrets,pods
    a guarded namespace that both list | rule resources=pods namespaces=kube-system
      | rule resources=pods namespaces=kube-system,latchkey-system
    a rule that covers nothing in its guarded namespace | rule namespaces=kube-system | rule
    a role in the project | role viewer projects=web | project web
    a role in fewer projects | role viewer projects=web | role viewer projects=web,pay
    allowServiceCli, which is a role | allowServiceCli true | role serviceCLI
    a resource within all of its group | rule resources=pods | rule resources=.
    a resource within * | rule resources=pods | rule resources=*
    resources of two entries | rule resources=pods,services | rule resources=pods;services
    a subresource within pods/* | rule resources=pods/log | rule resources=pods/*
    a subresource within */log | rule resources=pods/log | rule resources=*/log
    reading namespaces within * | rule verbs=get resources=namespaces | rule resources=*
    an escape that both name | rule verbs=patch resources=namespaces | rule resources=namespaces
    impersonating one of the named users | rule verbs=impersonate resources=users resourceNames=ann
      | rule verbs=impersonate,get resources=users resourceNames=ann,bob
    a path below another | rule nonResourceURLs=/logs/a/*,/logs/b | rule nonResourceURLs=/logs/*
    a path within a rule that lists neither paths nor resources
      | rule verbs=get nonResourceURLs=/logs | rule verbs=get
    a path within * | rule nonResourceURLs=/logs/* | rule nonResourceURLs=*
    one cluster | rule cluster=c1 | rule
    the same cluster | rule cluster=c1 verbs=get | rule cluster=c1
    a named virtual cluster of a namespace | rule virtualClusters=ns/vc
      | rule virtualClusters=ns/,wc
    a virtual cluster of a namespace within those of any | rule virtualClusters=ns/vc
      | rule virtualClusters=vc
    a project within a rule that names Secrets and others | project web
      | rule + rule resources=secrets,pods;deployments.apps
    a project within a rule that names Secrets and a path | project web
      | rule + rule resources=secrets nonResourceURLs=/logs
    `),
  )("%s", (_what, child, parent) => {
    expect(isNarrower(child, parent)).toBe(true);
  });
});

describe("does not narrow:", () => {
  test.each(
    scopePairRows(`
    * within a name | project * | project web
    an empty name within * | project  | project *
    another project | project pay | project web
    an additional project | project web + project pay | project web
    a space of another project | space pay/blue | project web + space web/blue
    another space | space web/red | space web/blue
    another virtual cluster | virtualCluster web/wc | virtualCluster web/vc
    a virtual cluster of another project | virtualCluster pay/vc | virtualCluster web/vc
    another cluster | cluster c2 | cluster c1
    another role | role editor | role viewer
    a role in an additional project | role viewer projects=web,pay | role viewer projects=web
    a role in a project and another one | role viewer projects=web,pay | project web
    a role in all projects | role viewer | project web + role viewer projects=web
    a role in all virtual clusters | role viewer | role viewer virtualClusters=vc
    a project, whose Secrets are covered, within a rule that does not name them | project web | rule
    a role within a rule that does not name Secrets | role viewer | rule
    a project within a rule that names Secrets and is restricted | project web
      | rule + rule resources=secrets verbs=get
    a project within a rule that only names Secrets | project web | rule resources=secrets
    Secrets by name within * | rule resources=secrets | rule resources=*
    a guarded namespace that the wider rule does not list
      | rule resources=pods namespaces=ns,kube-system | rule resources=pods
    Latchkey's own namespace that the wider rule does not list
      | rule resources=pods namespaces=latchkey-system | rule resources=pods
    a resource in a guarded namespace that the wider rule does not name
      | rule resources=pods namespaces=kube-system | rule resources=* namespaces=kube-system
    a CRD within * | rule verbs=patch resources=customresourcedefinitions.apiextensions.k8s.io
      | rule
    a location within a rule that restricts | project web | rule verbs=get
    a rule within a project | rule namespaces=web | project web
    all verbs within some | rule | rule verbs=get
    another verb | rule verbs=get,list | rule verbs=get
    all targets within one | rule | rule requestTargets=Cluster
    every cluster within one | rule | rule cluster=c1
    every virtual cluster within one | rule | rule virtualClusters=vc
    an additional virtual cluster of a rule | rule virtualClusters=vc,wc | rule virtualClusters=vc
    another virtual cluster of a rule | rule virtualClusters=ns/wc | rule virtualClusters=ns/vc
    another namespace of a virtual cluster | rule virtualClusters=other/vc
      | rule virtualClusters=ns/vc
    all resources within some | rule namespaces=ns | rule namespaces=ns resources=pods
    all resources of the group within one | rule resources=. | rule resources=pods
    * within pods/* | rule resources=* | rule resources=pods/*,pods
    pods within pods/* | rule resources=pods | rule resources=pods/*
    another subresource within */log | rule resources=pods/exec | rule resources=*/log
    an additional group | rule resources=pods;.apps | rule resources=pods
    an additional resource | rule resources=pods,services | rule resources=pods
    an additional resource, of which one is named | rule verbs=patch resources=secrets,namespaces
      | rule resources=secrets,*
    a subresource within its resource | rule resources=pods/log | rule resources=pods,log/*
    another group | rule resources=pods.apps | rule resources=pods
    all names within some | rule resources=pods | rule resources=pods resourceNames=a
    names within a rule with names and without resources | rule resources=pods resourceNames=a
      | rule resourceNames=a
    all namespaces within some | rule resources=pods | rule resources=pods namespaces=ns
    a namespace that is not among many | rule namespaces=a,j | rule namespaces=a,b,c,d,e,f,g,h,i
    an escape that * covers and does not name | rule verbs=patch resources=namespaces
      | rule resources=*
    an escape by one of several verbs | rule verbs=get,patch resources=namespaces | rule
    an escape by all verbs | rule resources=namespaces | rule
    reading keys | rule verbs=get resources=ownedaccesskeys.management.service | rule
    RBAC roles, which are an escape as a group
      | rule verbs=create resources=roles.rbac.authorization.k8s.io | rule
    impersonation if the verb is not named | rule verbs=impersonate resources=users
      | rule resources=users
    impersonation if the users are not named | rule verbs=impersonate resources=users
      | rule verbs=impersonate
    paths within a rule with only resources | rule nonResourceURLs=/logs | rule resources=pods
    resources within a rule with only paths | rule resources=pods | rule nonResourceURLs=*
    paths and resources within a rule with only resources | rule | rule resources=.
    another path | rule nonResourceURLs=/logsomething | rule nonResourceURLs=/logs/*
    all paths within some | rule nonResourceURLs=* | rule nonResourceURLs=/*
    `),
  )("%s", (_what, child, parent) => {
    expect(isNarrower(child, parent)).toBe(false);
  });
});
