import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { annotations, apiVersion, group, labels } from "../../src/api/names.ts";
import { letInProjects } from "../../src/domain/outbox/connected-clusters.ts";
import { boundDigest } from "../support/bound-digest.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { allow, arrange, bind, unique } from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";

const controlPlane = inject("controlPlane");
const namespace = unique("warnings");
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * The warnings that kubectl prints for a user, without their source; throws if the request is
 * rejected.
 */
async function warnings(
  args: readonly string[],
  { user = "alice", object }: { readonly user?: string; readonly object?: object } = {},
): Promise<readonly string[]> {
  const { code, stderr } = await tryKubectl(
    controlPlane,
    object === undefined ? args : [...args, "--filename=-"],
    { user, input: JSON.stringify(object) },
  );
  if (code !== 0) throw new Error(stderr);
  const prefix =
    /^Warning: Validation failed for ValidatingAdmissionPolicy '[-a-z]+' with binding '[-a-z]+': /;
  return stderr
    .split("\n")
    .filter((line) => prefix.test(line))
    .map((line) => line.replace(prefix, ""));
}

const digest = (): string => boundDigest(randomBytes(32).toString("hex"), "user:alice");
const dry = ["create", "--dry-run=server"];
const inNamespace = ["--namespace", namespace];

beforeAll(async () => {
  await arrange({
    method: "POST",
    path: "/api/v1/namespaces",
    body: { metadata: { name: namespace } },
  });
  await bind({ kind: "User", name: "alice" }, "latchkey-sharedsecret-admin", namespace);
  const creators = await allow({ kind: "Group", name: unique("nobody") }, [
    { apiGroups: [group], resources: ["sharedsecrets"], verbs: ["create"] },
  ]);
  // bob may only create here: he can be the first to use a name.
  await bind({ kind: "User", name: "bob" }, creators, namespace);
  await allow({ kind: "User", name: "alice" }, [
    { apiGroups: [""], resources: ["namespaces"], verbs: ["create", "get", "patch", "update"] },
    { apiGroups: [group], resources: ["projects"], verbs: ["assign", "share"] },
    { apiGroups: [group], resources: ["clusters"], verbs: ["share"] },
    { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
  ]);
  for (const user of ["alice", "bob"])
    await bind({ kind: "User", name: user }, "latchkey-requester");
});

describe.skipIf(!inject("hasPolicies"))("a namespace that would get no copies", () => {
  const object = (given: Readonly<Record<string, string>>, project?: string) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: unique("warned"),
      annotations: given,
      labels: project === undefined ? {} : { [labels.project]: project },
    },
  });

  it.each<[string, object, readonly string[]]>([
    [
      "sync is not enabled",
      object({ [annotations.sync]: "true" }, "web"),
      [
        `metadata.annotations[${annotations.sync}] is "true", so the namespace receives no copies; must be "enabled" or "disabled"`,
      ],
    ],
    [
      "it has no project",
      object({ [annotations.sync]: "enabled" }),
      [
        `metadata.labels[${labels.project}] is missing, so the namespace receives no copies; set it to the name of the project (requires the verb assign on that project)`,
      ],
    ],
    [
      "sync-from contains a glob",
      object({ [annotations.sync]: "enabled", [annotations.syncFrom]: "team-a, *" }, "web"),
      [
        expect.stringContaining(
          `metadata.annotations[${annotations.syncFrom}]: " *" is not a valid namespace name`,
        ),
      ],
    ],
    [
      "an annotation is unknown",
      object({ [`${group}/sync-form`]: "team-a" }),
      [
        expect.stringContaining(
          `metadata.annotations[${group}/sync-form] is unknown on Namespaces and has no effect`,
        ),
      ],
    ],
    [
      "sync-from is empty, as a chart makes it that renders null",
      object({ [annotations.sync]: "enabled", [annotations.syncFrom]: "" }, "web"),
      [expect.stringContaining(`metadata.annotations[${annotations.syncFrom}] is empty, as null`)],
    ],
    [
      "allow-copy-keys has an entry that allows nothing",
      object({ [annotations.allowCopyKeys]: "tier\nexample.com/*\n*" }),
      [
        expect.stringContaining(
          `metadata.annotations[${annotations.allowCopyKeys}]: "*" allows nothing`,
        ),
      ],
    ],
    [
      "everything is valid",
      object(
        {
          [annotations.sync]: "enabled",
          [annotations.syncFrom]: "team-a, team-b",
          [annotations.allowCopyKeys]: "synator/*",
        },
        "web",
      ),
      [],
    ],
    ["sync is disabled", object({ [annotations.sync]: "disabled" }, "web"), []],
    ["it has a project and no sync annotation", object({}, "web"), []],
  ])("gets the expected warnings in one write: %s", async (_what, sent, expected) => {
    expect(await warnings(dry, { object: sent })).toEqual(expected);
  });

  it("gets no second warning when something else changes", async () => {
    const { metadata, ...rest } = object({ [annotations.sync]: "true" });
    expect(await warnings(["create"], { object: { ...rest, metadata } })).toHaveLength(1);
    expect(await warnings(["label", "namespace", metadata.name, "a=b"])).toEqual([]);
    expect(
      await warnings([
        "annotate",
        "--overwrite",
        "namespace",
        metadata.name,
        `${annotations.sync}=yes`,
      ]),
    ).toHaveLength(1);
  });
});

