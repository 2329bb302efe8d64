import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { collectionOf, everyKind, type KindName } from "../support/crd-requests.ts";
import { managementPath } from "../support/gateway-address.ts";
import { makeKey } from "../support/key-request.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { api, bind, unique } from "../support/policy-request.ts";
import { type CliOptions, runCli } from "../support/run-cli.ts";
import { gatewayKnows } from "../support/ways-in.ts";

/** A command about an object; a pattern of what it prints, and what is stored then. */
interface Step {
  readonly words: string;
  readonly input?: string;
  readonly prints?: string;
  readonly spec?: object;
}

const inDefault = "--namespace=default";

/** Creates, lists, shows and changes an object of each kind; NAME is its name. */
const journeys: Readonly<Record<KindName, readonly Step[]>> = {
  SharedSecret: [
    { words: `set NAME a=- ${inDefault}`, input: "one", spec: { data: { a: "b25l" } } },
    { words: `list ${inDefault}`, prints: "^NAME " },
    { words: `get NAME a ${inDefault}`, prints: "^one$" },
    { words: `set NAME a=- ${inDefault}`, input: "two", spec: { data: { a: "dHdv" } } },
    { words: `edit NAME ${inDefault}`, spec: { data: { a: "dGhyZWU=" } } },
  ],
  OwnedAccessKey: [
    { words: "keys create NAME --user=alice --ttl=1h", spec: { user: "alice", ttl: 3600 } },
    { words: "keys list", prints: "^NAME +True +Active " },
    { words: "keys describe NAME", prints: "NAME" },
    { words: "keys set NAME --display-name=Shop", spec: { displayName: "Shop", ttl: 3600 } },
  ],
  DirectClusterEndpointToken: [
    { words: "token create NAME --ttl=15m", prints: "^eyJ", spec: { ttl: 900 } },
    { words: "token list", prints: "^NAME +True " },
    { words: "token describe NAME", prints: "NAME" },
  ],
};

const removal: Readonly<Record<KindName, string>> = {
  SharedSecret: `delete NAME ${inDefault}`,
  OwnedAccessKey: "keys delete NAME",
  DirectClusterEndpointToken: "token delete NAME",
};

describe.skipIf(inject("cli") === undefined).each(["kube-apiserver", "gateway"])(
  "kubectl latchkey at the %s",
  (where) => {
    const directory = mkdtempSync(join(tmpdir(), "cli-specification-"));
    const editor = join(directory, "editor.sh");
    let server: CliOptions = {};

    beforeAll(async () => {
      writeFileSync(editor, `#!/bin/sh\nsed -i 's/a: two/a: three/' "$1"\n`);
      chmodSync(editor, 0o755);
      if (where === "kube-apiserver") return;
      const admins = unique("admins");
      await bind({ kind: "Group", name: admins }, "cluster-admin");
      const { key } = await makeKey({ spec: { user: "alice", groups: [admins] } });
      await gatewayKnows({ key });
      const { gatewayUrl = "", gatewayCa = "" } = inject("cli") ?? {};
      const kubeconfig = join(directory, "gateway");
      writeKubeconfig(
        kubeconfig,
        { url: `${gatewayUrl}${managementPath}`, certificateAuthority: gatewayCa },
        { key: { token: key } },
      );
      server = { kubeconfig };
    });
    afterAll(() => rmSync(directory, { recursive: true }));

    it.each(everyKind)("creates, lists, shows, changes and deletes a %s", async (kind) => {
      const name = unique("journey");
      const path = `${collectionOf(kind)}/${name}`;
      const env = { EDITOR: editor, XDG_RUNTIME_DIR: directory };
      const run = async (words: string, input?: string): Promise<string> => {
        const args = words.replaceAll("NAME", name).split(" ");
        const given = input === undefined ? {} : { input };
        const { code, stdout } = await runCli(args, { ...server, ...given, env });
        expect([words, code]).toEqual([words, 0]);
        return stdout;
      };
      for (const { words, input, prints = "", spec = {} } of journeys[kind]) {
        const printed = await run(words, input);
        expect(printed).toMatch(new RegExp(prints.replaceAll("NAME", name), "m"));
        expect((await api.get(path)).spec).toMatchObject(spec);
      }
      await run(removal[kind]);
      expect(await api.find(path)).toMatchObject({ code: 404 });
    });
  },
);
