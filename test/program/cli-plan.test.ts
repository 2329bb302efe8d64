import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dump } from "js-yaml";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { keyOf } from "../../src/api/object.ts";
import { parseRole, parseRoleBinding } from "../../src/api/role.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl } from "../support/kubectl.ts";
import { api, allow, unique } from "../support/policy-request.ts";
import { reportProblems } from "../support/report-shape.ts";
import { type CliOptions, type CliResult, runCli } from "../support/run-cli.ts";
import { base64, sharedSecretPath } from "../support/shared-secret-requests.ts";
import { liveSnapshot } from "../product/live-snapshot.ts";

const project = unique("plan");
const [home, web, shop, later] = ["home", "web", "shop", "later"].map((name) =>
  unique(`cli-plan-${name}`),
) as [string, string, string, string];
const canary = "canary-value-of-cli-plan";

type Manifest = Readonly<Record<string, unknown>>;
type Marks = Readonly<Record<string, string>>;

function source(
  given: Marks = { [annotations.syncToProjects]: project },
  {
    name = "db",
    namespace = home,
    data = "first",
    access = [{ verbs: ["get"], users: ["bob"] }],
  }: { name?: string; namespace?: string; data?: string; access?: readonly object[] } = {},
): Manifest {
  const spec = { data: { password: base64(`${canary} ${data}`) }, access };
  return {
    apiVersion,
    kind: "SharedSecret",
    metadata: { namespace, name, annotations: given },
    spec,
  };
}

/** Accepts from nothing but this file's namespaces: a source of another test may name all projects. */
const accepts = { [annotations.sync]: "enabled", [annotations.syncFrom]: `${home},${later}` };

function space(name: string, given: Marks = accepts): Manifest {
  const metadata = { name, labels: { [labels.project]: project }, annotations: given };
  return { apiVersion: "v1", kind: "Namespace", metadata };
}

function secret(namespace: string, name: string, given: Marks = {}): Manifest {
  const metadata = { namespace, name, annotations: given };
  const stringData = { own: `${canary} own` };
  return { apiVersion: "v1", kind: "Secret", metadata, stringData };
}

const syncs = { [annotations.syncToProjects]: project };
const renamed = { ...syncs, [annotations.syncSecretName]: "other" };
const team = [{ verbs: ["get"], users: ["alice"], teams: ["devs"] }];

/** Changes by files, each after the one before, with what the plan says. */
const changes: readonly {
  readonly what: string;
  readonly files: readonly Manifest[];
  readonly copies: readonly string[];
  readonly access?: number;
  readonly stuck?: readonly string[];
}[] = [
  {
    what: "a SharedSecret with its access, and a namespace",
    files: [space(web), source()],
    copies: ["create db in web"],
    access: 2,
  },
  { what: "the same again", files: [space(web), source()], copies: [] },
  {
    what: "labels of copies that no list allows",
    files: [source({ ...syncs, [annotations.copyLabels]: "example.com/tier=gold" })],
    copies: [],
  },
  {
    what: "a namespace that allows them",
    files: [space(web, { ...accepts, [annotations.allowCopyKeys]: "example.com/*" })],
    copies: ["replace db in web"],
  },
  {
    what: "a namespace that does not allow them any more",
    files: [space(web)],
    copies: ["replace db in web"],
  },
  { what: "no labels of copies", files: [source()], copies: [] },
  {
    what: "other data",
    files: [source(syncs, { data: "second" })],
    copies: ["replace db in web"],
  },
  {
    what: "other users",
    files: [source(syncs, { data: "second", access: team })],
    copies: [],
    access: 1,
  },
  { what: "another namespace", files: [space(shop)], copies: ["create db in shop"] },
  {
    what: "another name of the copies",
    files: [source(renamed, { data: "second", access: team })],
    copies: [
      "create other in shop",
      "create other in web",
      "delete db in shop",
      "delete db in web",
    ],
  },
  {
    what: "another type, which needs new Secrets",
    files: [
      source({ ...renamed, [annotations.syncSecretType]: "example.com/one" }, { access: team }),
    ],
    copies: ["replace other in shop", "replace other in web"],
  },
  {
    what: "a namespace that no longer accepts from the source",
    files: [space(shop, { [annotations.sync]: "enabled", [annotations.syncFrom]: "elsewhere" })],
    copies: ["delete other in shop"],
  },
  {
    what: "a newer SharedSecret with the same target",
    files: [source(renamed, { name: "newer", access: [] })],
    copies: [],
    stuck: ["OlderSource"],
  },
  {
    what: "a Secret at the target of a SharedSecret",
    files: [secret(web, "mine"), source(syncs, { name: "mine", access: [] })],
    copies: [],
    stuck: ["NotManaged"],
  },
  {
    what: "a pause with other data",
    files: [
      source(
        { ...renamed, [annotations.disableSync]: "true" },
        { data: "third", access: [...team, { verbs: ["list"], users: ["bob"] }] },
      ),
    ],
    copies: ["release other in web"],
    access: 2,
  },
  {
    what: "the end of the pause and of all access",
    files: [source(renamed, { data: "third", access: [] })],
    copies: ["replace other in web"],
    access: 4,
  },
  {
    what: "an option that is invalid, which keeps the copy",
    files: [source({ ...renamed, [annotations.syncSecretType]: "helm.sh/release.v1" })],
    copies: ["release other in web"],
    access: 2,
  },
  {
    what: "a new namespace with a new SharedSecret, and one that receives it",
    files: [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: later } },
      source(syncs, { namespace: later, name: "late" }),
      space(shop),
    ],
    copies: [
      "create late in shop",
      "create late in web",
      "create mine in shop",
      "create other in shop",
    ],
    access: 2,
  },
  {
    what: "no projects any more",
    files: [source({}, { namespace: later, name: "late" })],
    copies: ["delete late in shop", "delete late in web"],
  },
];