describe.skipIf(!inject("hasPolicies"))("a SharedSecret", () => {
  const object = (
    spec: object,
    {
      name = unique("warned"),
      given = {},
    }: { readonly name?: string; readonly given?: Readonly<Record<string, string>> } = {},
  ) => ({
    apiVersion,
    kind: "SharedSecret",
    metadata: { name, namespace, annotations: given },
    spec,
  });
  const right = {
    data: { a: "QQ==" },
    owner: { user: "alice", team: "ops" },
    access: [
      { verbs: ["*"], users: ["carol"] },
      { verbs: ["get", "list", "watch", "delete"], teams: ["devs"] },
    ],
  };

  it.each<[string, object, readonly unknown[]]>([
    [
      "a rule without subjects",
      object({ access: [{ verbs: ["get"], users: ["carol"] }, { verbs: ["get"] }] }),
      [
        "spec.access[1] names no users or teams and grants nothing; add users or teams, or remove the rule",
      ],
    ],
    [
      "delete without list and watch",
      object({ access: [{ verbs: ["get", "delete"], users: ["carol"] }] }),
      [
        expect.stringContaining(
          'spec.access[0].verbs has "delete" without "list" and "watch", so kubectl delete does not return',
        ),
      ],
    ],
    [
      "an unknown field of the owner",
      object({ owner: { usr: "ops" } }),
      ["spec.owner.usr is unknown and has no effect; must be user or team"],
    ],
    [
      "an unknown annotation",
      object({}, { given: { [`${group}/sync-to-project`]: "web" } }),
      [
        expect.stringContaining(
          `metadata.annotations[${group}/sync-to-project] is unknown on SharedSecrets and has no effect`,
        ),
      ],
    ],
    [
      "nothing, if everything is valid",
      object(right, {
        given: {
          [annotations.disableSync]: "true",
          [annotations.syncSecretName]: "other",
          [annotations.copyLabels]: "tier=gold",
          [annotations.syncFormat]: "dotenv",
          [annotations.refreshNow]: "1",
          [annotations.syncFormatKey]: ".env",
          [annotations.syncFormatFrom]: "A=b",
          [annotations.copyAnnotations]: "example.com/a=b",
        },
      }),
      [],
    ],
    ["nothing, if it is empty", object({}), []],
    [
      "connected clusters without a project",
      object(
        {},
        { given: { [annotations.syncToClusters]: "east", [annotations.syncToProjects]: " " } },
      ),
      [
        `metadata.annotations[${annotations.syncToClusters}] has no effect without metadata.annotations[${annotations.syncToProjects}]; name the projects, too`,
      ],
    ],
    [
      "nothing for connected clusters and a project",
      object(
        {},
        { given: { [annotations.syncToClusters]: "*", [annotations.syncToProjects]: "a" } },
      ),
      [],
    ],
  ])("gets the expected warnings: %s", async (_what, sent, expected) => {
    expect(await warnings(dry, { object: sent })).toEqual(expected);
  });

  it("gets a warning when its last project is removed, and not at other changes", async () => {
    const name = unique("warned");
    const given = { [annotations.syncToClusters]: "east", [annotations.syncToProjects]: "a" };
    const secret = [...inNamespace, "annotate", "sharedsecret", name];
    expect(await warnings(["create"], { object: object({}, { name, given }) })).toEqual([]);
    expect(await warnings([...secret, `${annotations.syncToProjects}-`])).toHaveLength(1);
    expect(await warnings([...secret, "example.com/a=b"])).toEqual([]);
  });

  it("gets a warning when it follows another Secret, and when it follows none without data", async () => {
    const name = unique("followed");
    const secret = [...inNamespace, "annotate", "--overwrite", "sharedsecret", name];
    const says = (followed: string) =>
      `metadata.annotations[${annotations.dataFrom}] changes, so all who may write Secret "${followed}" decide what this SharedSecret shares`;
    const given = { [annotations.dataFrom]: "tls", [annotations.dataFromKeys]: "ca.crt" };
    expect(await warnings(["create"], { object: object({}, { name, given }) })).toEqual([]);
    expect(await warnings([...secret, "example.com/a=b"])).toEqual([]);
    expect(await warnings([...secret, `${annotations.dataFromKeys}=a`])).toEqual([]);
    expect(await warnings([...secret, `${annotations.dataFrom}=other`])).toEqual([says("other")]);
    expect(await warnings([...secret, `${annotations.dataFrom}-`])).toEqual([
      `metadata.annotations[${annotations.dataFrom}] is removed and spec.data is empty, so all copies become empty; ` +
        "set spec.data in the same write, or remove the projects, to remove the copies",
    ]);
    expect(await warnings([...secret, "example.com/a=c"])).toEqual([]);
    expect(await warnings([...secret, `${annotations.dataFrom}=tls`])).toEqual([says("tls")]);
    const patch = { metadata: { annotations: { [annotations.dataFrom]: null } } };
    const data = { spec: { data: { a: "QQ==" } } };
    expect(
      await warnings([
        ...[...inNamespace, "patch", "sharedsecret", name, "--type=merge"],
        `--patch=${JSON.stringify({ ...patch, ...data })}`,
      ]),
    ).toEqual([]);
  });

  it("gets warnings only about changed fields", async () => {
    const name = unique("warned");
    const wrong = { owner: { usr: "ops" }, access: [{ verbs: ["delete"] }] };
    expect(
      await warnings(["create"], {
        object: object(wrong, { name, given: { [`${group}/sync-form`]: "x" } }),
      }),
    ).toHaveLength(4);
    expect(
      await warnings([
        ...inNamespace,
        "patch",
        "sharedsecret",
        name,
        "--type=merge",
        '--patch={"spec":{"data":{"a":"QQ=="}},"metadata":{"labels":{"a":"b"}}}',
      ]),
    ).toEqual([]);
    expect(
      await warnings([
        ...inNamespace,
        "patch",
        "sharedsecret",
        name,
        "--type=merge",
        '--patch={"spec":{"owner":{"teem":"x"}}}',
      ]),
    ).toHaveLength(1);
  });

  it("gets a warning at each client-side apply, which repeats the data in an annotation", async () => {
    const name = unique("warned");
    const says = expect.stringContaining(
      `metadata.annotations[${lastApplied}] contains spec.data because of client-side apply; use kubectl apply --server-side`,
    );
    const applied = (a: string) =>
      warnings(["apply"], { object: object({ data: { a } }, { name }) });
    expect(await applied("QQ==")).toEqual([says]);
    expect(await applied("QUE=")).toEqual([says]);
    expect(await warnings([...inNamespace, "label", "sharedsecret", name, "a=b"])).toEqual([]);
    expect(
      await warnings([...inNamespace, "annotate", "sharedsecret", name, `${lastApplied}-`]),
    ).toEqual([]);
    expect(
      await warnings(["apply", "--server-side", "--force-conflicts"], {
        object: object({ data: { a: "QUFB" } }, { name }),
      }),
    ).toEqual([]);
  });

  it("that keeps a data key which a manifest has no more warns its field manager, once", async () => {
    const name = unique("kept");
    const both = { password: "QQ==", user: "QQ==" };
    expect(await warnings(["create"], { object: object({ data: both }, { name }) })).toEqual([]);
    const apply = (data: object) =>
      warnings(["apply", "--server-side"], { object: object({ data }, { name }) });
    const says = (keys: string, list: string) =>
      `spec.data keeps ${keys}, which field manager "kubectl" does not apply, because another field manager has set it; ` +
      `to remove it from the object and every copy: kubectl latchkey unset ${name} ${list}`;
    expect(await apply({ password: "QQ==" })).toEqual([says("user", "user")]);
    expect(await apply({ password: "QQ==" })).toEqual([]);
    expect(await apply(both)).toEqual([]);
    // Maps of CEL have no order.
    expect([
      [says("password, user", "password user")],
      [says("user, password", "user password")],
    ]).toContainEqual(await apply({}));
    const metadataAlone = unique("kept");
    await warnings(["create"], { object: object({ data: both }, { name: metadataAlone }) });
    const marked = { name: metadataAlone, given: { "example.com/a": "b" } };
    expect(await warnings(["apply", "--server-side"], { object: object({}, marked) })).toEqual([]);
    const { spec } = await arrange({ method: "GET", path: sharedSecretPath(namespace, name) });
    expect(spec).toMatchObject({ data: both });
  });

  it("with values of kubectl latchkey that no manifest has gets no warning", async () => {
    const name = unique("kept");
    await warnings(["create", "--field-manager=kubectl-latchkey"], {
      object: object({ data: { password: "QQ==" } }, { name }),
    });
    const data = { other: "QQ==" };
    expect(
      await warnings(["apply", "--server-side"], { object: object({ data }, { name }) }),
    ).toEqual([]);
  });

  it("with another user as first owner warns users who set its data", async () => {
    const name = unique("squatted");
    // bob grants himself access, and waits for alice's data.
    expect(
      await warnings(["create"], {
        user: "bob",
        object: object({ access: [{ verbs: ["*"], users: ["bob"] }] }, { name }),
      }),
    ).toEqual([]);
    const says = (manager: string) =>
      expect.stringContaining(
        `spec.data changes, but spec.access and spec.owner were not set by field manager "${manager}"; they give access to bob; check`,
      );
    const mine = object({ data: { password: "QQ==" } }, { name });
    expect(await warnings(["apply", "--dry-run=server"], { object: mine })).toEqual(
      expect.arrayContaining([says("kubectl-client-side-apply")]),
    );
    expect(await warnings(["apply", "--server-side"], { object: mine })).toEqual([says("kubectl")]);
    expect(await warnings(["apply", "--server-side"], { object: mine })).toEqual([]);
    // With access in her own manifest, alice decides.
    const decided = object(
      { data: { password: "QUE=" }, access: [{ verbs: ["get"], users: ["carol"] }] },
      { name },
    );
    expect(
      await warnings(["apply", "--server-side", "--force-conflicts"], { object: decided }),
    ).toEqual([]);
    expect(
      (await arrange({ method: "GET", path: sharedSecretPath(namespace, name) })).spec,
    ).toMatchObject({ access: [{ users: ["carol"] }] });
  });
});

