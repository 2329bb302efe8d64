import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { pinsOf, platforms } from "../../release/image/pins.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { runConfig } from "../support/image.ts";
import { repository } from "../support/install.ts";

const manifest: unknown = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));

describe("the start of a container", () => {
  it("is that of the last stage of the Dockerfile", () => {
    expect(runConfig()).toEqual({
      User: "65532:65532",
      ExposedPorts: { "8080/tcp": {}, "8443/tcp": {} },
      Env: ["NODE_ENV=production"],
      Entrypoint: ["/nodejs/bin/node", expect.any(String), "/app/latchkey.mjs"],
      Cmd: ["controller"],
    });
  });

  it.each([
    ["no user", "FROM a\nUSER 1\nFROM b\nEXPOSE 80\n", "must have one line USER"],
    [
      "an entry point for a shell",
      "\nFROM a\nUSER 1\nEXPOSE 80\nENTRYPOINT node\nCMD []\n",
      "ENTRYPOINT of the Dockerfile must be a JSON list of words, not node",
    ],
  ])("is refused with %s", (_what, dockerfile, message) => {
    expect(() => runConfig(dockerfile)).toThrow(message);
  });
});

test.each(platforms)("$name has the Node.js of package.json, and every package", (platform) => {
  const { node, debian } = pinsOf(platform);
  expect(node.version).toBe(stringAt(recordAt(manifest, "devDependencies"), "node"));
  expect(debian.map(({ name }) => name)).toEqual([
    ...["ca-certificates", "libc6", "libgcc-s1", "libstdc++6"],
  ]);
});