describe.skipIf(inject("cli") === undefined)("kubectl latchkey plan", () => {
  const directory = mkdtempSync(join(tmpdir(), "cli-plan-"));
  const outputs: string[] = [];
  const file = join(directory, "plan.yaml");
  const write = (documents: readonly unknown[]) =>
    writeFileSync(file, documents.map((document) => dump(document)).join("---\n"));
  const plan = async (args: readonly string[] = [], options: CliOptions = {}) => {
    const result = await runCli(
      ["plan", ...(args.includes("-n") ? [] : ["-n", home]), ...args],
      options,
    );
    outputs.push(result.stdout, result.stderr);
    return result;
  };
  const reportOf = ({ stdout }: CliResult) => {
    const report: unknown = JSON.parse(stdout);
    expect(reportProblems(report, "plan", ["Forbidden", "Invalid"])).toEqual([]);
    return planParts(listAt(report, "items"));
  };
  const planned = async (args: readonly string[] = [], options: CliOptions = {}) => {
    const result = await plan([...args, "-o", "json"], options);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    return reportOf(result);
  };
  const apply = () => kubectl(inject("controlPlane"), ["apply", "--server-side", "-f", file]);
  const namespaces = [home, web, shop, later];

  beforeAll(async () => {
    const body = { metadata: { name: home } };
    await api.create("/api/v1/namespaces", body);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Existing namespaces of the test. */
  async function existing(): Promise<readonly string[]> {
    const found = await Promise.all(
      namespaces.map(async (name) => {
        const { code } = await api.find(`/api/v1/namespaces/${name}`);
        return code === 200 ? [name] : [];
      }),
    );
    return found.flat();
  }

  describe("-f says what the controller then does:", () => {
    it.each(changes)("$what", async ({ files, copies, access = 0, stuck = [] }) => {
      write(files);
      const before = await stateOf(await existing());
      const report = await planned(["-f", file]);
      expect(await stateOf(await existing()), "a plan writes nothing").toEqual(before);
      expect(report.copies.map(copyText).toSorted()).toEqual(copies);
      expect(report.access).toHaveLength(access);
      expect(report.stuck.map((entry) => stringAt(entry, "reason"))).toEqual(
        expect.arrayContaining([...stuck]),
      );
      await apply();
      const own = new Set(files.flatMap(secretKeyOf));
      const written = report.copies
        .map((item) => `${stringAt(item, "state")} ${objectKey(item)}`)
        .filter((text) => !text.startsWith("release "))
        .toSorted();
      const given = report.access.map(accessText).toSorted();
      const isDone = async () => {
        const after = await stateOf(await existing());
        expect(differences(before.secrets, after.secrets, own)).toEqual(written);
        expect(accessDifferences(before, after)).toEqual(given);
        return true;
      };
      await eventually(isDone, { what: "the controller" });
      // A plan reads all SharedSecrets of the run, so it is asked only now.
      const isSettled = async () => {
        for (const at of (await existing()).filter((name) => [home, later].includes(name))) {
          const now = await planned(["-n", at]);
          if (now.copies.length + now.access.length > 0) return false;
        }
        return true;
      };
      await eventually(isSettled, { what: "a plan without changes" });
      await isDone();
    });
  });

  it("without a file says nothing of what is current, and names what is stuck", async () => {
    const { code, stdout } = await plan();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Stuck$/m);
    expect(stdout).toContain(`  Secret "${web}/mine" of SharedSecret "${home}/mine"\n`);
    expect(stdout).toContain("is not managed by Latchkey");
    expect(stdout).toMatch(/Nothing changes, \d+ stuck\.\n$/);
    expect(stdout).not.toContain(`create Secret "${web}`);
  });

  it("reads the standard input, and prints text, JSON and YAML", async () => {
    const input = dump(source(syncs, { name: "fresh" }));
    const { stdout } = await plan(["-f", "-"], { input });
    const of = `of SharedSecret "${home}/fresh"\n      `;
    expect(stdout).toContain(
      `  + create Secret "${web}/fresh" ${of}Secret "${web}/fresh" is written`,
    );
    expect(stdout).toContain(
      `  + create RoleBinding ${of}The verbs are get. User "bob" gains access.\n`,
    );
    const yaml = await plan(["-f", "-", "-o", "yaml"], { input });
    expect(yaml.stdout).toContain(`kind: Secret\n      namespace: ${web}\n      name: fresh\n`);
    const { code } = await api.find(sharedSecretPath(home, "fresh"));
    expect(code).toBe(404);
  });

  it("--exit-code is 3 if sync would change something, and 0 if not", async () => {
    const fresh = dump(source(syncs, { name: "fresh" }));
    expect(await plan(["-f", "-", "--exit-code"], { input: fresh })).toMatchObject({ code: 3 });
    expect(await plan(["-f", "-"], { input: fresh })).toMatchObject({ code: 0 });
    const label = { apiVersion: "v1", kind: "Namespace", metadata: { name: home } };
    expect(await plan(["-f", "-", "--exit-code"], { input: dump(label) })).toMatchObject({
      code: 0,
    });
    expect(await plan(["--exit-code"])).toMatchObject({ code: 0 });
  });

  it("says which objects the API server has checked: it can check none of a new namespace", async () => {
    const fresh = unique("cli-plan-new");
    write([space(fresh), source(syncs, { namespace: fresh, name: "unchecked" }), source(syncs)]);
    const { objects } = await planned(["-f", file]);
    expect(objects.map((item) => [objectKey(item), stringAt(item, "reason")])).toEqual([
      [fresh, "Created"],
      [`${fresh}/unchecked`, "NotChecked"],
      [`${home}/db`, "Configured"],
    ]);
  });

  it("names objects that sync does not depend on, and projects without a namespace", async () => {
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web" } };
    const lost = source({ [annotations.syncToProjects]: "no-such-project" }, { name: "lost" });
    write([service, lost]);
    const { notes } = await planned(["-f", directory]);
    expect(notes).toMatchObject([
      {
        object: { kind: "SharedSecret", name: "lost" },
        state: "problem",
        reason: "ProjectWithoutNamespace",
        message: expect.stringContaining(
          "o namespace has a label management.service/project that matches",
        ),
      },
      { object: { kind: "Service", name: "web" }, state: "info", reason: "NotPlanned" },
    ]);
  });

  it("names a data key that a file leaves out and that its object and copies keep", async () => {
    const name = unique("kept");
    const path = sharedSecretPath(home, name);
    const data = { password: base64(canary), user: base64(canary) };
    const object = { apiVersion, kind: "SharedSecret", metadata: { namespace: home, name } };
    const both = { ...object, spec: { data } };
    const create = ["create", "--field-manager=kubectl-create", "-f", "-"];
    await kubectl(inject("controlPlane"), create, { input: dump(both) });
    const kept = {
      object: { kind: "SharedSecret", namespace: home, name },
      state: "info",
      reason: "DataKept",
      message: expect.stringMatching(
        new RegExp(
          '^Field manager "kubectl" applies it without user: field manager "kubectl-create" has ' +
            `set that, .* kubectl latchkey unset ${name} user\\.$`,
        ),
      ),
    };
    write([both]);
    expect((await planned(["-f", file])).notes).toEqual([]);
    write([{ ...object, spec: { data: { password: data.password } } }]);
    const leftOut = await plan(["-f", file, "-o", "json"]);
    expect(reportOf(leftOut).notes).toMatchObject([kept]);
    expect(leftOut.stderr).toMatch(/^kubectl latchkey: warning: spec\.data keeps user, .*\n$/);
    await apply();
    expect(await api.find(path)).toMatchObject({ spec: { data } });
    const why = await runCli(["why", `sharedsecret/${name}`, "-n", home, "-o", "json"]);
    expect(listAt(JSON.parse(why.stdout), "items")).toContainEqual(expect.objectContaining(kept));
    await runCli(["unset", name, "user", "-n", home]);
    expect((await planned(["-f", file])).notes).toEqual([]);
    await api.delete(path);
  });

  it.each([
    ["no YAML", `data: {a: "${canary}`, 2, "is not valid YAML at line 1"],
    ["a value without quotes", value("12345678"), 2, 'data["a"] must be a string; put the value'],
    ["data that is a text", value(undefined), 2, "spec.data must be an object"],
    ["an object without a name", "apiVersion: v1\nkind: Secret\n", 2, "must have metadata.name"],
    ["a document without a kind", "a: b\n", 2, "must have apiVersion and kind"],
    ["a document that is a list", "[a]\n", 2, "a document is not an object"],
    ["an unknown field", `${value(`"${base64(canary)}"`)}  accees: []\n`, 1, ".spec.accees"],
    ["a value that is no base64", value(`"${canary}%"`), 1, "cannot be applied"],
    ["a missing namespace", value('"YQ=="', "no-such-namespace"), 4, "no-such-namespace"],
  ])("refuses %s in one sentence without values", async (_what, text, code, sentence) => {
    writeFileSync(file, text);
    const result = await plan(["-f", file]);
    expect(result).toMatchObject({ code, stdout: "" });
    expect(result.stderr).toMatch(/^kubectl latchkey: [^\n]+\n$/);
    expect(result.stderr).toContain(sentence);
    expect(result.stderr).not.toContain("12345678");
  });

  it("refuses a missing file, and an object that is there twice", async () => {
    expect(await plan(["-f", join(directory, "missing.yaml")])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining('missing.yaml" cannot be read: ENOENT'),
    });
    write([source(), source()]);
    const twice = await plan(["-f", file]);
    expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining("is there twice") });
  });

  it("names the field manager of a conflict, and --force-conflicts takes its fields", async () => {
    const taken = source({ ...renamed, [annotations.disableSync]: "true" }, { access: [] });
    write([taken]);
    const conflict = await plan(["-f", file, "--field-manager=other"]);
    const advice = expect.stringMatching(/conflict with .* or take it over with --force-conflicts/);
    expect(conflict).toMatchObject({ code: 1, stderr: advice });
    const forced = ["-f", file, "--field-manager=other", "--force-conflicts"];
    expect(await plan(forced)).toMatchObject({ code: 0 });
  });

  describe("for a user with few rights", () => {
    it("names the right that an apply needs", async () => {
      write([source(syncs, { name: "fresh" })]);
      const { code, stdout, stderr } = await plan(["-f", file], { user: "bob" });
      expect([code, stdout]).toEqual([5, ""]);
      expect(stderr).toContain(`SharedSecret "${home}/fresh" of ${file} cannot be applied`);
      expect(stderr).toContain('"bob" cannot patch resource "sharedsecrets"');
    });

    it("names the rights without which it sees nothing, and does not say that all is well", async () => {
      const { code, stdout } = await plan([], { user: "bob" });
      expect(code).toBe(0);
      expect(stdout).toContain("list namespaces\n");
      expect(stdout).toContain("list secrets in all namespaces\n");
      expect(stdout).toMatch(/Nothing that you may see changes\.\n$/);
    });

    it("assumes the copies that a user may not read, and says so", async () => {
      const group = "management.service";
      const user = unique("carol");
      await allow({ kind: "User", name: user }, [
        { apiGroups: [group], resources: ["sharedsecrets"], verbs: ["get", "list", "patch"] },
        { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list"] },
      ]);
      write([source(syncs, { name: "mine", data: "fourth", access: [] })]);
      const asCarol = ["-f", file, "--as", user];
      const seen = async () => {
        const { code, stdout, stderr } = await plan([...asCarol, "-o", "json"]);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        return reportOf({ code, stdout, stderr });
      };
      const report = await eventually(seen, { what: `the rights of ${user}` });
      const asAdmin = await planned(["-f", file]);
      const essence = (item: unknown) => [
        objectKey(item),
        ...["state", "reason"].map((field) => stringAt(item, field)),
      ];
      expect(asAdmin.copies.map(essence)).toEqual([[`${shop}/mine`, "replace", "Arrives"]]);
      expect(asAdmin.stuck.map(essence)).toEqual([[`${web}/mine`, "problem", "NotManaged"]]);
      expect(report.copies.map(essence)).toEqual(asAdmin.copies.map(essence));
      expect(report.stuck.map(essence)).toEqual(asAdmin.stuck.map(essence));
      for (const item of [...report.copies, ...report.stuck])
        expect(listAt(item, "causes").at(-1)).toMatchObject({ reason: "Assumed" });
      const said = [...report.missing, ...report.notes].map((item) => stringAt(item, "message"));
      expect(said).toContain("You may not list secrets in all namespaces.");
      expect(said.join(" ")).toContain("they are assumed to be as their SharedSecrets say");
    });
  });

  it("has printed no value in any of these runs", () => {
    const said = outputs.join("\n");
    expect(outputs.length).toBeGreaterThan(0);
    expect(said).not.toContain(canary);
    expect(said).not.toContain(base64(canary).slice(0, 24));
  });
});