describe.skipIf(!inject("hasPolicies"))("the Secret of a connected cluster", () => {
  const clusters = "latchkey-clusters";
  const secret = (projects: string, cluster?: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: unique("warned"),
      namespace: clusters,
      labels: cluster === undefined ? {} : { [labels.cluster]: cluster },
      annotations: { [annotations.projects]: projects },
    },
  });
  const admin = { user: "admin" };
  const about = (text: string) => [expect.stringContaining(text)];

  beforeAll(() => tryKubectl(controlPlane, ["create", "namespace", clusters]));

  it.each<[what: string, projects: string, expected: readonly unknown[]]>([
    ["names", "web, pay,,", []],
    ["all projects", "*", []],
    ["none", "", []],
    ["a glob", "web, pay-*", about('because " pay-*" is not the name of a project')],
    ["a space inside a name", "web pay", about('because "web pay" is not the name of a project')],
    ["another separator", "web;pay", about('because "web;pay" is not the name of a project')],
    ["65 names", "a,".repeat(65), about("must be a list of at most 64 names")],
    ["4097 characters", ",".repeat(4097), about("must be a list of at most 64 names")],
  ])("gets a warning of a list that lets in no project: %s", async (_what, projects, expected) => {
    expect(await warnings(dry, { ...admin, object: secret(projects, "east") })).toEqual(expected);
    const list = letInProjects(projects);
    expect(list.kind === "refused").toBe(expected.length > 0);
  });

  it("gets one without the label of a cluster, and none in another namespace", async () => {
    const object = secret("web");
    expect(await warnings(dry, { ...admin, object })).toEqual(about("has no effect, because"));
    const elsewhere = { ...object, metadata: { ...object.metadata, namespace } };
    expect(await warnings(dry, { ...admin, object: elsewhere })).toEqual([]);
  });

  it("gets one only at a change of the list", async () => {
    const object = secret("web-*", unique("east"));
    expect(await warnings(["create"], { ...admin, object })).toHaveLength(1);
    const annotate = ["--namespace", clusters, "annotate", "secret", object.metadata.name];
    expect(await warnings([...annotate, "example.com/a=b"], admin)).toEqual([]);
    const list = `${annotations.projects}=pay-*`;
    expect(await warnings([...annotate, "--overwrite", list], admin)).toHaveLength(1);
  });
});

