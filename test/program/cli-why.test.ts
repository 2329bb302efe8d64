import { beforeAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { listAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { allowRequesters, make } from "../support/keys-and-tokens.ts";
import { api, bind, unique } from "../support/policy-request.ts";
import { reportProblems } from "../support/report-shape.ts";
import { type CliResult, runCli } from "../support/run-cli.ts";
import { secretPath } from "../support/shared-secret-requests.ts";
import { copied, healthy, makeSync, mistakes, secretValue } from "./why-mistakes.ts";

const skip = inject("cli") === undefined;

async function why(
  args: readonly string[],
  user = "admin",
): Promise<CliResult & { readonly items: readonly unknown[] }> {
  const result = await runCli(["why", ...args, "-o", "json", "--exit-code"], { user });
  const report: unknown =
    result.stdout === "" ? { kind: "Report", items: [] } : JSON.parse(result.stdout);
  expect(`${result.stdout}${result.stderr}`).not.toContain(secretValue);
  expect(reportProblems(report, "why", ["Forbidden"])).toEqual([]);
  return { ...result, items: listAt(report, "items") };
}

/** The item of a missing right, as {@link why} finds it. */
function hidden(object: object, message: string): unknown {
  return expect.objectContaining({ object, reason: "Forbidden", message });
}

beforeAll(async () => {
  if (!skip) await allowRequesters("devs");
});

describe.skipIf(skip).concurrent("kubectl latchkey why names the object and the field", () => {
  it.for(mistakes)("$title", async ({ make: makeMistake }) => {
    const { args, reason, object, field } = await makeMistake();
    const expected = expect.objectContaining({
      state: "problem",
      reason,
      causes: expect.arrayContaining([expect.objectContaining({ object, field })]),
    });
    const answers = async () => {
      const { code, items, stderr } = await why(args);
      expect({ code, items, stderr }).toMatchObject({
        code: 3,
        items: expect.arrayContaining([expected]),
      });
      return true;
    };
    await eventually(answers, { what: reason });
    const shown = async () => {
      const { stdout, stderr, code } = await runCli(["why", ...args]);
      expect(stdout).not.toContain(secretValue);
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(stdout).toContain("PROBLEM");
      expect(stdout).toContain(field);
      return true;
    };
    await eventually(shown, { what: "the table" });
  });
});

describe.skipIf(skip).concurrent("kubectl latchkey why finds nothing wrong with", () => {
  it.for(healthy)("$title", async ({ make: makeHealthy }) => {
    const args = await makeHealthy();
    const answers = async () => {
      const { code, items, stderr } = await why(args);
      expect({ code, items, stderr }).toMatchObject({ code: 0 });
      expect(items).not.toEqual([]);
      expect(JSON.stringify(items)).not.toMatch(/"state":"(?:unknown|problem)"/);
      return true;
    };
    await eventually(answers, { what: args.join(" ") });
  });
});

describe.skipIf(skip).concurrent("kubectl latchkey why, for a user who may not list,", () => {
  const reader = unique("secret-reader");
  beforeAll(async () => {
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    await api.create(path, { metadata: { name: reader }, rules });
  });

  it("gives the reason in the annotations of a copy, and the missing rights", async () => {
    const places = await makeSync();
    await copied(places);
    await bind({ kind: "User", name: "bob" }, reader, places.target);
    const path = `/apis/management.service/v1/namespaces/${places.home}/sharedsecrets/db`;
    const options = { [annotations.syncSecretType]: "helm.sh/release.v1" };
    await api.merge(path, { metadata: { annotations: options } });
    const answers = async () => {
      const { code, items } = await why(["secret/db", "-n", places.target], "bob");
      const [first, ...missing] = items;
      expect({ code, first }).toMatchObject({
        code: 3,
        first: {
          state: "problem",
          reason: "NotCurrent",
          message: expect.stringContaining("helm.sh/release.v1"),
          causes: [{ field: `metadata.annotations["${annotations.syncError}"]` }],
        },
      });
      expect(missing).toEqual(
        expect.arrayContaining([
          hidden(
            { kind: "SharedSecret" },
            "You may not list sharedsecrets.management.service in all namespaces.",
          ),
          hidden(
            { kind: "Namespace", name: places.target },
            `You may not get namespaces/${places.target}.`,
          ),
          hidden(
            { kind: "SharedSecret", namespace: places.home, name: "db" },
            `You may not get sharedsecrets.management.service/db in namespace ${places.home}.`,
          ),
        ]),
      );
      return true;
    };
    await eventually(answers, { what: "the annotation" });
    const { stdout } = await runCli(["why", "secret/db", "-n", places.target], { user: "bob" });
    expect(stdout).toContain(`get namespaces/${places.target}`);
  });

  it("does not call a healthy copy wrong", async () => {
    const places = await makeSync();
    await copied(places);
    await bind({ kind: "User", name: "bob" }, reader, places.target);
    const answers = async () => {
      const { code, items } = await why(["secret/db", "-n", places.target], "bob");
      expect({ code, first: items[0] }).toMatchObject({
        code: 0,
        first: { state: "unknown", reason: "CopyFound" },
      });
      return true;
    };
    await eventually(answers, { what: "the copy" });
  });

  it("names the rights without which there is no answer", async () => {
    const places = await makeSync();
    const secret = await why(["secret/db", "-n", places.target], "alice");
    expect(secret).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`get secrets/db in namespace ${places.target}`),
    });
    const source = await why(["shsec/db", "-n", places.home], "alice");
    expect(source).toMatchObject({ code: 5, stderr: expect.stringContaining("cannot get") });
  });

  it("answers a reader of the SharedSecret by its status", async () => {
    const access = [{ verbs: ["get"], users: ["alice"] }];
    const places = await makeSync({
      spec: { access },
      before: async ({ target }) =>
        api.create(secretPath(target, "").slice(0, -1), { metadata: { name: "db" } }),
    });
    const answers = async () => {
      const { code, items } = await why(["shsec/db", "-n", places.home], "alice");
      const [first, ...missing] = items;
      expect({ code, first }).toMatchObject({
        code: 3,
        first: {
          state: "problem",
          reason: "Conflict",
          message: expect.stringContaining(`Secret "${places.target}/db" already exists`),
        },
      });
      expect(missing).toContainEqual(hidden({ kind: "Namespace" }, "You may not list namespaces."));
      return true;
    };
    await eventually(answers, { what: "alice to read the SharedSecret" });
  });

  it("explains a key to its requester", async () => {
    const by = { user: "bob", groups: ["devs"] };
    const { name } = await make("OwnedAccessKey", { by, spec: { user: "bob", ttl: 1 } });
    const answers = async () => {
      const { code, items } = await why([`oak/${name}`], "bob");
      expect({ code, first: items[0] }).toMatchObject({
        code: 3,
        first: { reason: "Expired", causes: [{ field: "spec.ttl", value: "1" }] },
      });
      return true;
    };
    await eventually(answers, { what: "the end of the key" });
  });

  it("says who can ask RBAC about the user of a key", async () => {
    const by = { user: "bob", groups: ["devs"] };
    const { name } = await make("OwnedAccessKey", { by, spec: { user: "bob" } });
    const answers = async () => {
      const { items } = await why([`oak/${name}`, "get", "pods"], "bob");
      expect(items.slice(0, 3)).toMatchObject([
        { state: "ok" },
        { state: "ok" },
        { state: "unknown", reason: "RBACUnknown" },
      ]);
      expect(items).toContainEqual(
        hidden(
          { kind: "SubjectAccessReview" },
          "You may not create subjectaccessreviews.authorization.k8s.io.",
        ),
      );
      return true;
    };
    await eventually(answers, { what: "the grant of bob" });
  });
});

describe.skipIf(skip).concurrent("kubectl latchkey why exits", () => {
  it.for<[readonly string[], number, string]>([
    [
      ["secret/nothing-has-this-name"],
      4,
      'no SharedSecret syncs to Secret "default/nothing-has-this-name"',
    ],
    [["shsec/nothing-has-this-name"], 4, "not found"],
    [["oak/nothing-has-this-name"], 4, "not found"],
    [["database"], 2, "must be one of secret/NAME"],
    [["pod/database"], 2, "must be one of secret/NAME"],
    [["secret/db", "get", "pods"], 2, "only an OwnedAccessKey"],
    [["oak/ci", "get"], 2, "is missing"],
  ])("%j with %i", async ([args, code, sentence]) => {
    const result = await runCli(["why", ...args]);
    expect(result).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(sentence) });
  });
});