function value(text: string | undefined, namespace = home): string {
  const data = text === undefined ? "data: text" : `data:\n    a: ${text}`;
  return `apiVersion: ${apiVersion}\nkind: SharedSecret\nmetadata: {name: bad, namespace: ${namespace}}\nspec:\n  ${data}\n`;
}

/** The items of a plan: changes of Secrets, of Roles and RoleBindings, and what does not change. */
function planParts(items: readonly unknown[]) {
  const actions = ["create", "replace", "delete", "empty", "release"];
  const kindOf = (item: unknown) => stringAt(recordAt(item, "object"), "kind") ?? "";
  const isChange = (item: unknown) => actions.includes(stringAt(item, "state") ?? "");
  const has =
    (...reasons: readonly string[]) =>
    (item: unknown) =>
      reasons.includes(stringAt(item, "reason") ?? "");
  const isObject = has("Created", "Configured", "NotChecked");
  const isStuck = (item: unknown) =>
    kindOf(item) === "Secret" && stringAt(item, "state") === "problem";
  const others = items.filter(
    (item) => !isChange(item) && !isObject(item) && !isStuck(item) && !has("Forbidden")(item),
  );
  return {
    copies: items.filter((item) => isChange(item) && kindOf(item) === "Secret"),
    access: items.filter((item) => isChange(item) && kindOf(item) !== "Secret"),
    stuck: items.filter(isStuck),
    objects: items.filter(isObject),
    notes: others,
    missing: items.filter((item) => !isStuck(item) && has("Forbidden")(item)),
  };
}