describe.skipIf(!inject("hasPolicies"))("a key that may be a digest without its prefix", () => {
  const object = (key: string, name = unique("warned")) => ({
    apiVersion,
    kind: "OwnedAccessKey",
    metadata: { name },
    spec: { user: "alice", key },
  });
  const hex = (bytes: number): string => randomBytes(bytes).toString("hex");
  const says = [expect.stringContaining("spec.key has as many hex digits as a digest")];

  it.each([
    ["64 hex digits", hex(32), says],
    ["64 upper-case hex digits", hex(32).toUpperCase(), says],
    ["an index and a digest in one", hex(40), says],
    ["62 hex digits", hex(31), []],
    ["a key in base64", randomBytes(48).toString("base64url"), []],
    ["a bound digest", digest(), []],
  ])("causes a warning without the key: %s", async (_what, key, expected) => {
    const said = await warnings(dry, { object: object(key) });
    expect(said).toEqual(expected);
    expect(said.join("\n")).not.toContain(key);
  });

  it("causes a warning when it is set, and not at every change", async () => {
    const own = object(hex(32));
    const admin = { user: "admin" };
    expect(await warnings(["create"], { ...admin, object: own })).toEqual(says);
    const patch = (spec: object) =>
      warnings(
        [
          "patch",
          "ownedaccesskey",
          own.metadata.name,
          "--type=merge",
          `--patch=${JSON.stringify({ spec })}`,
        ],
        admin,
      );
    expect(await patch({ displayName: "a" })).toEqual([]);
    expect(await patch({ key: hex(32) })).toEqual(says);
  });
});

