import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { annotations, extras } from "../../../src/api/names.ts";
import { recordAt, stringAt } from "../../../src/api/parse.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import type { ApiRequest } from "../../../src/kube/client/transport.ts";
import { answeringCluster, type FakeAnswer, refusal, runCommand } from "../run-command.ts";

const start = "2026-01-01T00:00:00Z";
const inHours = (hours: number): string =>
  new Date(Date.parse(start) + hours * 3_600_000).toISOString().replace(".000", "");
const isDown = new KubeError("refused", { code: "Network", status: 0 });

/** An API server with a controller that mints at once, at most for this many hours. */
class Central {
  user = "alice";
  /** The uid of the access key of the requests. */
  keyId: string | undefined;
  isDown = false;
  /** Hours since the start of the test's clock at which tokens are made. */
  madeAt = 0;
  maximum = 24;
  readonly stored = new Map<string, object>();
  readonly names: string[] = [];

  answer = ({ method, path, body }: ApiRequest): FakeAnswer | Promise<never> => {
    if (this.isDown) return Promise.reject(isDown);
    if (path.includes("selfsubjectreviews"))
      return [201, { status: { userInfo: { username: this.user, ...this.#extra() } } }];
    if (method === "POST") return this.#made(body);
    const found = this.stored.get(path.split("/").at(-1) ?? "");
    return found === undefined ? refusal(403, "Forbidden", "is forbidden") : [200, found];
  };

  #extra() {
    return this.keyId === undefined ? {} : { extra: { [extras.keyId]: [this.keyId] } };
  }

  #made(body: unknown): FakeAnswer {
    const metadata = recordAt(body, "metadata");
    const prefix = stringAt(metadata, "generateName") ?? "";
    const name = `${stringAt(metadata, "name") ?? ""}${prefix}${prefix === "" ? "" : this.names.length}`;
    this.names.push(prefix === "" ? name : prefix);
    const hours = Math.min(Number(recordAt(body, "spec")["ttl"]) / 3600, this.maximum);
    const object = {
      metadata: {
        name,
        uid: name,
        resourceVersion: "1",
        generation: 1,
        creationTimestamp: inHours(this.madeAt),
        annotations: {
          [annotations.requester]: this.user,
          ...(this.keyId === undefined ? {} : { [annotations.requesterKeyId]: this.keyId }),
        },
      },
      status: { token: `eyJ-${name}`, expiresAt: inHours(this.madeAt + hours) },
    };
    this.stored.set(name, object);
    return [201, object];
  }
}

let cache: string;
let central: Central;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), "kept-token-"));
  central = new Central();
});
afterEach(() => rmSync(cache, { recursive: true }));

const file = (): string =>
  join(cache, "kubectl-latchkey", readdirSync(join(cache, "kubectl-latchkey"))[0] ?? "");

/** Runs `token create` and returns the token in its output. */
async function create(
  flags: Readonly<Record<string, string>> = { "exec-credential": "" },
  args: readonly string[] = [],
) {
  const { cluster } = answeringCluster(central.answer);
  const env = { XDG_CACHE_HOME: cache };
  const connect = async () => cluster;
  const ended = await runCommand({ command: "token create", args, flags, env, connect });
  return { ...ended, token: /eyJ-[\w-]+/.exec(ended.stdout)?.[0] };
}

test("the exec plugin keeps a token with a random name, which its user alone can read", async () => {
  const first = await create();
  expect(first).toMatchObject({ code: 0, stderr: "", token: "eyJ-alice-0" });
  expect(central.names).toEqual(["alice-"]);
  expect(statSync(join(cache, "kubectl-latchkey")).mode & 0o777).toBe(0o700);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readFileSync(file(), "utf8")).toContain("eyJ-alice-0");
  expect(await create()).toEqual(first);
  expect(central.names).toHaveLength(1);
});

test.each<[string, Readonly<Record<string, string>>]>([
  ["cluster", { "for-cluster": "east" }],
  ["lifetime", { ttl: "2h" }],
  ["scope", { project: "web" }],
  ["user", { as: "bob" }],
])("it takes no token for another %s", async (_what, flags) => {
  await create();
  await create({ "exec-credential": "", ...flags });
  expect(central.names).toHaveLength(2);
});

test("it takes no token that was made with another access key of the same user", async () => {
  const made = async (keyId: string | undefined) => {
    central.keyId = keyId;
    return (await create()).token;
  };
  expect(await made("wide")).toBe("eyJ-alice-0");
  expect(await made("wide")).toBe("eyJ-alice-0");
  expect(await made("narrow")).toBe("eyJ-alice-1");
  expect(await made(undefined)).toBe("eyJ-alice-2");
});

test.each<[string, () => void]>([
  ["half of its lifetime is over", () => (central.madeAt = -0.6)],
  ["its object is deleted", () => {}],
  ["the credentials are those of another user now", () => {}],
  ["another user may read the file", () => {}],
])("it makes another token once %s", async (what, before) => {
  before();
  await create();
  if (what.includes("deleted")) central.stored.clear();
  if (what.includes("credentials")) central.user = "bob";
  if (what.includes("read the file")) chmodSync(file(), 0o640);
  expect((await create()).token).toBe(`eyJ-${central.user}-1`);
});

test("it takes the kept token while the API server does not answer", async () => {
  central.madeAt = -0.6;
  await create();
  central.isDown = true;
  expect(await create()).toMatchObject({ code: 0, token: "eyJ-alice-0" });
  expect(await create({ "exec-credential": "", ttl: "3h" })).toMatchObject({ code: 1, stdout: "" });
});

test("without a directory for it, it says so and prints the token", async () => {
  chmodSync(cache, 0o500);
  const { code, stderr, token } = await create();
  chmodSync(cache, 0o700);
  const isRoot = process.getuid?.() === 0;
  expect([code, token]).toEqual([0, "eyJ-alice-0"]);
  expect(stderr).toContain(isRoot ? "" : "the cache of direct tokens: ");
});

test.each<[string, Readonly<Record<string, string>>, readonly string[], string]>([
  [
    "a generated name",
    {},
    [],
    "alice-0 created; it ends 1h after its creation, at 2026-01-01T01:00:00Z\n",
  ],
  ["its own name", {}, ["mine"], "mine created; it ends 1h after"],
  [
    "a lifetime that was cut",
    { ttl: "3d" },
    [],
    "alice-0 created; it ends 24h after its creation, at 2026-01-02T00:00:00Z; its lifetime of 3d was cut\n",
  ],
])("token create says name and end: %s", async (_what, flags, args, sentence) => {
  const { stdout, stderr } = await create(flags, args);
  expect(stdout).toMatch(/^eyJ-[\w-]+\n$/);
  expect(stderr).toContain(`directclusterendpointtoken/${sentence}`);
  expect(stderr).not.toContain("eyJ");
  expect(readdirSync(cache)).toEqual([]);
});