/** The namespace and name of an item. */
function objectKey(item: unknown): string {
  const object = recordAt(item, "object");
  const namespace = stringAt(object, "namespace");
  const name = stringAt(object, "name") ?? "";
  return keyOf(namespace === undefined ? { name } : { namespace, name });
}

function copyText(item: unknown): string {
  const [namespace = "", name = ""] = objectKey(item).split("/");
  const place = namespace.replace(/^cli-plan-(\w+)-.*$/, "$1");
  return `${stringAt(item, "state")} ${name} in ${place}`;
}

function secretKeyOf(manifest: Manifest): readonly string[] {
  const metadata = recordAt(manifest, "metadata");
  const [namespace = "", name = ""] = [stringAt(metadata, "namespace"), stringAt(metadata, "name")];
  return manifest["kind"] === "Secret" ? [keyOf({ namespace, name })] : [];
}

/** What the controller writes in these namespaces. */
interface State {
  readonly secrets: ReadonlyMap<string, string>;
  readonly access: ReadonlyMap<string, { readonly content: string; readonly subjects: string[] }>;
}

async function stateOf(namespaces: readonly string[]): Promise<State> {
  const { secrets } = await liveSnapshot(namespaces);
  const access = new Map<string, { content: string; subjects: string[] }>();
  for (const namespace of namespaces) {
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    for (const item of listAt(await api.get(`${path}/roles`), "items")) {
      const { metadata, rules } = parseRole(item);
      const content = JSON.stringify([rules, metadata.annotations]);
      access.set(`Role ${keyOf(metadata)}`, { content, subjects: [] });
    }
    const bindings = await api.get(`${path}/rolebindings`);
    for (const item of listAt(bindings, "items")) {
      const { metadata, subjects } = parseRoleBinding(item);
      const content = JSON.stringify([subjects, metadata.annotations]);
      const names = subjects.map(({ kind, name }) => `${kind} ${name}`);
      access.set(`RoleBinding ${keyOf(metadata)}`, { content, subjects: names });
    }
  }
  const texts = secrets.map((stored) => {
    const { [annotations.syncError]: _, ...given } = stored.metadata.annotations;
    const content = "digest" in stored ? [stored.type, stored.digest] : [];
    const text = JSON.stringify([stored.metadata.labels, given, content]);
    return [keyOf(stored.metadata), text] as const;
  });
  return { secrets: new Map(texts), access };
}

