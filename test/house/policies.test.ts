import { readdirSync, readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { describe, expect, test } from "vitest";
import { annotations, labels, ownLabel } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { neededVerbs } from "../../src/domain/access-key/needed-verbs.ts";

const directories = ["policies", "connected-policies"].map(
  (name) => new URL(`../../config/${name}/`, import.meta.url),
);
const objects = directories.flatMap((directory) =>
  readdirSync(directory)
    .filter((name) => name !== "kustomization.yaml")
    .flatMap((name) => loadAll(readFileSync(new URL(name, directory), "utf8"))),
);
const specs = (kind: string) =>
  objects
    .filter((object) => stringAt(object, "kind") === kind)
    .map((object) => ({
      name: stringAt(recordAt(object, "metadata"), "name") ?? "",
      spec: recordAt(object, "spec"),
    }));
const policies = specs("ValidatingAdmissionPolicy");
const specOf = (policy: string) => policies.find(({ name }) => name === policy)?.spec ?? {};
const variablesOf = (policy: string) =>
  listAt(specOf(policy), "variables").map((variable) => ({
    name: stringAt(variable, "name") ?? "",
    expression: stringAt(variable, "expression") ?? "",
  }));
const expressionOf = (policy: string, variable: string): string =>
  variablesOf(policy).find(({ name }) => name === variable)?.expression ?? "";
/** The names of Latchkey in quotes, in a CEL expression. */
const quotedIn = (expression: string): readonly string[] =>
  [...expression.matchAll(/'(management\.service\/[^']+)'/g)].map(([, text = ""]) => text);
const actionsOf = new Map(
  specs("ValidatingAdmissionPolicyBinding").map(({ spec }) => [
    stringAt(spec, "policyName"),
    stringsAt(spec, "validationActions"),
  ]),
);
const denies = ({ name }: { readonly name: string }): boolean =>
  actionsOf.get(name)?.includes("Deny") ?? false;

// A policy cannot set the field of an error: with Invalid, kubectl prints "is invalid: :".
test("a policy rejects with Forbidden, and its message names the field", () => {
  const validations = policies.filter(denies).flatMap(({ name, spec }) =>
    listAt(spec, "validations").map((validation) => ({
      name,
      reason: stringAt(validation, "reason") ?? "Invalid",
    })),
  );
  expect(validations.filter(({ reason }) => reason !== "Forbidden")).toEqual([]);
});

test("a policy either denies and fails closed, or warns and fails open", () => {
  const modes = policies.map(
    (policy) =>
      `${actionsOf.get(policy.name)?.join(",")} ${stringAt(policy.spec, "failurePolicy")}`,
  );
  expect(modes.filter((mode) => mode !== "Deny Fail" && mode !== "Warn Ignore")).toEqual([]);
});

test("the name of a policy begins with latchkey-warn- if and only if it warns", () => {
  expect(
    policies
      .filter((policy) => policy.name.startsWith("latchkey-warn-") === denies(policy))
      .map(({ name }) => name),
  ).toEqual([]);
});

/** A write as kube-apiserver matches it with policies. */
interface Write {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly group?: string;
  readonly resource: string;
  /** The labels of its namespace; absent for an object that has none. */
  readonly namespace?: Readonly<Record<string, string>>;
}

/** The bindings whose policies kube-apiserver evaluates for a write, without their prefix. */
function matching({ operation, group = "", resource, namespace }: Write): readonly string[] {
  const isNamed = (value: string) => (list: readonly string[]) =>
    list.includes(value) || list.includes("*");
  const isIn = (rule: unknown): boolean =>
    isNamed(group)(stringsAt(rule, "apiGroups")) &&
    isNamed(resource)(stringsAt(rule, "resources")) &&
    isNamed(operation)(stringsAt(rule, "operations")) &&
    isNamed(namespace === undefined ? "Cluster" : "Namespaced")([stringAt(rule, "scope") ?? "*"]);
  const isSelected = (selector: Readonly<Record<string, unknown>>): boolean =>
    namespace === undefined ||
    (Object.entries(recordAt(selector, "matchLabels")).every(
      ([key, value]) => namespace[key] === value,
    ) &&
      listAt(selector, "matchExpressions").every((one) =>
        stringsAt(one, "values").includes(namespace[stringAt(one, "key") ?? ""] ?? ""),
      ));
  return [...policies, ...specs("MutatingAdmissionPolicy")]
    .filter(({ spec }) => {
      const constraints = recordAt(spec, "matchConstraints");
      return (
        listAt(constraints, "resourceRules").some(isIn) &&
        !listAt(constraints, "excludeResourceRules").some(isIn) &&
        isSelected(recordAt(constraints, "namespaceSelector"))
      );
    })
    .map(({ name }) => name.replace("latchkey-", ""))
    .toSorted();
}

const own = "management.service";
const guards = [
  "derived-credentials",
  "object-bounds",
  "requester-annotations",
  "requester-lock",
  "scope-bounds",
  "scope-wildcards",
];
const warnings = ["warn-deprecated-fields", "warn-scope"];

// A matching binding costs kube-apiserver 0.02 to 0.1 ms of a write where its condition is false, and
// 0.1 to 0.6 ms where it is evaluated (make bench PARTS=admission).
test.each<[what: string, write: Write, bindings: readonly string[]]>([
  [
    "a key",
    { operation: "CREATE", group: own, resource: "ownedaccesskeys" },
    [...guards, ...warnings, "mint-guard", "warn-key"],
  ],
  [
    "a direct token",
    { operation: "CREATE", group: own, resource: "directclusterendpointtokens" },
    [...guards, ...warnings, "token-audience", "warn-token-audience"],
  ],
  [
    "a SharedSecret",
    { operation: "CREATE", group: own, resource: "sharedsecrets", namespace: {} },
    ["cluster-share", "data-from", "object-bounds", "project-share", "warn-shared-secret"],
  ],
  [
    "a copy, or another Secret",
    { operation: "CREATE", resource: "secrets", namespace: {} },
    ["derived-credentials", "own-secrets"],
  ],
  ["a ConfigMap", { operation: "CREATE", resource: "configmaps", namespace: {} }, ["own-secrets"]],
  ["a Pod", { operation: "CREATE", resource: "pods", namespace: {} }, []],
  [
    "a Lease",
    { operation: "UPDATE", group: "coordination.k8s.io", resource: "leases", namespace: {} },
    [],
  ],
  [
    "a Namespace",
    { operation: "CREATE", resource: "namespaces" },
    ["outbox-namespace", "project-assignment", "sync-from", "warn-namespace"],
  ],
  [
    "a Role",
    { operation: "CREATE", group: "rbac.authorization.k8s.io", resource: "roles", namespace: {} },
    ["own-rbac"],
  ],
  [
    "a Secret of an outbox",
    { operation: "CREATE", resource: "secrets", namespace: ownLabel },
    ["derived-credentials", "outbox", "own-secrets"],
  ],
])("%s is matched by these bindings", (what, write, bindings) => {
  const found = matching(write);
  process.stdout.write(`${what}: ${found.length} bindings\n`);
  expect(found).toEqual(bindings.toSorted());
});

// A match condition cannot read variables, so the types stand in both.
test("the usual write that latchkey-own-secrets does not evaluate has no type that it refuses", () => {
  const text = readFileSync(
    new URL("../../config/connected-policies/own-secrets.yaml", import.meta.url),
    "utf8",
  );
  const [condition = "", rules = ""] = text.split("\n  variables:\n");
  const typesIn = (part: string) => [
    ...part.matchAll(/'((?:[a-z.]+)\/(?:token|service-account-token)?)'/g),
  ];
  const named = (part: string) =>
    [...new Set(typesIn(part).map(([, type = ""]) => type))].toSorted();
  expect(named(condition)).toEqual([
    "bootstrap.kubernetes.io/token",
    "helm.sh/",
    "kubernetes.io/service-account-token",
  ]);
  expect(named(rules)).toEqual(named(condition));
});

// kube-apiserver sends these groups to no policy, and since 1.37 to no webhook.
test("no rule of a policy or webhook is about reviews", () => {
  const configurations = ["webhook/admission.yaml", "before-1.36/requester-annotations.yaml"];
  const webhooks = configurations
    .flatMap((path) =>
      loadAll(readFileSync(new URL(`../../config/${path}`, import.meta.url), "utf8")),
    )
    .flatMap((object) => listAt(object, "webhooks"));
  const rules = [
    ...objects.flatMap((object) =>
      listAt(recordAt(recordAt(object, "spec"), "matchConstraints"), "resourceRules"),
    ),
    ...webhooks.flatMap((webhook) => listAt(webhook, "rules")),
  ];
  const groups = new Set(rules.flatMap((rule) => stringsAt(rule, "apiGroups")));
  expect(groups).toContain("management.service");
  expect(groups).not.toContain("authentication.k8s.io");
  expect(groups).not.toContain("authorization.k8s.io");
});

// The policies ask the verbs of the user, and the webhook asks them of the scope of the key.
describe("the webhook requires of a key what the policy requires of a user:", () => {
  const secret = (metadata: object, spec: object = {}) => ({
    kind: "SharedSecret",
    metadata: { name: "db", ...metadata },
    spec,
  });
  type Object = Readonly<Record<string, unknown>>;
  const requires = (verb: string, object: Object, stored: Object): boolean =>
    neededVerbs({ namespace: "a", object, oldObject: stored }).some((one) => one.verb === verb);
  const synced = { [annotations.syncToProjects]: "web" };
  const keys = [...Object.values(annotations), "management.service/copy-new", "example.com/a"];
  const changesOf = (key: string): readonly [Object, Object] => [
    secret({ annotations: { ...synced, [key]: "web,pay" } }),
    secret({ annotations: synced }),
  ];

  test.each(["latchkey-project-share", "latchkey-cluster-share"])(
    "share for the annotations of %s",
    (policy) => {
      const changed = expressionOf(policy, "copiesChanged");
      const [prefix = ""] = quotedIn(expressionOf(policy, "copySet"));
      const listed = [
        ...quotedIn(changed),
        ...variablesOf(policy).flatMap(({ name, expression }) =>
          ["text", "clusterText", "projectText"].includes(name) ? quotedIn(expression) : [],
        ),
      ];
      expect(listed).toEqual(
        expect.arrayContaining([annotations.syncToProjects, annotations.syncToClusters]),
      );
      expect(keys.filter((key) => requires("share", ...changesOf(key)))).toEqual(
        keys.filter((key) => listed.includes(key) || key.startsWith(prefix)),
      );
    },
  );

  test("share on each cluster that latchkey-cluster-share checks one by one", () => {
    const one = /^cluster\d+$/;
    const most = variablesOf("latchkey-cluster-share").filter(({ name }) => one.test(name)).length;
    const asked = (count: number) => {
      const names = Array.from({ length: count }, (_, at) => `c${at}`).join();
      const object = secret({ annotations: { [annotations.syncToClusters]: names } });
      return neededVerbs({ namespace: "a", object, oldObject: undefined }).length;
    };
    expect(expressionOf("latchkey-cluster-share", "isFew")).toContain(`<= ${most}`);
    // The policy rejects more.
    expect([asked(most), asked(most + 1)]).toEqual([most, 0]);
  });

  test("share on all projects for more names than latchkey-project-share checks one by one", () => {
    const one = /^project\d+$/;
    const most = variablesOf("latchkey-project-share").filter(({ name }) => one.test(name)).length;
    const asked = (count: number) => {
      const names = Array.from({ length: count }, (_, at) => `p${at}`).join();
      const object = secret({ annotations: { [annotations.syncToProjects]: names } });
      return neededVerbs({ namespace: "a", object, oldObject: undefined }).length;
    };
    expect(expressionOf("latchkey-project-share", "asksForAll")).toContain(`> ${most} `);
    expect([asked(most), asked(most + 1)]).toEqual([most, 1]);
  });

  test("get for the annotations of latchkey-data-from, and as long a list of access rules", () => {
    const from = { [annotations.dataFrom]: "tls" };
    const prefixes = new Set(
      ["optionSet", "optionRemoved"].flatMap((name) =>
        [...expressionOf("latchkey-data-from", name).matchAll(/startsWith\('([^']+-)'\)/g)].map(
          ([, prefix = ""]) => prefix,
        ),
      ),
    );
    expect(prefixes.size).toBe(2);
    const others = keys.filter((key) => key !== annotations.dataFrom);
    expect(
      others.filter((key) =>
        requires(
          "get",
          secret({ annotations: { ...from, [key]: "web" } }),
          secret({ annotations: from }),
        ),
      ),
    ).toEqual(
      others.filter(
        (key) =>
          key === annotations.dataFromKeys ||
          [...prefixes].some((prefix) => key.startsWith(prefix)),
      ),
    );
    const rules = (count: number, users: number) =>
      Array.from({ length: count }, () => ({
        verbs: ["get"],
        users: Array.from({ length: users }, (_, at) => `u${at}`),
      }));
    const narrowed = (before: readonly object[], after: readonly object[]) =>
      requires(
        "get",
        secret({ annotations: from }, { access: after }),
        secret({ annotations: from }, { access: before }),
      );
    const limits = expressionOf("latchkey-data-from", "isAccessLong");
    const [mostRules = 0, , mostEntries = 0] = [...limits.matchAll(/> (\d+)/g)].map(([, number]) =>
      Number(number),
    );
    expect([
      narrowed(rules(mostRules, 1), rules(mostRules - 1, 1)),
      narrowed(rules(mostRules + 1, 1), rules(mostRules, 1)),
      narrowed(rules(1, mostEntries / 2 - 1), rules(1, mostEntries / 2 - 2)),
      narrowed(rules(1, mostEntries / 2), rules(1, mostEntries / 2 - 1)),
    ]).toEqual([false, true, false, true]);
  });

  test("delete for the annotations and fields of latchkey-access-change", () => {
    const fields = [
      ...expressionOf("latchkey-access-change", "changed").matchAll(/'spec\.(\w+)'/g),
    ];
    expect(
      fields.filter(
        ([, field = ""]) => !requires("delete", secret({}, { [field]: ["a"] }), secret({})),
      ),
    ).toEqual([]);
    expect(fields).not.toEqual([]);
    for (const variable of ["set", "removed"]) {
      const [, pattern = ""] =
        /matches\('([^']+)'\)/.exec(expressionOf("latchkey-access-change", variable)) ?? [];
      const guarded = new RegExp(pattern);
      expect(keys.filter((key) => requires("delete", ...changesOf(key)))).toEqual(
        keys.filter((key) => guarded.test(key)),
      );
    }
  });

  test("delete for the metadata of latchkey-deletion-guard", () => {
    const changed = expressionOf("latchkey-deletion-guard", "changed");
    const [finalizer = ""] = quotedIn(changed);
    const resources = listAt(
      recordAt(specOf("latchkey-deletion-guard"), "matchConstraints"),
      "resourceRules",
    );
    // Policies refuse every change of a key with a key.
    const kinds = resources
      .flatMap((rule) => stringsAt(rule, "resources"))
      .filter((resource) => resource !== "ownedaccesskeys");
    expect(kinds).toEqual(["sharedsecrets", "directclusterendpointtokens"]);
    for (const kind of ["SharedSecret", "DirectClusterEndpointToken"]) {
      const stored = { kind, metadata: { name: "a" } };
      const owned = { kind, metadata: { name: "a", ownerReferences: [{ uid: "u" }] } };
      const held = { kind, metadata: { name: "a", finalizers: [finalizer] } };
      expect([requires("delete", owned, stored), requires("delete", held, stored)]).toEqual([
        true,
        true,
      ]);
    }
  });

  test("assign for the labels of latchkey-project-assignment", () => {
    const listed = quotedIn(expressionOf("latchkey-project-assignment", "changed"));
    const known = Object.values(labels);
    const namespace = (given: object) => ({
      kind: "Namespace",
      metadata: { name: "a", labels: given },
    });
    expect(
      known.filter((label) =>
        requires("assign", namespace({ [label]: "b" }), namespace({ [label]: "a" })),
      ),
    ).toEqual(known.filter((label) => listed.includes(label)));
    expect(listed).not.toEqual([]);
  });
});