describe.skipIf(!inject("hasPolicies"))("deprecated fields", () => {
  const deprecated = [
    "spec.parent is deprecated; use spec.identity",
    "spec.oidcLogin is deprecated; use spec.identity",
    "spec.scope.rules is deprecated; use roles, projects, spaces and virtualClusters of spec.scope",
    "spec.scope.allowServiceCli is deprecated; use spec.scope.roles with the role serviceCLI",
  ];
  const scope = {
    rules: [{ verbs: ["get"], resources: [{ group: "", resources: ["pods"] }] }],
    allowServiceCli: true,
  };
  const object = (kind: string, spec: object, name = unique("warned")) => ({
    apiVersion,
    kind,
    metadata: { name },
    spec,
  });

  it.each<[string, object, readonly string[]]>([
    [
      "keys",
      object("OwnedAccessKey", {
        user: "alice",
        key: digest(),
        parent: "older",
        oidcLogin: { idToken: "canary" },
        scope,
      }),
      deprecated,
    ],
    ["tokens", object("DirectClusterEndpointToken", { scope }), deprecated.slice(2)],
  ])("of %s cause warnings with their names and without a value", async (_kind, sent, expected) => {
    const said = await warnings(dry, { object: sent });
    expect(said).toEqual(expect.arrayContaining([...expected]));
    expect(said.join("\n")).not.toMatch(/canary|older/);
  });

  it("of the key of an agent cause no warning, because nothing else covers an outbox", async () => {
    const spec = {
      subject: "latchkey-cluster-agent:east",
      key: digest(),
      scope: { rules: scope.rules },
    };
    const said = await warnings(dry, { user: "admin", object: object("OwnedAccessKey", spec) });
    expect(said.filter((line) => line.includes("deprecated"))).toEqual([]);
  });

  it("cause a warning when they are new, and not at every change", async () => {
    const name = unique("warned");
    const about = async (patch: object) =>
      (
        await warnings(
          ["patch", "ownedaccesskey", name, "--type=merge", `--patch=${JSON.stringify(patch)}`],
          { user: "admin" },
        )
      ).filter((line) => line.includes("deprecated"));
    await arrange({
      method: "POST",
      path: `/apis/${apiVersion}/ownedaccesskeys`,
      body: object("OwnedAccessKey", { key: digest(), parent: "older", scope }, name),
    });
    expect(await about({ spec: { disabled: true } })).toEqual([]);
    expect(await about({ spec: { scope: { projects: [{ project: "web" }] } } })).toEqual([]);
    expect(await about({ spec: { parent: "another" } })).toEqual([deprecated[0]]);
    expect(await about({ spec: { oidcLogin: { idToken: "another" } } })).toEqual([deprecated[1]]);
    expect(await about({ spec: { scope: { rules: [{}] } } })).toEqual([deprecated[2]]);
    expect(await about({ spec: { scope: { allowServiceCli: null } } })).toEqual([]);
    expect(await about({ spec: { scope: { allowServiceCli: true } } })).toEqual([deprecated[3]]);
  });

  it("a key in the annotation of client-side apply causes a warning, a digest does not", async () => {
    const says = expect.stringContaining(
      `metadata.annotations[${lastApplied}] contains a secret of spec.key or spec.oidcLogin`,
    );
    const applied = async (key: string) =>
      (
        await warnings(["apply", "--dry-run=server"], {
          user: "admin",
          object: object("OwnedAccessKey", { key }),
        })
      ).filter((line) => line.includes("last-applied"));
    expect(await applied("a-plain-key-of-somebody")).toEqual([says]);
    expect(await applied(digest())).toEqual([]);
  });
});