function differences(
  was: ReadonlyMap<string, string>,
  is: ReadonlyMap<string, string>,
  without: ReadonlySet<string> = new Set(),
): readonly string[] {
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((key) => !without.has(key))
    .flatMap((key) => {
      if (!was.has(key)) return [`create ${key}`];
      if (!is.has(key)) return [`delete ${key}`];
      return was.get(key) === is.get(key) ? [] : [`replace ${key}`];
    })
    .toSorted();
}

/** The changes of Roles and RoleBindings without their names, which depend on uids. */
function accessDifferences({ access: was }: State, { access: is }: State): readonly string[] {
  const contents = (of: State["access"]) =>
    new Map([...of].map(([key, { content }]) => [key, content]));
  return differences(contents(was), contents(is))
    .map((text) => {
      const key = text.slice(text.indexOf(" ") + 1);
      const [before, after] = [was.get(key)?.subjects ?? [], is.get(key)?.subjects ?? []];
      const [kind = ""] = key.split(" ");
      const added = after.filter((subject) => !before.includes(subject));
      const removed = before.filter((subject) => !after.includes(subject));
      return JSON.stringify([text.split(" ")[0], kind, added, removed]);
    })
    .toSorted();
}

function accessText(item: unknown): string {
  const subjects = (reason: string) =>
    listAt(item, "causes")
      .filter((cause) => stringAt(cause, "reason") === reason)
      .map((cause) => {
        const object = recordAt(cause, "object");
        return `${stringAt(object, "kind")} ${stringAt(object, "name")}`;
      });
  const kind = stringAt(recordAt(item, "object"), "kind");
  const changes = [subjects("SubjectAdded"), subjects("SubjectRemoved")];
  return JSON.stringify([stringAt(item, "state"), kind, ...changes]);
}
