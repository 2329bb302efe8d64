import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import { api, as, makeNamespace, unique } from "../support/policy-request.ts";
import { type CliOptions, runCli } from "../support/run-cli.ts";
import {
  base64,
  makeSharedSecret,
  makeTarget,
  type Place,
  secretPath,
} from "../support/shared-secret-requests.ts";
import { to } from "./sync-fixture.ts";

const password = "of the supplier";
let namespace = "";
let shared: Place;
let target = "";

const cli = (args: readonly string[], options: CliOptions = {}) =>
  runCli(["-n", namespace, ...args], options);

/** A Secret that a supplier writes, and that consents to SharedSecrets. */
const supplied = (name: string, dataFor: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, annotations: { [annotations.dataFor]: dataFor } },
  data: { password: base64(password), hidden: base64("not for them") },
});

describe.skipIf(inject("cli") === undefined)(
  "kubectl latchkey and a Secret that is followed",
  () => {
    const directory = mkdtempSync(join(tmpdir(), "cli-data-from-"));
    afterAll(() => rmSync(directory, { recursive: true }));
    beforeAll(async () => {
      namespace = await makeNamespace();
      const project = unique("project");
      target = await makeTarget(project, namespace);
      const name = unique("shared");
      await api.create(`/api/v1/namespaces/${namespace}/secrets`, supplied("supplied", name));
      shared = await makeSharedSecret({
        namespace,
        name,
        annotations: to(project, {
          [annotations.dataFrom]: "supplied",
          [annotations.dataFromKeys]: "PASSWORD=password",
        }),
        spec: {
          owner: { user: "carol" },
          access: [
            { verbs: ["get"], users: ["bob"] },
            { verbs: ["patch"], users: ["alice"] },
          ],
        },
      });
      const isGranted = async () =>
        (await cli(["get", name, "PASSWORD"], { user: "bob" })).code === 0;
      await eventually(isGranted, { what: "the grants" });
    });

    it("get and run give a reader the picked keys, and nothing of the Secret itself", async () => {
      const got = await cli(["get", shared.name, "-o", "json"], { user: "bob" });
      expect(JSON.parse(got.stdout)).toEqual({ PASSWORD: password });
      const program = ["run", shared.name, "--only=PASSWORD", "--", "printenv", "PASSWORD"];
      expect(await cli(program, { user: "bob" })).toMatchObject({ stdout: `${password}\n` });
      const path = secretPath(namespace, "supplied");
      expect(await as({ user: "bob", groups: ["devs"] }).get(path)).toMatchObject({ code: 403 });
    });

    it("names the right that somebody without access lacks", async () => {
      const { code, stderr } = await cli(["get", shared.name], { user: "alice" });
      expect([code, stderr]).toEqual([5, expect.stringContaining('"alice" cannot get resource')]);
    });

    it.each([
      ["set", ["set", "NAME", "PASSWORD=other", "--literal"]],
      ["unset", ["unset", "NAME", "PASSWORD"]],
      ["edit", ["edit", "NAME"]],
    ])("%s refuses, and names the Secret", async (_, words) => {
      const args = words.map((word) => (word === "NAME" ? shared.name : word));
      const { code, stderr } = await cli(args);
      expect(code).toBe(1);
      expect(stderr).toContain(`has the data of Secret "${namespace}/supplied"; change it there`);
      expect(await api.get(shared.path)).not.toMatchObject({ spec: { data: expect.anything() } });
    });

    it("why, status and list show where the data comes from", async () => {
      const why = async (what: string) =>
        JSON.parse((await cli(["why", what, "-o", "json"])).stdout);
      expect(await why("secret/supplied")).toMatchObject({
        items: [{ state: "ok", reason: "Followed", source: { name: shared.name } }],
      });
      expect(await why(`shsec/${shared.name}`)).toMatchObject({
        items: expect.arrayContaining([expect.objectContaining({ state: "ok" })]),
      });
      expect((await cli(["status"])).stdout).toContain(
        '1 of 1 targets synced, data of Secret "supplied"',
      );
      expect((await cli(["list"])).stdout).toMatch(/ DATA-FROM +AGE\n[^]* supplied +/);
      expect((await cli(["plan", "--exit-code"])).code).toBe(0);
    });

    it("why names the Secret that does not consent, also to who may not read it", async () => {
      const name = unique("shared");
      await api.create(`/api/v1/namespaces/${namespace}/secrets`, supplied("closed", "another"));
      await makeSharedSecret({
        namespace,
        name,
        annotations: to("any", { [annotations.dataFrom]: "closed" }),
        spec: { owner: { user: "bob" } },
      });
      const refused = async (user?: string) => {
        const { stdout } = await cli(
          ["why", `shsec/${name}`, "-o", "json"],
          user === undefined ? {} : { user },
        );
        return JSON.parse(stdout);
      };
      const isSaid = async (user?: string) => {
        expect(await refused(user)).toMatchObject({
          items: expect.arrayContaining([
            expect.objectContaining({ state: "problem", reason: "SourceNotAllowed" }),
          ]),
        });
        return true;
      };
      await eventually(() => isSaid(), { what: "the administrator's answer" });
      await eventually(() => isSaid("bob"), { what: "the owner's answer" });
    });

    it("plan reads a Secret of the same files, and one that changes", async () => {
      const file = join(directory, "both.json");
      const name = unique("planned");
      const project = unique("project");
      const place = await makeTarget(project, namespace);
      const both = [
        supplied("planned", name),
        {
          apiVersion: "management.service/v1",
          kind: "SharedSecret",
          metadata: { name, annotations: to(project, { [annotations.dataFrom]: "planned" }) },
          spec: {},
        },
      ];
      writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: both }));
      const planned = await cli(["plan", "-f", file]);
      expect(planned.stdout).toContain(`${place}/${name}`);
      const [changed] = [supplied("supplied", "somebody-else")];
      writeFileSync(file, JSON.stringify(changed));
      const taken = await cli(["plan", "-f", file, "--force-conflicts"]);
      expect(taken.stdout).toContain(`${target}/${shared.name}`);
      expect(taken.stdout).toContain("delete");
    });
  },
);
